"""Records that were reported before and whose values may have changed since then.

A record keeps its first report, because a second report would prove that its value changed.
Alternatively, the custodian begins a new epoch (see `new_epoch`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from owner_agent.randomize.draws import draw_id
from owner_agent.randomize.reports import SortedReports
from owner_agent.release.ledger import Entry, Ledger
from owner_agent.release.memory import Memory, load_memory, save_memory
from owner_agent.state.keys import Secrets
from pramana_core.errors import RecordsCorrected, RecordsExchanged, StoreCorrupt
from pramana_core.plan import Block, Plan
from pramana_core.wire.parts import Column, locate

CHOICES = (
    "Choose how to report these records. `--corrections keep` repeats their first reports, at no"
    ' privacy loss; `corrections = "keep"` in the site file makes this choice permanent.'
    " `owner-agent new-epoch --yes` randomizes all records again, which adds the whole epsilon "
    "once more for every record."
)


def is_drawn(block: Block) -> bool:
    """Whether a record's report of a block is random."""
    return not (block.channel.is_identity or block.channel.withheld)


@dataclass(frozen=True, eq=False)
class ReleaseHistory:
    """A study's earlier releases: ledger entries, the memory of reports, and the current epoch."""

    state: Path
    entries: tuple[Entry, ...]
    memory: Memory
    study: str
    beginning: int = 0

    @classmethod
    def of(cls, state: Path, entries: Sequence[Entry], study: str) -> ReleaseHistory:
        """Read the memory of a study's reports. Raises StoreCorrupt."""
        left = tuple(entry for entry in entries if entry.left)
        return cls(state, left, load_memory(state, study), study, Ledger(state).beginning)

    def identities(self, plan: Plan, secrets: Secrets) -> dict[str, str]:
        """Return the identity of each block's draws, by block name."""
        return {b.name: draw_id(secrets, self.study, b, self.beginning) for b in plan.blocks}

    @property
    def last(self) -> Entry | None:
        """The last release to the study, or None if there was no release or the memory lacks it."""
        released = [e for e in self.entries if e.study == self.study and e.follows_plan and e.draws]
        last = released[-1] if released else None
        return None if last is None or last.content not in self.memory.releases else last

    def require_remembered(self, identities: Mapping[str, str]) -> None:
        """Check that the memory has the reports of all releases that used these draws.

        Raises StoreCorrupt.
        """
        draws = set(identities.values())
        names = [
            entry.name
            for entry in self.entries
            if entry.content not in self.memory.releases
            and any(draw.draw_id in draws for draw in entry.draws)
        ]
        if names:
            raise StoreCorrupt(
                f"The reports of the published releases {', '.join(sorted(names))} are missing "
                "from the state directory. Therefore the agent cannot find the records whose "
                "values changed since.",
                where="reported",
                remedy="Restore the folder `reported` of the state directory from your backup."
                " Without a backup, run `owner-agent new-epoch --yes`, which randomizes all "
                "records again and adds the whole epsilon once more for every record.",
            )


@dataclass(frozen=True)
class Correction:
    """A block's records `reported` before, and those with a changed value (`differing`)."""

    block: str
    reported: int
    differing: int


EXCHANGED_SHARE, EXCHANGED_FEWEST = 0.02, 5
"""An exchange is large from this share and this count of the last release's records on."""

GROWN_SHARE = 0.5
"""From this share of the last release's records on, new records are many."""


