"""Summaries of the ledger for people and scripts: each release, and the loss of each column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from owner_agent.release.composition import Unbounded, left_draws, renamed, spent
from owner_agent.release.ledger import Entry, Form
from owner_agent.release.new_epoch import NewEpoch
from owner_agent.report.losses import loss_text
from pramana_core.report.numbers import count, finite, plural
from pramana_core.report.report import Column, Row, Section, Table
from pramana_core.rounding import rounded_up
from pramana_core.wire.release_kinds import SHARED_TREE

MASKED_NOTE = (
    "No epsilon bounds what masked values reveal about a record, so the sums do not include "
    "masked columns. The"
    " report of `owner-agent mask` describes their protection."
)
SHARED_NOTE = (
    "Unless a shared tree is private, no epsilon bounds what it reveals about a record, so the "
    "sums do not include it. `owner-agent share-model` describes the guarantees of such a tree."
)


@dataclass(frozen=True)
class LedgerSummary:
    """The releases of a ledger as JSON rows, the loss of each column, and notes on the sums."""

    releases: tuple[Row, ...]
    columns: tuple[Row, ...]
    notes: tuple[str, ...]

    @classmethod
    def of(cls, entries: Sequence[Entry]) -> LedgerSummary:
        """Return the summary of a ledger's entries, in their order."""
        unbounded = Unbounded.of(left_draws(entries))
        columns = [
            {
                "column": column,
                "epsilon": None if unbounded.forms(column) else finite(epsilon),
                "text": loss_text(epsilon, unbounded.forms(column)),
            }
            for column, epsilon in spent(entries).items()
        ]
        notes = [MASKED_NOTE] * bool(unbounded.masked) + [SHARED_NOTE] * bool(unbounded.shared)
        notes += [
            f"{column} has the same values as {', '.join(others)}, so their losses add."
            for column, others in renamed(entries).items()
        ]
        return cls(tuple(map(release_row, entries)), tuple(columns), tuple(notes))

    def sections(self) -> list[Section]:
        """Return a ledger report's two sections: the releases, and the columns' losses."""
        releases = (
            Column("prepared (UTC)", lambda row: row["prepared"][:16].replace("T", " "), False),
            Column("study", lambda row: row["study"] or row["miner"], number=False),
            Column("release", lambda row: row["release"], number=False),
            Column("state", lambda row: row["state"], number=False),
            Column("records", lambda row: count(row["records"])),
            Column("plan", how, number=False),
            Column(
                "variables: epsilon",
                lambda row: ", ".join(f"{v['name']}: {loss_of(v)}" for v in row["variables"]),
                number=False,
                brief=False,
            ),
        )
        losses = (
            Column("column", lambda row: row["column"], number=False),
            Column("epsilon", lambda row: row["text"]),
        )
        return [
            Section("Releases", table=Table(releases, self.releases)),
            Section(
                "Total epsilon of all releases that may have been sent",
                table=Table(losses, self.columns),
            ),
            Section(sentences=self.notes),
        ]


def release_row(entry: Entry) -> Row:
    """Return a release as a JSON row; infinite and unbounded epsilons become null."""
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


def how(release: Row) -> str:
    """Return how a release protects records: its plan, masking method, or kind of tree."""
    if release["method"] is None:
        return str(release["plan_digest"][:12])
    tree = release["kind"] == SHARED_TREE
    return f"{'tree,' if tree else 'masked by'} {release['method']}"


def loss_of(variable: Row) -> str:
    """Return a column's loss from a single release as text."""
    if variable["epsilon"] is not None:
        return loss_text(variable["epsilon"])
    return loss_text(None, ["masked"] * variable["masked"] + ["shared tree"] * variable["shared"])


def ledger_json(entries: Sequence[Entry]) -> dict[str, Any]:
    """Return the ledger as JSON values; infinite and unbounded epsilons become null."""
    unbounded = Unbounded.of(left_draws(entries))
    return {
        "releases": [*map(release_row, entries)],
        "composed_epsilon": {column: finite(value) for column, value in spent(entries).items()},
        "masked_columns": sorted(unbounded.masked),
        "shared_columns": sorted(unbounded.shared),
    }


def new_epoch_lines(begun: NewEpoch) -> list[str]:
    """Return sentences on a new epoch: the releases added to the ledger, and the known losses."""
    if not begun.asked:
        lines = ["No miner was queried: this site has no miner, or has not joined its study."]
    elif not begun.counted:
        lines = ["The ledger lists all releases that the miner has."]
    else:
        named = ", ".join(entry.name for entry in begun.counted)
        releases = plural(len(begun.counted), "release")
        lines = [f"Added to the ledger as published: {releases} that the miner has ({named})."]
    if begun.losses:
        words = "; ".join(f"{c}: epsilon {rounded_up(loss)}" for c, loss in begun.losses.items())
        lines.append(f"Known loss from all releases: {words}.")
    if begun.uncounted:
        lines.append(
            f"The audit log also lists {', '.join(begun.uncounted)}, whose loss is unknown."
        )
    lines.append(
        "Releases to peers, to other miners or in other studies that the ledger lacks could not "
        "be counted. From now on, all records are randomized again. `owner-agent publish` shows "
        "the added loss, and --accept-added-loss accepts the loss."
    )
    return lines
