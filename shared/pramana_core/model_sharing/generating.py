"""Pseudo-data of a tree: path-based generation, PGEN, and the baseline, BASEGEN (sections 2.2, 4).

How many records of each class a path has is settled first, exactly. The values of a record then
depend on its path and its number there alone, so that the same randomness gives the same records
whether they are made at once or chunk by chunk.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, Protocol

import numpy as np
import numpy.typing as npt
from annotated_types import Ge, Gt

from pramana_core.errors import LimitExceeded, ModelError, OptionError
from pramana_core.learn.common.options import require_limits
from pramana_core.mixed import CategoricalColumn, Column, Floats, MixedTable, NumericColumn
from pramana_core.model_sharing.attributes import Attribute, CategoricalAttribute, NumericAttribute
from pramana_core.model_sharing.tree import Condition, Interval, Leaf, SharedTree, Values

# What a tree tells of the distribution of one attribute.
#
# A path of n records that asks for an attribute tells that n of its values are within a condition;
# one that does not tells nothing. That is a sample with grouped values, and its maximum-likelihood
# distribution is the fixed point of self-consistency (Turnbull 1976; EM): each path's records are
# spread over the cells of its condition in proportion to the distribution, and what they add up to
# is the distribution. It takes for granted that paths that do not ask for an attribute have it
# distributed as those that do. One record spread evenly is added, so that nothing is impossible and
# the fixed point is unique.

_MOST_STEPS = 500
_TOLERANCE = 1e-7
_LEAST = 1e-9
"""Shares below it, which are differences of sums, are not told from nothing."""


def category_shares(allowed: Sequence[tuple[int, ...]], weights: Floats, categories: int) -> Floats:
    """Return the estimated shares of categories.

    Args:
        allowed: the codes that each condition leaves.
        weights: how many records have it.
        categories: how many there are.
    """
    inside = np.zeros((len(allowed), categories))
    for place, codes in enumerate(allowed):
        inside[place, list(codes)] = 1
    shares = np.full(categories, 1 / categories)
    for _ in range(_MOST_STEPS):
        expected = weights / (inside @ shares)
        shares, before = _step(shares, inside.T @ expected, weights.sum()), shares
        if np.abs(shares - before).max() < _TOLERANCE:
            break
    return shares


def cell_shares(
    edges: Floats, starts: npt.NDArray[np.intp], ends: npt.NDArray[np.intp], weights: Floats
) -> Floats:
    """Return the estimated shares of the cells between edges.

    Args:
        edges: the ends of m cells, m + 1, ascending.
        starts: the first cell of each condition.
        ends: the first cell beyond each.
        weights: how many records have it.
    """
    widths = np.diff(edges)
    even = widths / widths.sum()
    shares: Floats = even
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


def _step(shares: Floats, factors: Floats, records: float, even: Floats | None = None) -> Floats:
    prior = 1 / len(shares) if even is None else even
    found: Floats = (shares * factors + prior) / (records + 1)
    scaled: Floats = found / found.sum()
    return scaled


Method = Literal["pgen", "basegen"]


@dataclass(frozen=True)
class GenerationOptions:
    """How pseudo-data are generated; the defaults are the paper's.

    Attributes:
        method: "pgen", from the paths, as many records as each counts (figure 3); or "basegen",
            drawn evenly from the range of each attribute and labelled by the tree.
        records: how many in all; None for as many as the tree counts, times `scale`.
        scale: what the counts are multiplied by; without effect on a given number of records.
        estimated: whether "pgen" draws a value that a path leaves open by the tree's own estimate
            of its attribute's distribution, and values more evenly than by chance, with the same
            distribution for each record. Otherwise evenly from what is left, each independently
            (line 9 of figure 3).

    Raises:
        OptionError: an option is out of range.
    """

    method: Method = "pgen"
    records: Annotated[int, Ge(1)] | None = None
    scale: Annotated[float, Gt(0)] = 1.0
    estimated: bool = False

    def __post_init__(self) -> None:
        require_limits(self)


# Which numbers pseudo-data may take within an interval: never one outside of it.
#
# The declared range of an attribute narrows what an interval leaves. Where the two have nothing in
# common, the interval wins, with the number nearest to the range: a record is always on its path
# (proposition 1). For the same reason an attribute of whole numbers takes another where an interval
# has no whole number in it.


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


# The numbers from 0 to 1 that values are made of, one for each record and attribute.

RecordRows = npt.NDArray[np.intp]


class Places:
    """Where each record of a path lies in the unit cube, a dimension for each attribute.

    By default each number is drawn. `even` takes them from an additive recurrence: record r of a
    path lies at s + r g, modulo 1, where the steps g are the powers of the generalized golden
    ratio (Roberts 2018), which fill the cube evenly however many are taken, and the start s is
    drawn evenly for each path and attribute, so that every record alone is distributed evenly
    (Cranley and Patterson 1976). Which attribute takes which step is drawn for each path as well.
    """

    def __init__(
        self,
        sizes: npt.NDArray[np.int64],
        attributes: int,
        rng: np.random.Generator,
        *,
        even: bool,
    ) -> None:
        """Take the paths' numbers of records, in the order in which records are numbered."""
        self._attributes, self._rng = attributes, rng
        self._even = even
        self._first = np.cumsum(sizes) - sizes
        if self._even:
            self._starts = rng.uniform(size=(len(sizes), attributes))
            steps = np.broadcast_to(_steps(attributes), (len(sizes), attributes))
            self._steps = rng.permuted(steps, axis=1)

    def of(self, records: RecordRows, paths: RecordRows) -> Floats:
        """Return the places of the next n records: n x attributes, from 0 to below 1.

        Args:
            records: their numbers among all records.
            paths: their paths.
        """
        if not self._even:
            # Row by row: which chunk a record is in does not change what it is made of.
            return self._rng.uniform(size=(len(records), self._attributes))
        within = (records - self._first[paths])[:, None]
        found: Floats = (self._starts[paths] + within * self._steps[paths]) % 1.0
        return found


