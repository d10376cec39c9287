"""The reports of a table some of whose records were reported before, perhaps with other values.

A record keeps its first report, for two would prove that its value changed; or the custodian begins
a new epoch (see `new_epoch`).
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
    "Choose what happens to them: `--corrections keep` leaves every record the report it was given"
    ' first, which costs nothing and stays as it is; `corrections = "keep"` in the site file'
    " chooses it for good. Or `owner-agent new-epoch --yes` has all records drawn anew, which adds"
    " their epsilon for everybody."
)


def is_drawn(block: Block) -> bool:
    """Whether a record's report of a block is random."""
    return not (block.channel.is_identity or block.channel.withheld)


@dataclass(frozen=True, eq=False)
class ReleaseHistory:
    """The ledger's entries, and the memory of a study's reports; `beginning` is the epoch."""

    state: Path
    entries: tuple[Entry, ...]
    memory: Memory
    study: str
    beginning: int = 0

    @classmethod
    def of(cls, state: Path, entries: Sequence[Entry], study: str) -> ReleaseHistory:
        """Read the memory of a study. Raises StoreCorrupt."""
        left = tuple(entry for entry in entries if entry.left)
        return cls(state, left, load_memory(state, study), study, Ledger(state).beginning)

    def identities(self, plan: Plan, secrets: Secrets) -> dict[str, str]:
        """Return the identity of each block's draws, by the block's name."""
        return {b.name: draw_id(secrets, self.study, b, self.beginning) for b in plan.blocks}

    @property
    def last(self) -> Entry | None:
        """The last release to the study, if the memory has it."""
        released = [e for e in self.entries if e.study == self.study and e.follows_plan and e.draws]
        last = released[-1] if released else None
        return None if last is None or last.content not in self.memory.releases else last

    def require_remembered(self, identities: Mapping[str, str]) -> None:
        """Check that the memory has all releases by some draws. Raises StoreCorrupt."""
        draws = set(identities.values())
        names = [
            entry.name
            for entry in self.entries
            if entry.content not in self.memory.releases
            and any(draw.draw_id in draws for draw in entry.draws)
        ]
        if names:
            raise StoreCorrupt(
                f"Releases {', '.join(sorted(names))} left this site, and it is not remembered what"
                " each record was reported as: records corrected since could not be found.",
                where="reported",
                remedy="Restore the folder `reported` of the state directory from your backup."
                " Without it `owner-agent new-epoch --yes` has all records drawn anew, and adds"
                " their epsilon for everybody.",
            )


@dataclass(frozen=True)
class Correction:
    """A block with `reported` records, of which `differing` have another value now."""

    block: str
    reported: int
    differing: int


EXCHANGED_SHARE, EXCHANGED_FEWEST = 0.02, 5
"""The share of the last release's records, and their number, from which an exchange is large."""

GROWN_SHARE = 0.5
"""The share of the last release's records from which new ones are many."""


@dataclass(frozen=True)
class Exchange:
    """How the records of a study differ from those of its last release: at least `gone`, `new`."""

    earlier: int
    gone: int
    new: int

    @property
    def is_large(self) -> bool:
        """Whether it needs an approval of its own."""
        exchanged = min(self.gone, self.new)
        return self.new >= EXCHANGED_FEWEST and (
            exchanged >= max(EXCHANGED_FEWEST, EXCHANGED_SHARE * self.earlier)
            or self.new >= GROWN_SHARE * self.earlier
        )

    def __str__(self) -> str:
        """Return it as a sentence."""
        return (
            f"Of the {self.earlier:,} records of the last release {self.gone:,} are gone, and"
            f" {self.new:,} records are new."
        )

    def require_small(self, option: str) -> None:
        """Refuse a large exchange, which `option` accepts. Raises RecordsExchanged."""
        if self.is_large:
            raise RecordsExchanged(
                f"{self} If they are the same people under other record ids, these people would"
                " be randomized a second time, and lose as much again without being counted.",
                where="record_id",
                remedy="Give people the record ids that they were reported under. If the new"
                f" records are people who were never reported, say so with {option}.",
            )


@dataclass(frozen=True, eq=False)
class CorrectedRelease:
    """Reports that may leave, with the `identities` of each block's draws."""

    randomized: SortedReports
    identities: Mapping[str, str]
    corrections: tuple[Correction, ...] = ()
    exchange: Exchange | None = None

    @property
    def kept(self) -> int:
        """The most records of one block that keep a report of a value they no longer have."""
        return max((c.differing for c in self.corrections), default=0)

    @property
    def reports(self) -> dict[str, dict[str, Column]]:
        """The codes of each variable that is drawn, by the identity of its block's draws."""
        made = self.randomized
        return {
            self.identities[block.name]: {name: made.columns[name] for name in block.names}
            for block in made.plan.blocks
            if is_drawn(block)
        }

    def require_chosen(self, choice: str | None) -> None:
        """Check that corrected records have a choice. Raises RecordsCorrected."""
        changed = [c for c in self.corrections if c.differing]
        if choice is not None or not changed:
            return
        listed = ", ".join(f"{c.block!r} {c.differing:,} of {c.reported:,}" for c in changed)
        raise RecordsCorrected(
            f"Records that were reported before would be reported differently now ({listed}): their"
            " values were corrected, and whoever compares the two reports would know whose.",
            where=", ".join(c.block for c in changed),
            remedy=CHOICES,
        )

    def remember(self, past: ReleaseHistory, content: str) -> None:
        """Write these reports down durably, under the lock. Raises Conflict or StateError."""
        if content in past.memory.releases:
            return
        keys = self.randomized.keys
        save_memory(past.state, past.study, past.memory, keys, self.reports, content)


def overlay_reported(
    made: SortedReports, identities: Mapping[str, str], past: ReleaseHistory
) -> CorrectedRelease:
    """Put earlier reports into `made`, in place, by draw `identities`. Raises StoreCorrupt."""
    drawn = {block.name: block.names for block in made.plan.blocks if is_drawn(block)}
    past.require_remembered({name: identities[name] for name in drawn})
    known_blocks = [name for name in drawn if identities[name] in past.memory.draws]
    reported, differing, known = dict.fromkeys(drawn, 0), dict.fromkeys(drawn, 0), 0
    for held, rows in past.memory.beside(made.keys) if past.memory.releases else ():
        keys = made.keys[rows]
        known += int(locate(keys, held.keys)[1].sum())
        for block in known_blocks:
            differs = np.zeros(len(keys), dtype=np.bool_)
            there = differs
            for name in drawn[block]:
                there, before = held.reported(identities[block], name, keys)
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
