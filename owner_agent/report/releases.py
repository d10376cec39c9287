"""What left, for people and scripts: the ledger added up, and each release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from owner_agent.release.composition import Unbounded, left_draws, renamed, spent
from owner_agent.release.ledger import PEER, Entry, Form
from owner_agent.release.new_epoch import NewEpoch
from owner_agent.report.losses import draw_text, finite, loss_text
from pramana_core.wire.release_kinds import SHARED_TREE

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
class LedgerSummary:
    """The whole ledger, and what must be known to read its sums."""

    releases: tuple[ReleaseTold, ...]
    columns: tuple[ColumnSpent, ...]
    notes: tuple[str, ...]

    @classmethod
    def of(cls, entries: Sequence[Entry]) -> LedgerSummary:
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


def ledger_json(entries: Sequence[Entry]) -> dict[str, Any]:
    """Return the ledger; an epsilon that is infinite, or that nothing bounds, is null."""
    unbounded = Unbounded.of(left_draws(entries))
    return {
        "releases": [_entry(entry) for entry in entries],
        "composed_epsilon": {column: finite(value) for column, value in spent(entries).items()},
        "masked_columns": sorted(unbounded.masked),
        "shared_columns": sorted(unbounded.shared),
    }


def new_epoch_json(begun: NewEpoch) -> dict[str, Any]:
    """Return what a new epoch begins with."""
    return {
        "miner_asked": begun.asked,
        "counted": [_entry(entry) for entry in begun.counted],
        "not_counted": list(begun.uncounted),
        "composed_epsilon": {column: finite(value) for column, value in begun.losses.items()},
    }


def _entry(entry: Entry) -> dict[str, Any]:
    return {
        "prepared": entry.prepared.isoformat(),
        "changed": entry.changed.isoformat(),
        "miner": entry.miner,
        "study": entry.study,
        "release": entry.name,
        "kind": entry.kind,
        "method": entry.method or None,
        "release_id": entry.release_id,
        "state": entry.state,
        "records": entry.records,
        "digest": entry.digest,
        "plan_digest": entry.plan_digest,
        "variables": [
            {
                "name": d.variable,
                "column": d.column,
                "epsilon": finite(d.epsilon),
                "masked": d.form is Form.MASKED,
                "shared": d.in_tree,
                "same_values_as": list(d.same_as),
            }
            for d in entry.draws
        ],
    }
