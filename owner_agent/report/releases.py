"""What left, for people and scripts: the ledger added up, and each release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from owner_agent.release.composition import Unbounded, left_draws, renamed, spent
from owner_agent.release.ledger import PEER, Entry, Form
from owner_agent.release.new_epoch import NewEpoch
from owner_agent.report.losses import draw_text, loss_text
from pramana_core.report.numbers import count, finite, plural
from pramana_core.report.report import Column, Section, Table
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
class LedgerLine:
    """One line of the ledger.

    Attributes:
        receiver: the miner's address, or the peer's name.
        to_peer: whether it went to a peer.
        how: the plan, the masking method, or the kind of tree.
        draws: each variable and what its column loses by this release.
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
    def of(cls, entry: Entry) -> LedgerLine:
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
    """What a column has lost; `epsilon` is None where nothing bounds it."""

    column: str
    epsilon: float | None
    text: str


@dataclass(frozen=True)
class LedgerSummary:
    """The whole ledger, and notes on its sums."""

    releases: tuple[LedgerLine, ...]
    columns: tuple[ColumnSpent, ...]
    notes: tuple[str, ...]

    @classmethod
    def of(cls, entries: Sequence[Entry]) -> LedgerSummary:
        """Return the summary of a ledger's entries, in their order."""
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
        return cls(tuple(map(LedgerLine.of, entries)), tuple(columns), tuple(notes))

    def sections(self) -> list[Section]:
        """Return the sections of a report: each release, and the losses of columns."""
        releases = (
            Column("prepared (UTC)", lambda row: f"{row['prepared']:%Y-%m-%d %H:%M}", number=False),
            Column("study", lambda row: row["study"], number=False),
            Column("release", lambda row: row["name"], number=False),
            Column("state", lambda row: row["state"], number=False),
            Column("records", lambda row: count(row["records"])),
            Column("plan", lambda row: row["how"], number=False),
            Column(
                "variables: epsilon",
                lambda row: ", ".join(f"{name}: {loss}" for name, loss in row["draws"]),
                number=False,
            ),
        )
        losses = (
            Column("column", lambda row: row["column"], number=False),
            Column("epsilon", lambda row: row["text"]),
        )
        return [
            Section("Releases", table=Table(releases, [vars(one) for one in self.releases])),
            Section(
                "Composed epsilon of everything that may have left",
                table=Table(losses, [vars(one) for one in self.columns]),
            ),
            Section(sentences=self.notes),
        ]


def _how(entry: Entry) -> str:
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


def new_epoch_lines(begun: NewEpoch) -> list[str]:
    """Return what a new epoch begins with, in sentences."""
    if not begun.asked:
        lines = ["No miner was asked: this site has none, or has not joined its study."]
    elif not begun.counted:
        lines = ["The miner has nothing that the ledger does not know."]
    else:
        named = ", ".join(entry.name for entry in begun.counted)
        releases = plural(len(begun.counted), "release")
        lines = [f"Counted as published: {releases} that the miner has ({named})."]
    if begun.losses:
        words = "; ".join(f"{c}: epsilon {loss:.4g}" for c, loss in begun.losses.items())
        lines.append(f"What is known to have left: {words}.")
    if begun.uncounted:
        lines.append(
            f"The audit log has {', '.join(begun.uncounted)} besides; what they cost is not known."
        )
    lines.append(
        "What left to peers, to other miners or in other studies, and is not in the ledger, could"
        " not be counted. From here on all records are drawn anew: `owner-agent publish` says what"
        " that adds, and --accept-added-loss accepts it."
    )
    return lines


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