def _steps(dimensions: int) -> Floats:
    """Return 1/g, 1/g^2, ... for the g with g^(d + 1) = g + 1, in d dimensions."""
    ratio = 2.0
    for _ in range(64):
        ratio = (1 + ratio) ** (1 / (dimensions + 1))
    found: Floats = ratio ** -np.arange(1.0, dimensions + 1)
    return found


# How many records of each class each path gives: whole numbers from counts that need not be.
#
# Sums are rounded in place of counts: with a random start U, count i becomes the number of whole
# numbers between U + c_1 + ... + c_(i-1) and U + c_1 + ... + c_i (systematic sampling). Its
# expectation is c_i itself, it is off by less than 1, and so is the sum of any run of counts;
# counts that are whole stay as they are.

_NEAR = 1e-9
"""Sums so near to a whole number, in proportion, are that number: thirds add up to 1."""

Sizes = npt.NDArray[np.int64]


def pseudo_records(tree: SharedTree, options: GenerationOptions) -> int:
    """Return how many records a tree gives; of fractional counts that add up to none, the nearest.

    Raises:
        ModelError: records are asked of a tree that counts none.
    """
    if options.records is None:
        return round(tree.records * options.scale)
    if options.method == "pgen" and not tree.records:
        raise ModelError(
            "The tree counts no records, so that none can be drawn in proportion to its counts."
        )
    return options.records


def cell_sizes(tree: SharedTree, options: GenerationOptions, rng: np.random.Generator) -> Sizes:
    """Return how many records of each class each path gives: paths x classes.

    First hit and miss of all paths are rounded together, then the misses of each path over its
    other classes: by their counts where the leaf has them, else evenly (section 2.2). So whole
    counts give proposition 1 exactly: hit + miss records on each path, hit of them in its class.

    Args:
        tree: the tree.
        options: how many in all.
        rng: the randomness.

    Raises: as `pseudo_records`.
    """
    total = pseudo_records(tree, options)
    leaves = tree.leaves
    counted = np.array([(leaf.hit, leaf.miss) for leaf in leaves])
    known = counted.sum()
    wanted = counted * (total / known) if known and options.records else counted * options.scale
    rounded = _rounded(wanted.ravel(), rng.uniform(), total if known else 0).reshape(-1, 2)
    found = np.zeros((len(leaves), tree.schema.classes), dtype=np.int64)
    labels = np.array([leaf.label for leaf in leaves], dtype=np.intp)
    found[np.arange(len(leaves)), labels] = rounded[:, 0]
    for place in np.flatnonzero(rounded[:, 1]):
        shares = _others(leaves[place], tree.schema.classes)
        missed = int(rounded[place, 1])
        found[place] += _rounded(shares * missed, rng.uniform(), missed)
    return found


def _others(leaf: Leaf, classes: int) -> Floats:
    """Return the shares of the other classes among a leaf's misses."""
    found = np.ones(classes) if leaf.distribution is None else np.array(leaf.distribution)
    found[leaf.label] = 0
    if not found.sum():
        found[:] = 1
        found[leaf.label] = classes == 1
    shares: Floats = found / found.sum()
    return shares


