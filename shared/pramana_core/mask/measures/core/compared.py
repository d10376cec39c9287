"""A table three times: S, the true X and the masked Y of the same records in the same order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from pramana_core.errors import MaskingError, TableError
from pramana_core.mixed.design import Design, basis_of, design_of, with_constant
from pramana_core.mixed.table import CategoricalColumn, Column, Floats, MixedTable, read_mixed

Found = TypeVar("Found")


class TrueFits:
    """Keeps what was fitted to S and X alone, for all tables that are released in the place of X.

    Such fits are the same whatever Y is; a comparison of methods makes them once. An instance is
    for one S and one X.
    """

    def __init__(self) -> None:
        self._kept: dict[object, Any] = {}

    def of(self, key: object, make: Callable[[], Found]) -> Found:
        """Return what is kept by a key, made now if it is the first time."""
        if key not in self._kept:
            self._kept[key] = make()
        found: Found = self._kept[key]
        return found


@dataclass(frozen=True, eq=False)
class Compared:
    """S, X and Y as tables and as matrices; categories become indicators.

    Attributes:
        s: the columns that are told as they are; there may be none.
        x: the confidential columns, true.
        y: what is released in their place, record by record.
        alike: whether Y has the columns of X, so that its usefulness can be measured, too.
        brief: whether models are of all of S and of all other columns alone.
        fits: keeps what was fitted to S and X alone.
    """

    s: MixedTable
    x: MixedTable
    y: MixedTable
    alike: bool
    brief: bool = False
    fits: TrueFits = field(default_factory=TrueFits)

    @property
    def records(self) -> int:
        """n, the number of records."""
        return self.x.records

    @cached_property
    def _told(self) -> Design:
        return design_of(self.s)

    @cached_property
    def told(self) -> Floats:
        """S standardized, n x p."""
        return self._told.matrix(self.s)

    @property
    def told_labels(self) -> tuple[str, ...]:
        """What the columns of `told` are."""
        return self._told.labels

    @cached_property
    def basis(self) -> Floats:
        """An orthonormal basis of the constant and S."""
        return basis_of(with_constant(self.told))

    @cached_property
    def _true(self) -> Design:
        return design_of(self.x)

    @property
    def labels(self) -> tuple[str, ...]:
        """What the columns of `true` are: a column's name, or `name=category`."""
        return self._true.labels

    @cached_property
    def true(self) -> Floats:
        """X in its own units, n x q."""
        return _plain(self._true, self.x)

    @cached_property
    def masked(self) -> Floats:
        """Y in the units of X and with its columns if they are alike, else in its own: n x k."""
        return _plain(self._true if self.alike else design_of(self.y), self.y)

    @cached_property
    def scales(self) -> Floats:
        """The standard deviations of `true`."""
        return self._true.scales

    @cached_property
    def numeric(self) -> tuple[int, ...]:
        """The places in `true` of numeric columns."""
        return tuple(k for k, label in enumerate(self.labels) if label in self.x.numeric)

    def told_places(self, name: str) -> list[int]:
        """Return the places in `told` of a column of S; none if it is constant or redundant."""
        return _places(self.s[name], self.told_labels)

    def true_places(self, name: str) -> list[int]:
        """Return the places in `true` of a column of X."""
        return _places(self.x[name], self.labels)


def compared(S: Any, X: Any, Y: Any) -> Compared:  # noqa: N803 - the papers' names
    """Return S, X and Y checked, as tables of the same records.

    Args:
        S: the columns that are told: numbers, a frame, or None for no such column.
        X: the confidential columns, true; numbers or categories.
        Y: what is released in their place. Columns are alike in name or else in order.

    Raises:
        EmptyTable: no records.
        TableError: values are missing or infinite, or the numbers of records differ.
        MaskingError: fewer than ten records, or no column of X varies.
    """
    x = read_mixed(X, "X")
    y = read_mixed(Y, "Y")
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
    if not design_of(x).labels:
        raise MaskingError("No column of X varies, so there is nothing to measure.", where="X")
    if set(x.names) == set(y.names):
        y = y.project(x.names)
    alike = len(x.columns) == len(y.columns) and all(
        type(a) is type(b) for a, b in zip(x.columns, y.columns, strict=True)
    )
    if alike:
        x, y = _same_categories(x, y)
    return Compared(s, x, y, alike)


def _same_categories(x: MixedTable, y: MixedTable) -> tuple[MixedTable, MixedTable]:
    """Return both with the names of X, and with the categories of both in each column."""
    trues: list[Column] = []
    masks: list[Column] = []
    for a, b in zip(x.columns, y.columns, strict=True):
        if isinstance(a, CategoricalColumn) and isinstance(b, CategoricalColumn):
            every = (*a.categories, *(c for c in b.categories if c not in a.categories))
            place = np.array([every.index(label) for label in b.categories], dtype=np.intp)
            trues.append(CategoricalColumn(a.name, a.codes, every))
            masks.append(CategoricalColumn(a.name, place[b.codes], every))
        elif not isinstance(a, CategoricalColumn) and not isinstance(b, CategoricalColumn):
            trues.append(a)
            masks.append(type(b)(a.name, b.values))
    return MixedTable(tuple(trues), x.records), MixedTable(tuple(masks), y.records)


def _plain(design: Design, table: MixedTable) -> Floats:
    """Return a design's columns in their own units."""
    return design.matrix(table) * design.scales + design.centres


def _places(column: Column, labels: tuple[str, ...]) -> list[int]:
    if isinstance(column, CategoricalColumn):
        own = {f"{column.name}={label}" for label in column.categories}
    else:
        own = {column.name}
    return [place for place, label in enumerate(labels) if label in own]
