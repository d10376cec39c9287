"""One number about a masked table, with a sentence for its custodian, and the list of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from pramana_core.errors import MaskingError

Group = Literal["utility", "security"]


@dataclass(frozen=True)
class Measure:
    """One number about a masked table.

    Attributes:
        name: which measure, such as "snooper-gain-kernel".
        group: whether it is about what the table is still good for or about what it gives away.
        about: which columns: a column's name, "debt given age, gender", or "all columns".
        value: the number; NaN where it does not exist, and then the sentence says why.
        error: its standard error over records, where one exists.
        sentence: what the number means for this table, in words.
        alarm: whether it shows, by more than chance, that Y tells more of X than S does; of
            measures that a curve over S alone can raise it shows nothing, so they raise none.
    """

    name: str
    group: Group
    about: str
    value: float
    error: float | None
    sentence: str
    alarm: bool = False


@dataclass(frozen=True)
class Measures:
    """The measures of one masked table, in the order in which a report shows them.

    Attributes:
        rows: the measures.
        records: n, the number of records they were taken on.
        notes: sentences on how they were taken, such as on how many of the records.
    """

    rows: tuple[Measure, ...]
    records: int
    notes: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Measure]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def of(self, name: str, about: str | None = None) -> Measure:
        """Return the one measure of a name, or of a name about some columns.

        Raises:
            MaskingError: there is no such measure, or more than one.
        """
        found = self.named(name, about)
        if len(found) == 1:
            return found[0]
        wanted = f"{name!r} about {about!r}" if about is not None else repr(name)
        if not found:
            names = sorted({row.name for row in self.rows})
            raise MaskingError(
                f"There is no measure {wanted}.", where=name, remedy=f"There are {names}."
            )
        subjects = [row.about for row in found]
        raise MaskingError(
            f"There are {len(found)} measures {wanted}.",
            where=name,
            remedy=f"Say about which columns: {subjects}.",
        )

    def named(self, name: str, about: str | None = None) -> tuple[Measure, ...]:
        """Return all measures of a name, and about some columns if they are given."""
        return tuple(
            row for row in self.rows if row.name == name and (about is None or row.about == about)
        )

    def group(self, group: Group) -> tuple[Measure, ...]:
        """Return the measures of utility or those of security."""
        return tuple(row for row in self.rows if row.group == group)

    @property
    def alarms(self) -> tuple[Measure, ...]:
        """The measures which show that Y tells more of X than S does."""
        return tuple(row for row in self.rows if row.alarm)

    def worst(self, name: str, *, largest: bool = True) -> Measure | None:
        """Return the largest (or smallest) measure of a name; None if none has a value."""
        found = [row for row in self.named(name) if not math.isnan(row.value)]
        if not found:
            return None
        return (max if largest else min)(found, key=lambda row: row.value)

    def to_dict(self) -> dict[str, Any]:
        """Return the measures as JSON takes them; a value that does not exist is None."""
        return {
            "records": self.records,
            "notes": list(self.notes),
            "rows": [{k: _plain(v) for k, v in asdict(row).items()} for row in self.rows],
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Measures:
        """Return the measures that `to_dict` wrote."""
        rows = []
        for row in document["rows"]:
            value = math.nan if row["value"] is None else float(row["value"])
            rows.append(Measure(**{**row, "value": value}))
        return cls(tuple(rows), int(document["records"]), tuple(document["notes"]))


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
