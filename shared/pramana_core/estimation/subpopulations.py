"""Counts within subpopulations, from weighted records or as slices of tables.

A record's weight is the product of the estimators of the given categories at its reports. Weighted
reports estimate the table within the subpopulation, and squared weights estimate its errors.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pramana_core.domain import Domain, Variable
from pramana_core.estimation.axes import Axis, axes_of, named
from pramana_core.estimation.weights import SourceWeights
from pramana_core.marginals.counts import CUBE_CELLS, MARGINAL_CELLS, ReportedCounts, Tensor
from pramana_core.marginals.passes import CountedRecords
from pramana_core.marginals.subpopulations import SUBTABLE_CELLS, Subtable, too_large
from pramana_core.marginals.support_counts import excess_of, weighted_sum
from pramana_core.plan import Plan
from pramana_core.progress import Tick

if TYPE_CHECKING:
    from pramana_core.marginals.counts import Marginals


@dataclass(frozen=True, eq=False)
class WeightedRecords:
    """Tables within subpopulations for records whose sources all report every variable.

    `weights` are the weights of the sources; None gives each record weight one.
    """

    sources: tuple[tuple[CountedRecords, Plan], ...]
    weights: SourceWeights | None
    _latest: dict[int, _NodePasses] = field(default_factory=dict)

    def __call__(self, given: Mapping[str, int], domain: Domain) -> Subtable:
        """Return the table of a subpopulation; see `Subpopulation.tabulate`."""
        parts = [
            _of_source(*source, given, domain, self._latest.setdefault(number, _NodePasses()))
            for number, source in enumerate(self.sources)
        ]
        factors = np.ones(len(parts))
        if self.weights is not None:
            factors = self.weights.of_table([*given, *domain.names])
        sizes = [reports.records for reports, _ in self.sources]
        counts = weighted_sum(factors, [own for own, _ in parts])
        products = weighted_sum(np.square(factors), [own for _, own in parts])
        excess = excess_of(factors, sizes) / sum(sizes)
        products -= excess * np.outer(counts, counts)
        return Subtable(
            domain, counts.reshape(domain.shape), sum(sizes), lambda: products - np.diag(counts)
        )


def _of_source(
    reports: CountedRecords,
    plan: Plan,
    given: Mapping[str, int],
    wanted: Domain,
    latest: _NodePasses,
) -> tuple[Tensor, Tensor]:
    """Return the counts, (cells), and the products of their estimators, (cells, cells)."""
    axes = axes_of(plan, [*given, *wanted.names])
    parts = [axis for axis in axes if any(v.name in wanted for v in axis.kept)]
    others = [(axis, _rows(axis, given)[0]) for axis in axes if axis not in parts]
    if latest.given != given:
        latest.given, latest.counted = dict(given), []
    linear, squared = _sums(reports, plan, others, parts, latest.counted)
    kept: list[Variable] = []
    rows: Tensor = np.ones((1, 1))
    for axis in parts:
        rows = np.asarray(np.kron(rows, _rows(axis, given)), dtype=np.float64)
        kept += [v for v in axis.kept if v.name not in given]
    order = [[v.name for v in kept].index(name) for name in wanted.names]
    cells = np.arange(len(rows)).reshape([v.size for v in kept]).transpose(order).ravel()
    rows = rows[cells]
    return rows @ linear, (rows * squared) @ rows.T


def _rows(axis: Axis, given: Mapping[str, int]) -> Tensor:
    sizes = [v.size for v in axis.kept]
    chosen = tuple(given.get(v.name, slice(None)) for v in axis.kept)
    cells = np.arange(math.prod(sizes)).reshape(sizes)[chosen].ravel()
    mixture = axis.channel.inverse_mixture
    if mixture is None:
        listed: Tensor = axis.decoder[cells]
        return listed
    # Only these rows of the inverse a I + b 11' are listed.
    rows = np.full((len(cells), axis.channel.shape[1]), mixture[1])
    rows[np.arange(len(cells)), cells] += mixture[0]
    return rows


Factors = tuple[tuple[tuple[str, ...], tuple[int, ...], Tensor], ...]
"""Columns, their numbers of codes, and the weight of each of their cells."""


@dataclass(eq=False)
class _NodePasses:
    """The passes over one source for the latest subpopulation, and their counts."""

    given: Mapping[str, int] = field(default_factory=dict)
    counted: list[tuple[WeighingPass, npt.NDArray[np.int64]]] = field(default_factory=list)


def _sums(
    reports: CountedRecords,
    plan: Plan,
    given: Sequence[tuple[Axis, Tensor]],
    parts: Sequence[Axis],
    counted: list[tuple[WeighingPass, npt.NDArray[np.int64]]],
) -> tuple[Tensor, Tensor]:
    """Return the sums of the records' weights, and of their squares, over the requested reports."""

    def sizes(names: Sequence[str]) -> tuple[int, ...]:
        return tuple(plan.reported_sizes[name] for name in names)

    names = tuple(named(parts))
    factors = tuple((own, sizes(own), row) for axis, row in given for own in [tuple(named([axis]))])
    weighing = WeighingPass(names, sizes(names), factors, reports.records)
    if reports.cells > min(CUBE_CELLS, reports.records):
        for wider, found in counted:
            if {*names} <= {*wider.columns} and weighing.given == wider.given:
                return weighing.sums(wider.margin(found, names))
        # A tree requests a table for each attribute of a node: a pass counts several of them.
        columns, area = names, math.prod(weighing.shape)
        seen = {*weighing.names, *(name for wider, _ in counted for name in wider.columns)}
        for name, size in plan.reported_sizes.items():
            if name not in seen and area * size <= SUBTABLE_CELLS:
                columns, area = (*columns, name), area * size
        wider = WeighingPass(columns, sizes(columns), factors, reports.records)
        counted.append((wider, reports.counted(wider)))
        return weighing.sums(wider.margin(counted[-1][1], names))
    table = reports.table(weighing.names)
    cells = np.nonzero(table)
    codes = dict(zip(weighing.names, cells, strict=True))
    return weighing.sums(weighing.counted(codes, table[cells]))


