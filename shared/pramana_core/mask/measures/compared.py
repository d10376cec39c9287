"""A table three times: S, the true X and the masked Y of the same records in the same order."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pramana_core.errors import MaskingError, TableError
from pramana_core.mixed import Design, Floats, MixedTable, design_of, read_mixed


@dataclass(frozen=True, eq=False)
class ComparedTables:
    """S, X and Y as tables and as matrices.

    Attributes:
        s: the columns that are told as they are; there may be none.
        x: the confidential columns, true: numbers.
        y: what is released in their place, record by record.
    """

    s: MixedTable
    x: MixedTable
    y: MixedTable

    @property
    def records(self) -> int:
        """n, the number of records."""
        return self.x.records

    @cached_property
    def _design(self) -> Design:
        return design_of(self.s)

    @cached_property
    def told(self) -> Floats:
        """S standardized, categories as indicators, n x p."""
        return self._design.matrix

    @cached_property
    def told_names(self) -> tuple[str, ...]:
        """The columns of S that are in `told`: neither constant nor told by the others."""
        used = {name for name, _ in self._design.sources}
        return tuple(name for name in self.s.names if name in used)

    def told_places(self, name: str) -> list[int]:
        """Return the places in `told` of a column of S."""
        return [place for place, (own, _) in enumerate(self._design.sources) if own == name]

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the columns of X."""
        return self.x.names

    @cached_property
    def true(self) -> Floats:
        """X, n x q."""
        return self.x.matrix()

    @cached_property
    def masked(self) -> Floats:
        """Y, n x q."""
        return self.y.matrix()


def compared(S: Any, X: Any, Y: Any) -> ComparedTables:  # noqa: N803 - the papers' names
    """Return S, X and Y checked, as tables of the same records.

    Args:
        S: the columns that are told: numbers, a frame, or None for no such column.
        X: the confidential columns, true numbers; those without variation are left out.
        Y: what is released in their place: the same columns by name or else in order.

    Raises:
        EmptyTable: no records.
        TableError: values are missing or infinite, columns of X and Y are no numbers or not the
            same, or the numbers of records differ.
        MaskingError: fewer than ten records, or no column of X varies.
    """
    x, y = read_mixed(X, "X"), read_mixed(Y, "Y")
    s = MixedTable((), x.records) if S is None else read_mixed(S, "S")
    for table, what in ((s, "S"), (y, "Y")):
        if table.records != x.records:
            raise TableError(
                f"{what} has {table.records} records and X has {x.records}.",
                where=what,
                remedy="Measures compare the same records in the same order.",
            )
    if x.records < 10:
        raise MaskingError(
            f"{x.records} records are too few to measure anything; at least 10 are needed.",
            where="X",
        )
    if len(x.columns) != len(y.columns) or x.numeric != x.names or y.numeric != y.names:
        raise TableError(
            "X and Y must have the same columns, of numbers.",
            where="Y",
            remedy="Pass what was masked and what is released in its place.",
        )
    by_name = set(x.names) == set(y.names)
    kept = [place for place, column in enumerate(x.columns) if not column.is_constant]
    if not kept:
        raise MaskingError("No column of X varies, so there is nothing to measure.", where="X")
    names = [x.names[place] for place in kept]
    others = names if by_name else [y.names[place] for place in kept]
    return ComparedTables(s, x.project(names), y.project(others))
