"""What left, for people and scripts: the ledger added up, and each release."""

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
class LedgerSummary:
    """The whole ledger as JSON rows, what each column has lost, and notes on the sums."""

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
            f"{column} has the values of {', '.join(others)}: one secret, whose losses add."
            for column, others in renamed(entries).items()
        ]
        return cls(tuple(map(release_row, entries)), tuple(columns), tuple(notes))

    def sections(self) -> list[Section]:
        """Return the sections of a report: each release, and the losses of columns."""
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
            ),
        )
        losses = (
            Column("column", lambda row: row["column"], number=False),
            Column("epsilon", lambda row: row["text"]),
        )
        return [
            Section("Releases", table=Table(releases, self.releases)),
            Section(
                "Composed epsilon of everything that may have left",
                table=Table(losses, self.columns),
            ),
            Section(sentences=self.notes),
        ]


def release_row(entry: Entry) -> Row:
    """Return a release as a row; an epsilon that is infinite, or that nothing bounds, is null."""
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
    """Write by what records were changed: the plan, the masking method, or the kind of tree."""
    if release["method"] is None:
        return str(release["plan_digest"][:12])
    tree = release["kind"] == SHARED_TREE
    return f"{'tree,' if tree else 'masked by'} {release['method']}"


def loss_of(variable: Row) -> str:
    """Write what a column loses by one release."""
    if variable["epsilon"] is not None:
        return loss_text(variable["epsilon"])
    return loss_text(None, ["masked"] * variable["masked"] + ["shared tree"] * variable["shared"])


def ledger_json(entries: Sequence[Entry]) -> dict[str, Any]:
    """Return the ledger; an epsilon that is infinite, or that nothing bounds, is null."""
    unbounded = Unbounded.of(left_draws(entries))
    return {
        "releases": [*map(release_row, entries)],
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