@dataclass(frozen=True, eq=False)
class WeighingPass:
    """A pass that adds weights of records, and their squares, over the cells of some columns.

    Weights are products of `factors`. Each weight is rounded to an integer multiple of a unit, the
    grain, and its remainder to an integer multiple of a finer grain. Therefore all sums are exact.
    """

    columns: tuple[str, ...]
    shape: tuple[int, ...]
    factors: Factors
    records: int

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that the pass reads."""
        return (*self.columns, *self.given)

    @property
    def given(self) -> tuple[str, ...]:
        """The columns that give a record its weight."""
        return tuple(name for own, _, _ in self.factors for name in own)

    def margin(self, found: npt.NDArray[np.int64], columns: Sequence[str]) -> npt.NDArray[np.int64]:
        """Return the result of a pass over some of the columns, derived from this pass's result."""
        axes = [0, 1, *(2 + self.columns.index(name) for name in columns)]
        every = found.reshape(2, 2, *self.shape)
        counts: npt.NDArray[np.int64] = np.einsum(every, [*range(every.ndim)], axes)
        return counts.reshape(2, 2, -1)

    def __call__(self, reports: ReportedCounts, tick: Tick, /) -> npt.NDArray[np.int64]:
        """Return exact sums by cell, of shape (2, 2, cells).

        The first axis is for the weights and their squares, the second for coarse and fine parts.
        """
        found = np.zeros((2, 2, math.prod(self.shape)), dtype=np.int64)
        for start in range(0, reports.records, _AT_ONCE):
            tick()
            part = slice(start, start + _AT_ONCE)
            found += self.counted({n: np.asarray(reports.column(n)[part]) for n in self.names})
        return found

    def counted(
        self, codes: Mapping[str, npt.NDArray[np.integer]], times: npt.NDArray[np.int64] | int = 1
    ) -> npt.NDArray[np.int64]:
        """Return the pass's result for records given by their codes, each counted `times`."""
        weights = np.ones(len(codes[self.columns[0]]))
        for names, sizes, factor in self.factors:
            weights *= factor[_cell(codes, names, sizes)]
        place = _cell(codes, self.columns, self.shape)
        found = np.zeros((2, 2, math.prod(self.shape)), dtype=np.int64)
        for row, (left, grains) in enumerate(
            zip((weights, np.square(weights)), self._grains, strict=True)
        ):
            for column, grain in enumerate(grains):
                whole = np.rint(np.ldexp(left, grain))
                left = left - np.ldexp(whole, -grain)
                found[row, column] = np.bincount(place, whole * times, found.shape[2])
        return found

    def sums(self, found: npt.NDArray[np.int64]) -> tuple[Tensor, Tensor]:
        """Return the sums of weights and of their squares from the pass's counts."""
        linear, squared = (
            np.ldexp(whole[0].astype(np.float64), -first)
            + np.ldexp(whole[1].astype(np.float64), -second)
            for whole, (first, second) in zip(found, self._grains, strict=True)
        )
        return linear, squared

    @property
    def _grains(self) -> list[tuple[int, int]]:
        """The exponents g of the grains 2^-g, as (grain, finer grain).

        The first pair is for weights, the second for their squares.
        """
        largest = math.prod(float(np.abs(factor).max()) for _, _, factor in self.factors)
        bits = int(self.records).bit_length()
        firsts = [
            _EXACT_BITS - bits - int(np.ceil(np.log2(max(most, 1.0))))
            for most in (largest, largest**2)
        ]
        return [(first, first + 1 + _EXACT_BITS - bits) for first in firsts]


def _cell(
    codes: Mapping[str, npt.NDArray[np.integer]], names: Sequence[str], sizes: tuple[int, ...]
) -> npt.NDArray[np.intp]:
    """Return the index of each record's cell over some columns, in C order."""
    return np.ravel_multi_index(tuple(codes[name] for name in names), sizes)


_AT_ONCE = 1 << 16
"""The records weighted at once, so that their weights stay in the processor's cache."""

_EXACT_BITS = 52
"""The power of two below which sums of integers are exact."""


@dataclass(frozen=True, eq=False)
class TableSlices:
    """Tables within subpopulations as slices of marginal tables, with any estimator."""

    marginals: Marginals

    def __call__(self, given: Mapping[str, int], domain: Domain) -> Subtable:
        """Return the table of a subpopulation; see `Subpopulation.tabulate`."""
        whole, codes = self.marginals.marginal([*given, *domain.names]), tuple(given.values())

        def error() -> Tensor:
            if domain.size * whole.counts.size > MARGINAL_CELLS:
                raise too_large(domain, given)
            weights = np.zeros((domain.size, *whole.counts.shape))
            for place, cell in enumerate(np.ndindex(*domain.shape)):
                weights[(place, *codes, *cell)] = 1.0
            return whole.covariance_of(weights, population=False)

        return Subtable(domain, whole.counts[codes], whole.records, error)
