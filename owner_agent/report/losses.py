"""The privacy loss of each column from earlier releases, and with one more release."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from owner_agent.release.composition import Unbounded, conflicting, losses, spent
from owner_agent.release.ledger import Draw, Entry
from owner_agent.release.prepared import PreparedRelease
from pramana_core.report.numbers import bound, finite, plural
from pramana_core.report.report import Column, Row, Section, Table


def loss_text(epsilon: float | None, forms: Sequence[str] = ()) -> str:
    """Return a column's loss as text: its epsilon or, without a bound, its forms of release."""
    return f"no bound ({', '.join(forms)})" if forms else bound(epsilon)


@dataclass(frozen=True)
class Losses:
    """The count of earlier releases, and each column's loss before and after one more release."""

    releases: int
    columns: tuple[Row, ...]

    @property
    def refused(self) -> list[str]:
        """The columns that cannot be released unless the custodian accepts the added loss."""
        return [row["column"] for row in self.columns if row["refused_without_accepting"]]

    def as_dict(self) -> dict[str, Any]:
        """Return the losses as JSON values; an infinite epsilon becomes null."""
        return {"releases": self.releases, "columns": list(self.columns)}

    def section(self, note: str = "") -> Section:
        """Return the section of a report on columns that were released before, with a note."""
        columns = (
            Column("column", lambda row: row["column"], number=False),
            Column("epsilon before", before),
            Column("epsilon after", after),
            Column(
                "",
                _added,
                number=False,
                high=lambda row: row["refused_without_accepting"],
            ),
        )
        return Section(
            "Together with earlier releases",
            table=Table(columns, self.columns, brief=lambda row: before(row) != "0"),
            notes=[f"{plural(self.releases, 'release')} may have been sent. {note}"],
        )


def before(row: Row) -> str:
    """Return the loss of a column before a release, as text."""
    return loss_text(row["epsilon_before"], row["no_bound_before"])


def after(row: Row) -> str:
    """Return the loss of a column after a release, as text."""
    return loss_text(row["epsilon_after"], row["no_bound_after"])


def _added(row: Row) -> str:
    if row["refused_without_accepting"]:
        return "needs your acceptance of the added loss"
    return "nothing added" if before(row) == after(row) else ""


def losses_by(now: PreparedRelease) -> Losses | None:
    """Return losses with a release; None if neither earlier releases nor equal columns exist."""
    left = [entry for entry in now.entries if entry.left]
    shown = left or any(draw.same_as for draw in now.draws)
    return compare(now.draws, left) if shown else None


def left_out(now: PreparedRelease, what: str) -> Iterator[str]:
    """Yield a sentence with the count of records omitted from a release, if there are any."""
    if now.dropped:
        records, one = plural(now.dropped, "record"), now.dropped == 1
        yield (
            f"{records} {'has' if one else 'have'} empty cells and {'is' if one else 'are'}"
            f" omitted from the {what}."
        )


def refusals(losses: Losses | None) -> Iterator[str]:
    """Yield a warning that lists the columns whose added loss must be accepted, if any."""
    if losses is not None and losses.refused:
        yield (
            f"{', '.join(losses.refused)} were released before in another way. You can publish "
            "only if you accept the added loss."
        )


def compare(draws: Sequence[Draw], entries: Sequence[Entry]) -> Losses:
    """Return each column's loss from earlier releases, before and after a new release.

    `draws` are the draws of the new release.
    """
    left = [draw for entry in entries if entry.left for draw in entry.draws]
    ends = [
        (losses(left, beside=draws), Unbounded.of(left, beside=draws)),
        (losses([*left, *draws]), Unbounded.of([*left, *draws])),
    ]
    refused = {draw.column for draw in conflicting(draws, entries)}
    rows = []
    for column in dict.fromkeys([*spent(entries), *(draw.column for draw in draws)]):
        (epsilon, forms), (epsilon_then, forms_then) = (
            (finite(loss[column]), list(unbounded.forms(column))) for loss, unbounded in ends
        )
        rows.append(
            {
                "column": column,
                "epsilon_before": epsilon,
                "epsilon_after": epsilon_then,
                "no_bound_before": forms,
                "no_bound_after": forms_then,
                "refused_without_accepting": column in refused,
            }
        )
    return Losses(len(entries), tuple(rows))
