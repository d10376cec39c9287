"""A table three times: S, the true X and the masked Y of the same records in the same order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pramana_core.errors import MaskingError, TableError
from pramana_core.mask.core.inputs import Inputs, inputs
from pramana_core.mixed import Floats, read_mixed


@dataclass(frozen=True, eq=False)
class ComparedTables:
    """S and the true X, and the masked Y: n x q."""

    given: Inputs
    masked: Floats

    @property
    def records(self) -> int:
        """n, the number of records."""
        return self.given.records

    @property
    def told(self) -> Floats:
        """S standardized, categories as indicators, n x p."""
        return self.given.told

    @property
    def true(self) -> Floats:
        """X, n x q."""
        return self.given.matrix

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the columns of X."""
        return self.given.x.names

    @property
    def told_names(self) -> tuple[str, ...]:
        """The columns of S that are in `told`: neither constant nor redundant."""
        return tuple(name for name in self.given.s.names if self.told_places(name))

    def told_places(self, name: str) -> list[int]:
        """Return the indices in `told` of a column of S."""
        return [k for k, (source, _) in enumerate(self.given.design.sources) if source == name]


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
    if y.records != x.records:
        raise TableError(
            f"Y has {y.records} records and X has {x.records}.",
            where="Y",
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
    kept = [place for place, column in enumerate(x.columns) if not column.is_constant]
    if not kept:
        raise MaskingError("No column of X varies, so there is nothing to measure.", where="X")
    names = [x.names[place] for place in kept]
    others = names if set(x.names) == set(y.names) else [y.names[place] for place in kept]
    return ComparedTables(inputs(S, x.project(names)), y.project(others).matrix())
