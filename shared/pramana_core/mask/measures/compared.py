"""A table three times: S, the true X and the masked Y of the same records in the same order.

Also here:

* Conditional expectations E(targets | features), linear or by a kernel, and left-out fits.
* One number about a masked table, with a sentence for its custodian, and the list of them.
* Records cut into pieces that are alike in S, without looking at X or Y.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from pramana_core.errors import MaskingError, TableError
from pramana_core.kernel_regression.fitting import fit_kernel
from pramana_core.kernel_regression.options import KernelOptions
from pramana_core.mask.core.noise import Randomness
from pramana_core.mixed import (
    CategoricalColumn,
    Column,
    Design,
    Floats,
    MixedTable,
    basis_of,
    design_of,
    leverages,
    read_mixed,
    with_constant,
)
from pramana_core.ties import descending


@dataclass(frozen=True, eq=False)
class ComparedTables:
    """S, X and Y as tables and as matrices; categories become indicators.

    Attributes:
        s: the columns that are told as they are; there may be none.
        x: the confidential columns, true.
        y: what is released in their place, record by record.
        alike: whether Y has the columns of X, so that its usefulness can be measured, too.
    """

    s: MixedTable
    x: MixedTable
    y: MixedTable
    alike: bool

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
        return _in_own_units(self._true, self.x)

    @cached_property
    def masked(self) -> Floats:
        """Y in the units of X and with its columns if they are alike, else in its own: n x k."""
        return _in_own_units(self._true if self.alike else design_of(self.y), self.y)

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


def compared(S: Any, X: Any, Y: Any) -> ComparedTables:  # noqa: N803 - the papers' names
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
    return ComparedTables(s, x, y, alike)


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


def _in_own_units(design: Design, table: MixedTable) -> Floats:
    """Return a design's columns in their own units."""
    return design.matrix(table) * design.scales + design.centres


def _places(column: Column, labels: tuple[str, ...]) -> list[int]:
    if isinstance(column, CategoricalColumn):
        own = {f"{column.name}={label}" for label in column.categories}
    else:
        own = {column.name}
    return [place for place, label in enumerate(labels) if label in own]


# Conditional expectations E(targets | features), linear or by a kernel, and left-out fits.

Kind = Literal["linear", "kernel"]

MOST_FITTED = 2_000
"""Kernels are fitted on at most so many records, drawn at random, and predict the others."""

LANDMARKS = 100
"""A kernel is spanned by so many records: measures want hundreds of fits, not the last digit."""


@dataclass(frozen=True, eq=False)
class Expectation:
    """Fitted expectations of q targets at n records.

    Attributes:
        fitted: n x q.
        left_out: the same, each by a fit in which the record itself had no part.
        leverages: how much each record's own target weighs in its fitted one; 0 for records that
            the fit was not made of.
        predict: expectations at other features, m x k to m x q.
    """

    fitted: Floats
    left_out: Floats
    leverages: Floats
    predict: Callable[[Floats], Floats]


def expectation(
    kind: Kind,
    features: Floats,
    targets: Floats,
    rng: Randomness,
    *,
    standardize: bool = True,
    most: int = MOST_FITTED,
    landmarks: int = LANDMARKS,
) -> Expectation:
    """Return the expectations of targets given features.

    Args:
        kind: "linear" (least squares) or "kernel" (kernel ridge regression).
        features: n x k in any units; columns without variation count for nothing.
        targets: n x q.
        rng: draws which records a kernel is made of.
        standardize: whether all features count alike; else as far as they are spread.
        most: a kernel is fitted on at most so many records.
        landmarks: and spanned by so many.
    """
    centre, scale = features.mean(axis=0), features.std(axis=0)
    kept = scale > 1e-12 * np.maximum(1.0, np.abs(centre))
    if not standardize:
        scale = np.ones_like(scale)

    def standard(rows: Floats) -> Floats:
        found: Floats = (rows[:, kept] - centre[kept]) / scale[kept]
        return found

    if not kept.any() or kind == "linear":
        return _linear(standard, features, targets)
    return _kernel(standard, features, targets, rng, most, landmarks)


def _linear(standard: Callable[[Floats], Floats], features: Floats, targets: Floats) -> Expectation:
    design = with_constant(standard(features))
    coefficients = np.linalg.lstsq(design, targets, rcond=1e-10)[0]
    fitted: Floats = design @ coefficients
    own = np.minimum(leverages(basis_of(design)), 1.0)
    # A record that decides its own fit has no fit without it: the mean stands for it.
    alone = own > 1 - 1e-9
    rest = (targets - fitted) / np.where(alone, 1.0, 1 - own)[:, None]
    left_out: Floats = np.where(alone[:, None], targets.mean(axis=0), targets - rest)
    return Expectation(
        fitted, left_out, own, lambda rows: with_constant(standard(rows)) @ coefficients
    )


def _kernel(
    standard: Callable[[Floats], Floats],
    features: Floats,
    targets: Floats,
    rng: Randomness,
    most: int,
    landmarks: int,
) -> Expectation:
    n = len(features)
    chosen = np.sort(rng.permutation(n)[:most]) if n > most else np.arange(n)
    inputs = standard(features)
    options = KernelOptions(landmarks=landmarks)
    fit = fit_kernel(inputs[chosen], targets[chosen], options, rng)
    if n == len(chosen):
        fitted, left_out = fit.fitted, fit.left_out
    else:
        fitted = fit.predict(inputs)
        left_out = fitted.copy()
        left_out[chosen] = fit.left_out
    own = np.zeros(n)
    own[chosen] = fit.leverages
    return Expectation(fitted, left_out, own, lambda rows: fit.predict(standard(rows)))


# One number about a masked table, with a sentence for its custodian, and the list of them.

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

    @property
    def alarms(self) -> tuple[Measure, ...]:
        """The measures which show that Y tells more of X than S does."""
        return tuple(row for row in self.rows if row.alarm)


# Records cut into pieces that are alike in S, without looking at X or Y.

Rows = npt.NDArray[np.intp]


def pieces_of(told: Floats, most: int, least: int) -> tuple[Rows, ...]:
    """Return the rows of pieces alike in S: the largest is cut at a median, again and again.

    The cut goes through the column of S that varies most within the piece, so that with one column
    the pieces are intervals, and categories are told apart before long.

    Args:
        told: S standardized, n x p.
        most: the largest number of pieces.
        least: the fewest records of a piece.
    """
    pieces: list[Rows] = [np.arange(len(told))]
    final: list[Rows] = []
    while pieces and len(pieces) + len(final) < most:
        pieces.sort(key=len)
        largest = pieces.pop()
        halves = _halves(told, largest, least)
        if halves is None:
            final.append(largest)
        else:
            pieces += halves
    return tuple(sorted([*pieces, *final], key=lambda rows: int(rows[0])))


def _halves(told: Floats, rows: Rows, least: int) -> list[Rows] | None:
    if len(rows) < 2 * least or not told.shape[1]:
        return None
    spread = told[rows].std(axis=0)
    for place in descending(spread):
        if spread[place] < 1e-9:
            return None
        values = told[rows, place]
        for low in (values <= np.median(values), values < np.median(values)):
            count = int(np.count_nonzero(low))
            if min(count, len(rows) - count) >= least:
                return [rows[low], rows[~low]]
    return None
