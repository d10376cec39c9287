"""A measure of a masked table, with a sentence for its custodian, and the list of all measures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Measure:
    """A measure of a masked table.

    Attributes:
        name, group: the name, such as "snooper-gain", and the subject, "utility" or "security".
        about: the columns measured: "debt", "debt given age, gender", or "all columns".
        value, error: the number, NaN if it does not exist, and its standard error over records.
        sentence: the meaning of the number for this table.
        alarm: whether Y reveals significantly more of X than S does.
    """

    name: str
    group: Literal["utility", "security"]
    about: str
    value: float
    error: float | None
    sentence: str
    alarm: bool = False


@dataclass(frozen=True)
class Measures:
    """The measures of one masked table, and notes on how they were computed."""

    rows: tuple[Measure, ...]
    notes: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Measure]:
        return iter(self.rows)

    def named(self, name: str, about: str | None = None) -> tuple[Measure, ...]:
        """Return all measures with a name or, if `about` is given, only those on these columns."""
        return tuple(
            row for row in self.rows if row.name == name and (about is None or row.about == about)
        )

    @property
    def alarms(self) -> tuple[Measure, ...]:
        """The measures that give an alarm, because Y reveals more of X than S does."""
        return tuple(row for row in self.rows if row.alarm)


def per_cent(value: float) -> str:
    """Return a share as text, as a number with the words "per cent"."""
    return f"{100 * value + 0.0:.1f} per cent"
