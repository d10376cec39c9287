"""The records whose values were corrected since they were reported, and what each choice costs.

It is the only part of a plan's report that is counted from the table: numbers of records by block,
and no value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from owner_agent.release.composition import spent
from owner_agent.release.corrections import (
    CorrectedRelease,
    Correction,
    Exchange,
    ReleaseHistory,
    overlay_reported,
)
from owner_agent.release.ledger import Entry, Ledger
from owner_agent.release.publish import DrawnTable, PreparedRecords, draw_table
from owner_agent.site.corrections import CorrectionChoice
from owner_agent.site.planning import PlannedSite
from owner_agent.site.site import Site
from owner_agent.state.keys import KeyStore
from pramana_core.errors import InputError, KeyFileError, StorageFull
from pramana_core.privacy import epsilon
from pramana_core.progress import Progress
from pramana_core.report.numbers import bound, count, finite
from pramana_core.report.report import Column, Section, Sentence, Table


@dataclass(frozen=True)
class BlockCorrections:
    """The corrected records of a block, and the largest epsilon of its columns by each choice."""

    correction: Correction
    epsilon_kept: float
    epsilon_anew: float

    @property
    def waits(self) -> bool:
        """Whether publish asks for a choice on the block."""
        return self.correction.differing > 0

    def as_dict(self) -> dict[str, Any]:
        """Return JSON; an infinite epsilon is null."""
        return {
            "block": self.correction.block,
            "reported_before": self.correction.reported,
            "would_differ": self.correction.differing,
            "epsilon_if_kept": finite(self.epsilon_kept),
            "epsilon_if_anew": finite(self.epsilon_anew),
        }

    def line(self, choice: CorrectionChoice | None) -> str:
        """Return what the choice means, or the choices, in a sentence."""
        one = self.correction
        counted = f"{one.block}: {one.differing:,} of {one.reported:,} records that left before"
        kept = f"keep reports of values that they no longer have (epsilon {self.epsilon_kept:.4g})"
        if choice == "keep":
            return f"{counted} {kept}."
        return (
            f"{counted} would be reported differently. publish refuses until you choose: with"
            f" --corrections keep they {kept}; after `owner-agent new-epoch --yes` all are drawn"
            f" anew (epsilon {self.epsilon_anew:.4g} for everybody)."
        )


@dataclass(frozen=True)
class Corrected:
    """The corrected records of a table; `reason` says why they could not be looked for.

    `exchanges` has, for each study, how its records differ from those of the last release; `table`
    is the table as it was drawn for the comparison.
    """

    choice: CorrectionChoice | None
    blocks: tuple[BlockCorrections, ...] = ()
    reason: str | None = None
    exchanges: tuple[Exchange, ...] = ()
    table: DrawnTable | None = field(default=None, repr=False)

    @property
    def waits(self) -> bool:
        """Whether records were corrected, and the site file has no choice."""
        return self.choice is None and any(block.waits for block in self.blocks)

    @property
    def large_exchange(self) -> Exchange | None:
        """The exchange that must be confirmed, if there is one."""
        return next((one for one in self.exchanges if one.is_large), None)

    def as_dict(self) -> dict[str, Any]:
        """Return JSON."""
        return {
            "choice": self.choice,
            "compared": self.reason is None,
            "reason": self.reason,
            "blocks": [block.as_dict() for block in self.blocks],
            "records": [asdict(one) for one in self.exchanges],
        }

    def lines(self) -> tuple[str, ...]:
        """Return what a custodian must know before publishing, in sentences."""
        if self.reason is not None:
            return (f"Corrected records were not looked for: {self.reason}",)
        changed = (block.line(self.choice) for block in self.blocks if block.waits)
        return (*map(str, self.exchanges), *changed)

    def section(self) -> Section:
        """Return the section of a plan's report."""
        columns = (
            Column("block", lambda row: row["block"], number=False),
            Column("records that\nleft before", lambda row: count(row["reported_before"])),
            Column(
                "would be reported\ndifferently",
                lambda row: count(row["would_differ"]),
                high=lambda row: row["would_differ"] > 0,
            ),
            Column("epsilon if\nkept", lambda row: bound(row["epsilon_if_kept"])),
            Column("epsilon if all\nare drawn anew", lambda row: bound(row["epsilon_if_anew"])),
        )
        note = (
            "These numbers are counted from the table: leave this section out where nobody may know"
            " how many records were corrected. Two differing reports of one record would show that"
            " its value changed, whatever the channel. So every record keeps its first report, or"
            " all records are drawn anew and their epsilons add."
        )
        rows = [block.as_dict() for block in self.blocks]
        return Section(
            "Records that were reported before and have other values now",
            [Sentence(line, "warning") for line in self.lines()],
            Table(columns, rows, brief=lambda row: row["would_differ"] > 0),
            notes=[note],
            brief=bool(self.lines()),
        )


def corrected_of(site: Site, plan: PlannedSite, watch: Progress) -> Corrected | None:
    """Compare the table with what left; None where nothing has left to the site's studies.

    Raises StoreCorrupt.
    """
    entries = tuple(entry for entry in Ledger(site.state).entries() if entry.left)
    sections = (site.file.miner, site.file.peer)
    studies = dict.fromkeys(section.study for section in sections if section is not None)
    affected = [study for study in studies if any(e.study == study and e.draws for e in entries)]
    if not affected:
        return None
    try:
        compared = [_compared(site, study, plan, entries, watch) for study in affected]
    except (InputError, KeyFileError, StorageFull) as error:
        return Corrected(site.file.corrections, reason=error.message)
    return _described(site, plan, entries, [one for one, _ in compared], compared[0][1])


def corrected_in(now: PreparedRecords, site: Site) -> Corrected | None:
    """Return the same of records that are about to leave; None where nothing has left."""
    entries = tuple(entry for entry in now.entries if entry.left)
    if not any(entry.study == now.past.study and entry.draws for entry in entries):
        return None
    return _described(site, now.plan, entries, [now.corrected], None)


def _described(
    site: Site,
    plan: PlannedSite,
    entries: Sequence[Entry],
    compared: Sequence[CorrectedRelease],
    table: DrawnTable | None,
) -> Corrected:
    before = spent(entries)
    blocks = {block.name: block for block in plan.plan.blocks}
    found = []
    for correction in (correction for one in compared for correction in one.corrections):
        block = blocks[correction.block]
        kept = max(before.get(plan.columns[name], 0.0) for name in block.names)
        found.append(BlockCorrections(correction, kept, kept + epsilon(block.channel)))
    exchanges = tuple(one.exchange for one in compared if one.exchange is not None)
    return Corrected(site.file.corrections, tuple(found), exchanges=exchanges, table=table)


def _compared(
    site: Site, study: str, plan: PlannedSite, entries: Sequence[Entry], watch: Progress
) -> tuple[CorrectedRelease, DrawnTable]:
    """Compare the table with what left in one study."""
    secrets = KeyStore(site.state).load()

    def progress(_stage: str, done: int, total: int, /) -> None:
        watch(done, total)

    past = ReleaseHistory.of(site.state, entries, study)
    drawn = draw_table(site, study, plan, secrets, past.beginning, progress)
    return overlay_reported(drawn.reports, past.identities(plan.plan, secrets), past), drawn