def shared_out(counts: Floats, total: int) -> Sizes:
    """Return a whole number shared out in proportion to counts, by largest remainders."""
    wanted = counts * (total / counts.sum())
    found: Sizes = np.floor(wanted).astype(np.int64)
    missing = total - int(found.sum())
    found[np.argsort(found - wanted, kind="stable")[:missing]] += 1
    return found


def _rounded(counts: Floats, start: float, total: int) -> Sizes:
    """Return counts made whole, of a given sum, by systematic sampling."""
    sums = np.concatenate([[0.0], np.cumsum(counts)])
    if sums[-1]:
        sums *= total / sums[-1]
    nearest = np.rint(sums)
    near = np.abs(sums - nearest) <= _NEAR * np.maximum(nearest, 1)
    sums = np.where(near, nearest, sums)
    return np.diff(np.floor(sums + start)).astype(np.int64)


RECORDS_AT_ONCE = 65_536


def generate(
    tree: SharedTree, rng: np.random.Generator, options: GenerationOptions | None = None
) -> MixedTable:
    """Return pseudo-data of a tree: its attributes and, last, the class.

    Args:
        tree: the tree.
        rng: the randomness.
        options: how many records, and how their values are drawn.

    Raises:
        ModelError: records are asked of a tree that counts none.
    """
    options = options or GenerationOptions()
    at_once = max(pseudo_records(tree, options) + 1, 1)
    chunks = list(generate_chunks(tree, rng, options, at_once))
    return chunks[0]


def generate_chunks(
    tree: SharedTree,
    rng: np.random.Generator,
    options: GenerationOptions | None = None,
    per_chunk: int = RECORDS_AT_ONCE,
) -> Iterator[MixedTable]:
    """Return the records of `generate` with the same randomness, in chunks; at least one chunk.

    Beside the chunk in hand, 4 bytes for each record are kept if they are shuffled.

    Args:
        tree, rng, options: as of `generate`; nothing else may draw from `rng` meanwhile.
        per_chunk: the most records of a chunk; the last may have fewer.

    Raises:
        ModelError, OptionError: as `generate`, and OptionError if `per_chunk` is below 1.
        LimitExceeded: more than 4 thousand million records are to be shuffled.
    """
    options = options or GenerationOptions()
    if per_chunk < 1:
        raise OptionError(f"per_chunk must be at least 1, not {per_chunk}.", where="per_chunk")
    return _made(tree, rng, options, per_chunk)


def _made(
    tree: SharedTree, rng: np.random.Generator, options: GenerationOptions, per_chunk: int
) -> Iterator[MixedTable]:
    """Yield records of the paths, or drawn evenly from all ranges and labelled by the tree."""
    by_paths, conditions = options.method == "pgen", [path.conditions for path in tree.paths()]
    estimated = by_paths and options.estimated
    if by_paths:
        sizes = cell_sizes(tree, options, rng)
        counts = np.array([leaf.records for leaf in tree.leaves])
    else:
        sizes = np.array([[pseudo_records(tree, options)]])
        conditions, counts = [{}], np.ones(1)
    columns = [
        values_of(a, [known.get(a.name) for known in conditions], counts, estimated=estimated)
        for a in tree.schema.attributes
    ]
    places = Places(sizes.sum(axis=1), len(columns), rng, even=estimated)
    ends, target = np.cumsum(sizes), tree.schema.target
    total = int(ends[-1])
    order = _shuffled(total, rng) if by_paths else None
    for start in range(0, max(total, 1), per_chunk):
        records = np.arange(start, min(start + per_chunk, total))
        if order is not None:
            records = order[records].astype(np.intp)
        paths, classes = np.divmod(np.searchsorted(ends, records, side="right"), sizes.shape[1])
        drawn = places.of(records, paths)
        found = tuple(column.column(paths, drawn[:, k]) for k, column in enumerate(columns))
        if not by_paths:
            classes = tree.predict(MixedTable(found, len(records)))
        labels = CategoricalColumn(target.name, classes, target.categories)
        yield MixedTable((*found, labels), len(records))


def _shuffled(records: int, rng: np.random.Generator) -> npt.NDArray[np.uint32]:
    """Return the numbers of all records in random order, in 4 bytes each."""
    if records >= 1 << 32:
        raise LimitExceeded(
            f"{records:,} records are too many to be shuffled.",
            where="records",
            remedy="Ask for fewer.",
        )
    order = np.arange(records, dtype=np.uint32)
    rng.shuffle(order)
    return order
