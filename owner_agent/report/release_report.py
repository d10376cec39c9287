"""The report of what would leave in one release, and how it is printed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

from rich.console import Console

from owner_agent.release.prepared import PreparedRelease
from owner_agent.report.losses import ColumnLoss, Losses, compare
from owner_agent.report.page import show_warnings

Made = TypeVar("Made", bound=PreparedRelease)


@dataclass(frozen=True, eq=False, repr=False)
class ReleaseReport(ABC, Generic[Made]):
    """What a release would tell: all that the page, the terminal and the JSON show.

    Attributes:
        now: what would leave; it holds records and stays inside.
    """

    now: Made

    @cached_property
    def losses(self) -> Losses | None:
        """What the ledger says of the columns before and after; None if nothing has left."""
        left = [entry for entry in self.now.entries if entry.left]
        return compare(self.now.draws, left, keys_known=True) if left else None

    @property
    @abstractmethod
    def headline(self) -> tuple[str, ...]:
        """What would be released, in sentences."""

    @property
    @abstractmethod
    def protection(self) -> tuple[str, ...]:
        """What protects it, and what does not."""

    @property
    @abstractmethod
    def cautions(self) -> tuple[str, ...]:
        """What else the custodian should know."""

    @property
    def alarms(self) -> tuple[str, ...]:
        """What must not be overlooked."""
        return ()

    @abstractmethod
    def as_dict(self) -> dict[str, Any]:
        """Return JSON: figures and words, and nothing of any record."""

    @property
    def refused(self) -> tuple[str, ...]:
        """The columns that may not leave so, unless the added loss is accepted."""
        columns = () if self.losses is None else self.losses.columns
        return tuple(loss.column for loss in columns if loss.refused)

    @property
    def earlier(self) -> tuple[ColumnLoss, ...]:
        """The columns that left before, and what this release adds."""
        columns = () if self.losses is None else self.losses.columns
        return tuple(loss for loss in columns if loss.before)

    def left_out(self, what: str) -> list[str]:
        """Say how many records are left out of what would leave."""
        if not (dropped := self.now.dropped):
            return []
        have = "has" if dropped == 1 else "have"
        are = "is" if dropped == 1 else "are"
        records = "record" if dropped == 1 else "records"
        return [f"{dropped:,} {records} {have} empty cells and {are} left out of the {what}."]

    def refusals(self) -> list[str]:
        """Say which columns publishing would be refused for."""
        refused = (
            f"{', '.join(self.refused)} left before in another form: publishing is refused unless"
            " the added loss is accepted."
        )
        return [refused] if self.refused else []


ReportT = TypeVar("ReportT", bound=ReleaseReport[Any])


def printing(
    details: Callable[[Console, ReportT], None],
) -> Callable[[Console, Console, ReportT], None]:
    """Return what prints a report: what all say in the same words, and its details between."""

    def printed(console: Console, loud: Console, report: ReportT) -> None:
        def say(said: str) -> None:
            console.print(said, markup=False, soft_wrap=True)

        for said in report.headline:
            say(said)
        for said in report.alarms:
            loud.print(f"WARNING: {said}", style="bold white on red", markup=False, soft_wrap=True)
        show_warnings(console, report.cautions)
        for said in report.protection:
            say(f"* {said}")
        details(console, report)
        for loss in report.earlier:
            say(loss.sentence)

    return printed
