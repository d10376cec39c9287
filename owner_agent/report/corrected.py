"""How many records would be reported differently than before, and what each choice would cost.

It is the one part of the plan's report that is counted from the table: numbers of records whose
values were corrected since they were reported, block by block, and nothing of the values.
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
from owner_agent.report.losses import finite
from owner_agent.site.corrections import CorrectionChoice
from owner_agent.site.planning import PlannedSite
from owner_agent.site.site import Site
from owner_agent.state.keys import KeyStore
from pramana_core.errors import InputError, KeyFileError, StorageFull
from pramana_core.privacy import epsilon
from pramana_core.progress import Progress


@dataclass(frozen=True)
class BlockCorrections:
    """One block of which records were reported before; epsilons are about the block's columns.

    `epsilon_anew` is the largest composed epsilon of a column after a new epoch.
    """

    correction: Correction
    epsilon_kept: float
    epsilon_anew: float

    @property
    def waits(self) -> bool:
        """Whether publish asks what happens to records of the block."""
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


@dataclass(frozen=True)
class Corrected:
    """What was found of records that left before; `reason` says why nothing could be.

    `exchanges` has of each study how its records differ from those of the last release; `table`
    what was drawn to find out.
    """

    choice: CorrectionChoice | None
    blocks: tuple[BlockCorrections, ...] = ()
    reason: str | None = None
    exchanges: tuple[Exchange, ...] = ()
    table: DrawnTable | None = field(default=None, repr=False)

    @property
    def waits(self) -> bool:
        """Whether records were corrected, and the site file does not say what happens to them."""
        return self.choice is None and any(block.waits for block in self.blocks)

    @property
    def large_exchange(self) -> Exchange | None:
        """The exchange that needs a yes of its own, if there is one."""
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
        """Say in sentences what a custodian must know before publishing."""
        if self.reason is not None:
            return (f"Corrected records were not looked for: {self.reason}",)
        said = (_line(block, self.choice) for block in self.blocks)
        exchanges = (str(one) for one in self.exchanges)
        return (*exchanges, *(line for line in said if line is not None))


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
    return Corrected(
        site.file.corrections,
        tuple(
            BlockCorrections(correction, kept, kept + epsilon(blocks[correction.block].channel))
            for one in compared
            for correction in one.corrections
            for kept in (
                max(before.get(plan.columns[n], 0.0) for n in blocks[correction.block].names),
            )
        ),
        exchanges=tuple(one.exchange for one in compared if one.exchange is not None),
        table=table,
    )


def _compared(
    site: Site, study: str, plan: PlannedSite, entries: Sequence[Entry], watch: Progress
) -> tuple[CorrectedRelease, DrawnTable]:
    """Compare the table with what left in one study."""
    secrets = KeyStore(site.state).load()

    def told(_stage: str, done: int, total: int, /) -> None:
        watch(done, total)

    past = ReleaseHistory.of(site.state, entries, study)
    drawn = draw_table(site, study, plan, secrets, past.beginning, told)
    return overlay_reported(drawn.reports, past.identities(plan.plan, secrets), past), drawn


def _line(found: BlockCorrections, choice: CorrectionChoice | None) -> str | None:
    one = found.correction
    if not one.differing:
        return None
    counted = f"{one.block}: {one.differing:,} of {one.reported:,} records that left before"
    kept = f"keep reports of values that they no longer have (epsilon {found.epsilon_kept:.4g})"
    anew = f"all are drawn anew (epsilon {found.epsilon_anew:.4g} for everybody)"
    if choice == "keep":
        return f"{counted} {kept}."
    return (
        f"{counted} would be reported differently. publish refuses until you choose: with"
        f" --corrections keep they {kept}; after `owner-agent new-epoch --yes` {anew}."
    )