@dataclass(frozen=True)
class Exchange:
    """Lower bounds on the counts of records removed (`gone`) and added (`new`) since a release."""

    earlier: int
    gone: int
    new: int

    @property
    def is_large(self) -> bool:
        """Whether so many records changed that the custodian must approve the change separately."""
        exchanged = min(self.gone, self.new)
        return self.new >= EXCHANGED_FEWEST and (
            exchanged >= max(EXCHANGED_FEWEST, EXCHANGED_SHARE * self.earlier)
            or self.new >= GROWN_SHARE * self.earlier
        )

    def __str__(self) -> str:
        """Return the two counts as a sentence."""
        return (
            f"Of the last release's {self.earlier:,} records, {self.gone:,} are gone;"
            f" {self.new:,} records are new."
        )

    def require_small(self, option: str) -> None:
        """Reject a large exchange of records. `option` names the command's option that permits it.

        Raises RecordsExchanged.
        """
        if self.is_large:
            raise RecordsExchanged(
                f"{self} If the new records are the same people under other record ids, these"
                " people would be randomized a second time, which the ledger would not count.",
                where="record_id",
                remedy="Restore the record ids of people who were reported before. If the new"
                f" records are people who were never reported, confirm with {option}.",
            )


@dataclass(frozen=True, eq=False)
class CorrectedRelease:
    """Reports ready to be sent, with the `identities` of each block's draws."""

    randomized: SortedReports
    identities: Mapping[str, str]
    corrections: tuple[Correction, ...] = ()
    exchange: Exchange | None = None

    @property
    def kept(self) -> int:
        """The count of records that keep an outdated report, in the block with most of them."""
        return max((c.differing for c in self.corrections), default=0)

    @property
    def reports(self) -> dict[str, dict[str, Column]]:
        """The reported codes by variable, grouped by the identity of the block's draw."""
        made = self.randomized
        return {
            self.identities[block.name]: {name: made.columns[name] for name in block.names}
            for block in made.plan.blocks
            if is_drawn(block)
        }

    def require_chosen(self, choice: str | None) -> None:
        """Check that the custodian chose how to report corrections. Raises RecordsCorrected."""
        changed = [c for c in self.corrections if c.differing]
        if choice is not None or not changed:
            return
        listed = ", ".join(f"{c.block!r} {c.differing:,} of {c.reported:,}" for c in changed)
        raise RecordsCorrected(
            f"Records that were reported before would be reported differently now ({listed}): "
            "their values were corrected, and a comparison of the two reports would reveal which "
            "records these are.",
            where=", ".join(c.block for c in changed),
            remedy=CHOICES,
        )

    def remember(self, past: ReleaseHistory, content: str) -> None:
        """Store these reports durably while holding the lock. Raises Conflict or StateError."""
        if content in past.memory.releases:
            return
        keys = self.randomized.keys
        save_memory(past.state, past.study, past.memory, keys, self.reports, content)


def overlay_reported(
    made: SortedReports, identities: Mapping[str, str], past: ReleaseHistory
) -> CorrectedRelease:
    """Replace reports in `made`, in place, by the records' earlier ones. Raises StoreCorrupt.

    `identities` maps the name of a block to the identity of its draw.
    """
    drawn = {block.name: block.names for block in made.plan.blocks if is_drawn(block)}
    past.require_remembered({name: identities[name] for name in drawn})
    known_blocks = [name for name in drawn if identities[name] in past.memory.draws]
    reported, differing, known = dict.fromkeys(drawn, 0), dict.fromkeys(drawn, 0), 0
    for earlier, rows in past.memory.beside(made.keys) if past.memory.releases else ():
        keys = made.keys[rows]
        known += int(locate(keys, earlier.keys)[1].sum())
        for block in known_blocks:
            differs = np.zeros(len(keys), dtype=np.bool_)
            there = differs
            for name in drawn[block]:
                there, before = earlier.reported(identities[block], name, keys)
                codes = made.columns[name][rows].copy()
                others = codes[there] != before
                if others.any():
                    codes[there] = before
                    made.columns[name][rows] = codes
                    differs[np.flatnonzero(there)[others]] = True
            reported[block] += int(there.sum())
            differing[block] += int(differs.sum())
    corrections = tuple(Correction(b, reported[b], differing[b]) for b in drawn if reported[b])
    last, exchange = past.last, None
    if last is not None and drawn:
        exchange = Exchange(last.records, max(0, last.records - known), len(made.keys) - known)
    return CorrectedRelease(made, identities, corrections, exchange)
