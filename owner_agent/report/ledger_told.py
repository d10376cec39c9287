"""What left and what each column has lost, as people read it: on a page and at a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from owner_agent.release.composition import Unbounded, left_draws, renamed, spent
from owner_agent.release.ledger import PEER, Entry
from owner_agent.report.measures import draw_text, loss_text
from pramana_core.wire.releases.base import SHARED_TREE

MASKED_NOTE = (
    "No epsilon bounds what masked values tell of a record, and no sum counts them; the report of"
    " `owner-agent mask` says what protects them."
)
SHARED_NOTE = (
    "No epsilon bounds what a shared tree tells of a record unless it is a private one, and no sum"
    " counts it; `owner-agent share-model` says what such a tree promises."
)


@dataclass(frozen=True)
class ReleaseTold:
    """One line of the ledger.

    Attributes:
        receiver: the miner's address, or the peer's name.
        to_peer: which of both it is.
        how: how what left was made.
        draws: each variable, with what its column loses by this release.
    """

    prepared: datetime
    study: str
    name: str
    state: str
    records: int
    receiver: str
    to_peer: bool
    how: str
    draws: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, entry: Entry) -> ReleaseTold:
        """Return the line of an entry."""
        return cls(
            prepared=entry.prepared,
            study=entry.study,
            name=entry.name,
            state=entry.state,
            records=entry.records,
            receiver=entry.miner.removeprefix(PEER),
            to_peer=entry.miner.startswith(PEER),
            how=_how(entry),
            draws=tuple((draw.variable, draw_text(draw)) for draw in entry.draws),
        )


@dataclass(frozen=True)
class ColumnSpent:
    """What a column has lost; `epsilon` is None where it left in a form that nothing bounds."""

    column: str
    epsilon: float | None
    text: str


@dataclass(frozen=True)
class LedgerTold:
    """The whole ledger, and what must be known to read its sums."""

    releases: tuple[ReleaseTold, ...]
    columns: tuple[ColumnSpent, ...]
    notes: tuple[str, ...]

    @classmethod
    def of(cls, entries: Sequence[Entry]) -> LedgerTold:
        """Return what a ledger's entries say, in their order."""
        unbounded = Unbounded.of(left_draws(entries))
        columns = []
        for column, epsilon in spent(entries).items():
            forms = unbounded.forms(column)
            known = None if forms else epsilon
            columns.append(ColumnSpent(column, known, loss_text(epsilon, forms)))
        notes = [MASKED_NOTE] * bool(unbounded.masked) + [SHARED_NOTE] * bool(unbounded.shared)
        notes += [
            f"{column} has the values of {', '.join(others)}: one secret, whose losses add."
            for column, others in renamed(entries).items()
        ]
        return cls(tuple(map(ReleaseTold.of, entries)), tuple(columns), tuple(notes))


def _how(entry: Entry) -> str:
    """Say how what left was made: by a plan, by a masking method, or as a tree."""
    if entry.follows_plan:
        return entry.plan_digest[:12]
    return f"tree, {entry.method}" if entry.kind == SHARED_TREE else f"masked by {entry.method}"
