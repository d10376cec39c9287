"""The values of pseudo-data, computed from uniform random numbers between 0 and 1.

A value always meets the conditions of its path (proposition 1), even if it must be outside the
declared range. If a path does not split by an attribute, its values follow the distribution
estimated from the paths that do. The estimate is the maximum likelihood for grouped values
(Turnbull 1976), with one evenly spread record added.
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

Indices = npt.NDArray[np.intp]

_MOST_STEPS, _TOLERANCE = 500, 1e-7
_LEAST = 1e-9
"""Smaller shares are rounding errors, because shares are differences of sums."""


class ValueSampler(Protocol):
    """The interface of objects that draw the values of one attribute."""

    def column(self, paths: Indices, drawn: Floats) -> Column:
        """Return the values of n records, given the path and a number in [0, 1) for each record."""


def values_of(
    attribute: Attribute,
    conditions: Sequence[Condition | None],
    counts: Floats,
    *,
    estimated: bool,
) -> ValueSampler:
    """Return the sampler of an attribute's values, from the paths' conditions and record counts.

    `estimated` is explained at `GenerationOptions`.
    """
    distinct = list(dict.fromkeys(conditions))
    places = {condition: place for place, condition in enumerate(distinct)}
    of_path = np.array([places[condition] for condition in conditions], dtype=np.intp)
    weights = np.zeros(len(distinct))
    np.add.at(weights, of_path, counts)
    if isinstance(attribute, CategoricalAttribute):
        everything = tuple(range(len(attribute.categories)))
        allowed = [c.codes if isinstance(c, Values) else everything for c in distinct]
        return _categories(attribute, allowed, of_path, weights if estimated else None)
    intervals = [c if isinstance(c, Interval) else None for c in distinct]
    return _numbers(attribute, intervals, of_path, weights if estimated else None)


@dataclass(frozen=True, eq=False)
class _Categories:
    """A sampler of categories. Row r of `sums` has cumulative shares that rise from r to r + 1."""

    attribute: CategoricalAttribute
    of_path: Indices
    codes: Indices
    starts: Indices
    sums: Floats

    def column(self, paths: Indices, drawn: Floats) -> Column:
        rows = self.of_path[paths]
        found = np.searchsorted(self.sums, rows + drawn, side="right")
        # Rounding must not leave the row, or it could draw a category that the path excludes.
        found = np.clip(found, self.starts[rows], self.starts[rows + 1] - 1)
        return CategoricalColumn(self.attribute.name, self.codes[found], self.attribute.categories)


def _categories(
    attribute: CategoricalAttribute,
    allowed: Sequence[tuple[int, ...]],
    of_path: Indices,
    weights: Floats | None,
) -> _Categories:
    number = len(attribute.categories)
    shares = np.full(number, 1 / number)
    if weights is not None:
        shares = category_shares(allowed, weights, number)
    sums = [np.cumsum(shares[list(codes)]) for codes in allowed]
    return _Categories(
        attribute,
        of_path,
        np.concatenate([np.array(codes, dtype=np.intp) for codes in allowed]),
        np.cumsum([0, *map(len, allowed)]),
        np.concatenate([row + below / below[-1] for row, below in enumerate(sums)]),
    )


@dataclass(frozen=True)
class Extent:
    """The numbers above `low` and at most `high`, but not below `least`.

    With `whole`, drawn numbers are rounded up, which makes all whole numbers equally likely.
    """

    low: float
    high: float
    least: float
    whole: bool = False


def extent_of(attribute: NumericAttribute, interval: Interval | None) -> Extent:
    """Return the part of an attribute's range in an interval, or the whole range without one."""
    above, up_to = (interval.above, interval.up_to) if interval else (-math.inf, math.inf)
    if up_to < attribute.low:
        last = float(math.floor(up_to)) if attribute.whole else up_to
        only = last if above < last else up_to
        return Extent(only, only, only)
    if above >= attribute.high:
        first = float(math.floor(above)) + 1 if attribute.whole else above
        only = first if above < first <= up_to else math.nextafter(above, math.inf)
        return Extent(only, only, only)
    least = attribute.low if above < attribute.low else math.nextafter(above, math.inf)
    high = min(up_to, attribute.high)
    if attribute.whole:
        first, last = math.ceil(least), math.floor(high)
        if first <= last:
            return Extent(float(first) - 1, float(last), float(first), True)
    if least >= high:
        return Extent(high, high, high)
    return Extent(max(above, attribute.low), high, least)


@dataclass(frozen=True, eq=False)
class _Numbers:
    """A sampler of numbers. `curve`, if any, has the share of numbers below each of `edges`."""

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
        # Counted from the upper end, because only that end belongs to the interval.
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
    weights: Floats | None,
) -> _Numbers:
    extents = [extent_of(attribute, interval) for interval in intervals]
    low, high, least = (
        np.array([getattr(extent, name) for extent in extents]) for name in ("low", "high", "least")
    )
    whole = np.array([extent.whole for extent in extents])
    edges, curve = np.empty(0), np.empty(0)
    if weights is not None:
        known = (whole == attribute.whole) & (low < high)
        everything = extent_of(attribute, None)
        ends = np.concatenate([low[known], high[known], [everything.low, everything.high]])
        edges = np.unique(ends)
        starts, stops = np.searchsorted(edges, low[known]), np.searchsorted(edges, high[known])
        shares = cell_shares(edges, starts, stops, weights[known])
        curve = np.concatenate([[0.0], np.cumsum(shares)])
    return _Numbers(attribute, of_path, low, high, least, whole, edges, curve)


def category_shares(allowed: Sequence[tuple[int, ...]], weights: Floats, categories: int) -> Floats:
    """Return the estimated shares of categories.

    `allowed` has the codes that each condition allows, and `weights` its count of records.
    """
    inside = np.zeros((len(allowed), categories))
    for place, codes in enumerate(allowed):
        inside[place, list(codes)] = 1
    shares = even = np.full(categories, 1 / categories)
    for _ in range(_MOST_STEPS):
        expected = weights / (inside @ shares)
        shares, before = _step(shares, inside.T @ expected, weights.sum(), even), shares
        if np.abs(shares - before).max() < _TOLERANCE:
            break
    return shares


def cell_shares(edges: Floats, starts: Indices, ends: Indices, weights: Floats) -> Floats:
    """Return the estimated shares of the m cells between m + 1 edges.

    Condition i covers the cells from `starts[i]` up to but not including `ends[i]`, and
    `weights[i]` records satisfy it.
    """
    widths = np.diff(edges)
    even: Floats = widths / widths.sum()
    shares = even
    for _ in range(_MOST_STEPS):
        sums = np.concatenate([[0.0], np.cumsum(shares)])
        expected = weights / np.maximum(sums[ends] - sums[starts], _LEAST)
        steps = np.zeros(len(edges))
        np.add.at(steps, starts, expected)
        np.add.at(steps, ends, -expected)
        factors = np.maximum(np.cumsum(steps)[:-1], 0)
        shares, before = _step(shares, factors, weights.sum(), even), shares
        if np.abs(shares - before).max() < _TOLERANCE:
            break
    return shares


def _step(shares: Floats, factors: Floats, records: float, even: Floats) -> Floats:
    found: Floats = (shares * factors + even) / (records + 1)
    scaled: Floats = found / found.sum()
    return scaled
