"""The values of pseudo-data, from numbers drawn evenly between 0 and 1.

Which numbers pseudo-data may take within an interval: never one outside of it.

The declared range of an attribute narrows what an interval leaves. Where the two have nothing in
common, the interval wins, with the number nearest to the range: a record is always on its path
(proposition 1). For the same reason an attribute of whole numbers takes another where an interval
has no whole number in it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from pramana_core.mixed import CategoricalColumn, Column, Floats, NumericColumn
from pramana_core.model_sharing.attributes import Attribute, CategoricalAttribute, NumericAttribute
from pramana_core.model_sharing.conditions import Condition, Interval, Values
from pramana_core.model_sharing.estimated_shares import category_shares, cell_shares


@dataclass(frozen=True)
class Extent:
    """The numbers above `low` and at most `high` are drawn from; none below `least` is taken.

    With `whole`, what is drawn is rounded up: all whole numbers of the extent are alike.
    """

    low: float
    high: float
    least: float
    whole: bool


def extent_of(attribute: NumericAttribute, interval: Interval | None) -> Extent:
    """Return what is left of an attribute's range in an interval; without one, all of it."""
    above, up_to = (interval.above, interval.up_to) if interval else (-math.inf, math.inf)
    if up_to < attribute.low:
        last = float(math.floor(up_to)) if attribute.whole else up_to
        return _single(last if above < last else up_to)
    if above >= attribute.high:
        first = float(math.floor(above)) + 1 if attribute.whole else above
        return _single(first if above < first <= up_to else math.nextafter(above, math.inf))
    least = attribute.low if above < attribute.low else math.nextafter(above, math.inf)
    high = min(up_to, attribute.high)
    if attribute.whole:
        first, last = math.ceil(least), math.floor(high)
        if first <= last:
            return Extent(float(first) - 1, float(last), float(first), True)
    if least >= high:
        return _single(high)
    return Extent(max(above, attribute.low), high, least, False)


def _single(number: float) -> Extent:
    return Extent(number, number, number, False)


Indices = npt.NDArray[np.intp]


class ValueSampler(Protocol):
    """What gives the values of one attribute."""

    def column(self, paths: Indices, drawn: Floats) -> Column:
        """Return the values of n records from the path and a number, 0 to below 1, of each."""


def values_of(
    attribute: Attribute,
    conditions: Sequence[Condition | None],
    counts: Floats,
    *,
    estimated: bool,
) -> ValueSampler:
    """Return what gives an attribute's values.

    Args:
        attribute: the attribute.
        conditions: what each path asks of it; None where it does not.
        counts: how many records each path has.
        estimated: see `GenerationOptions`.
    """
    distinct = list(dict.fromkeys(conditions))
    places = {condition: place for place, condition in enumerate(distinct)}
    of_path = np.array([places[condition] for condition in conditions], dtype=np.intp)
    weights = np.zeros(len(distinct))
    np.add.at(weights, of_path, counts)
    if isinstance(attribute, CategoricalAttribute):
        asked = [c if isinstance(c, Values) else None for c in distinct]
        return _categories(attribute, asked, of_path, weights, estimated=estimated)
    intervals = [c if isinstance(c, Interval) else None for c in distinct]
    return _numbers(attribute, intervals, of_path, weights, estimated=estimated)


@dataclass(frozen=True, eq=False)
class _Categories:
    """Categories: `sums` are the cumulated shares of the codes of row r, from r to r + 1."""

    attribute: CategoricalAttribute
    of_path: Indices
    codes: Indices
    starts: Indices
    sums: Floats

    def column(self, paths: Indices, drawn: Floats) -> Column:
        rows = self.of_path[paths]
        found = np.searchsorted(self.sums, rows + drawn, side="right")
        # Rounding must not lead out of a row: no category is drawn that its path leaves out.
        found = np.clip(found, self.starts[rows], self.starts[rows + 1] - 1)
        return CategoricalColumn(self.attribute.name, self.codes[found], self.attribute.categories)


def _categories(
    attribute: CategoricalAttribute,
    conditions: Sequence[Values | None],
    of_path: Indices,
    weights: Floats,
    *,
    estimated: bool,
) -> _Categories:
    number = len(attribute.categories)
    everything = tuple(range(number))
    allowed = [everything if c is None else c.codes for c in conditions]
    shares = np.full(number, 1 / number)
    if estimated:
        shares = category_shares(allowed, weights, number)
    sums = [np.cumsum(shares[list(codes)]) for codes in allowed]
    return _Categories(
        attribute,
        of_path,
        np.concatenate([np.array(codes, dtype=np.intp) for codes in allowed]),
        np.cumsum([0, *map(len, allowed)]),
        np.concatenate([row + below / below[-1] for row, below in enumerate(sums)]),
    )


@dataclass(frozen=True, eq=False)
class _Numbers:
    """Numbers by the extents of the conditions.

    `curve` has the share below each of `edges`; without edges numbers are drawn evenly.
    """

    attribute: NumericAttribute
    of_path: Indices
    low: Floats
    high: Floats
    least: Floats
    whole: npt.NDArray[np.bool_]
    edges: Floats
    curve: Floats

    def column(self, paths: Indices, drawn: Floats) -> Column:
        rows = self.of_path[paths]
        low, high = self.low[rows], self.high[rows]
        # From the upper end, which belongs to the interval, as the lower does not.
        values = high - drawn * (high - low)
        if len(self.edges):
            below = np.interp(low, self.edges, self.curve)
            within = np.interp(high, self.edges, self.curve) - below
            found = np.interp(below + (1 - drawn) * within, self.curve, self.edges)
            values = np.where(within > 0, found, values)
        values = np.where(self.whole[rows], np.ceil(values), values)
        return NumericColumn(self.attribute.name, np.clip(values, self.least[rows], high))


def _numbers(
    attribute: NumericAttribute,
    intervals: Sequence[Interval | None],
    of_path: Indices,
    weights: Floats,
    *,
    estimated: bool,
) -> _Numbers:
    extents = [extent_of(attribute, interval) for interval in intervals]
    low, high, least = (
        np.array([getattr(extent, name) for extent in extents]) for name in ("low", "high", "least")
    )
    whole = np.array([extent.whole for extent in extents])
    edges, curve = np.empty(0), np.empty(0)
    if estimated:
        edges, curve = _estimated(attribute, low, high, whole == attribute.whole, weights)
    return _Numbers(attribute, of_path, low, high, least, whole, edges, curve)


def _estimated(
    attribute: NumericAttribute,
    low: Floats,
    high: Floats,
    usual: npt.NDArray[np.bool_],
    weights: Floats,
) -> tuple[Floats, Floats]:
    """Return edges of cells, and the estimated shares below each of them."""
    known = usual & (low < high)
    everything = extent_of(attribute, None)
    ends = np.concatenate([low[known], high[known], [everything.low, everything.high]])
    edges = np.unique(ends)
    starts, stops = np.searchsorted(edges, low[known]), np.searchsorted(edges, high[known])
    shares = cell_shares(edges, starts, stops, weights[known])
    return edges, np.concatenate([[0.0], np.cumsum(shares)])
