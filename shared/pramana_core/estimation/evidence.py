"""The reports' evidence of dependence and of network structure.

Two hypotheses on the true table are compared by their likelihood, each maximized by EM: X and Z are
independent given other variables, or the table is unrestricted (Ma 5.5.2). Networks are compared by
the likelihood of whole records if the table of all variables is small.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pramana_core.channels import Identity
from pramana_core.errors import OptionError
from pramana_core.estimation.axes import Stratum, strata_of, table_of
from pramana_core.estimation.likelihood import (
    STEPS,
    FactoredModel,
    Maximum,
    climb,
    likelihood,
    maximize,
    not_converged,
    saturated,
    start,
)
from pramana_core.marginals.counts import Explanation, Independence, ReportTables, Tensor
from pramana_core.plan import Plan
from pramana_core.progress import Tick, no_cancel

TOLERANCE = 1e-5
"""The largest shortfall of a log-likelihood from its maximum, in nats."""

_ROUGHLY, _ROUGH_SHARE = 1e-2, 1e-3
_FEW_STEPS, _SMALL = 30, 64
_INSIDE = 0.02
_LEAST = 5.0
"""The expected records of a cell below which its error does not determine a score's error."""


@dataclass(frozen=True)
class ReportedTable:
    """The reports on some variables. An exception raised by `tick` stops a maximization."""

    strata: tuple[Stratum, ...]
    tick: Tick = no_cancel

    @property
    def shape(self) -> tuple[int, ...]:
        """The true table's shape."""
        return self.strata[0].shape

    @property
    def records(self) -> float:
        """The number of records."""
        return sum(stratum.records for stratum in self.strata)

    @cached_property
    def saturated(self) -> float:
        """An upper bound on the log-likelihood under any true table."""
        return saturated(self.strata)

    @cached_property
    def plain(self) -> bool:
        """Whether the reports are the true records."""
        return len(self.strata) == 1 and all(
            isinstance(channel, Identity) for channel in self.strata[0].channels
        )

    @cached_property
    def begin(self) -> tuple[Tensor, bool]:
        """A positive true table to start from, and whether it already is the most likely table."""
        return start(self.strata)

    @cached_property
    def most_likely(self) -> tuple[Tensor, float]:
        """The most likely true table and its log-likelihood."""
        table, exact = self.begin
        if exact:
            return table, self.saturated
        found = maximize(
            self.strata, begin=table, tolerance=TOLERANCE, certified=False, tick=self.tick
        )
        return found.table, float(found.log_likelihood[0])


@dataclass(frozen=True)
class ConditionalIndependence(Independence):
    """The likelihood ratio of dependence against independence of X and Z given other variables.

    `left`, `right` and `given` are the axes of X, Z and the given variables; others are summed out.
    """

    table: ReportedTable
    left: tuple[int, ...]
    right: tuple[int, ...]
    given: tuple[int, ...]

    @property
    def _shape(self) -> tuple[int, ...]:
        return self.table.shape

    @property
    def degrees_of_freedom(self) -> int:
        """The number of additional free parameters of dependence: (I - 1)(K - 1) J."""
        left, right, given = (
            math.prod(self._shape[axis] for axis in axes)
            for axes in (self.left, self.right, self.given)
        )
        return (left - 1) * (right - 1) * given

    @cached_property
    def upper(self) -> float:
        """An upper bound on the ratio from one evaluation of the likelihood."""
        return self.table.saturated - self._begun

    @property
    def null_log_likelihood(self) -> float:
        if self.table.plain:
            return self._begun
        return max(float(self._independent.log_likelihood[0]), self._begun)

    @property
    def null_bounds(self) -> tuple[float, float]:
        """Bounds of `null_log_likelihood` after a few steps, from the gain of the last steps."""
        if self.table.plain or math.prod(self._shape) <= _SMALL:
            return (self.null_log_likelihood,) * 2
        near = climb(
            self.table.strata,
            self._model,
            self._inside,
            tolerance=TOLERANCE,
            steps=_FEW_STEPS,
            tick=self.table.tick,
        )
        value = max(float(near.log_likelihood[0]), self._begun)
        return value, value + 2 * near.late + TOLERANCE

    @property
    def alternative_log_likelihood(self) -> float:
        return self.table.most_likely[1]

    @property
    def saturated(self) -> float:
        return self.table.saturated

    @property
    def ratio(self) -> float:
        return max(0.0, self.alternative_log_likelihood - self.null_log_likelihood)

    @cached_property
    def fitted(self) -> Tensor:
        """The most likely distribution under independence, in the true table's shape."""
        return self._independent.table

    @cached_property
    def inflation(self) -> float:
        """The factor by which randomization multiplies the gain due to chance, before penalties.

        It is trace(W Cov) over the degrees of freedom, with W the gain's second derivative under
        independence (design section 5), and infinite if a channel has no inverse.
        """
        if not all(stratum.solvable for stratum in self.table.strata):
            return math.inf
        left, right, given = set(self.left), set(self.right), set(self.given)
        parts = ((left | right | given, 1), (left | given, -1), (right | given, -1), (given, 1))
        true = self._under(np.maximum(self.fitted, _LEAST / self.table.records))
        trace = sum(sign * self._relative_variance(axes, true) for axes, sign in parts)
        return max(1.0, trace / self.degrees_of_freedom)

    def resampled(self, draws: int, rng: np.random.Generator) -> Tensor:
        """Return the ratio in each of `draws` bootstrap samples of the reports, shape (draws,).

        Ratios are within `_ROUGHLY` nats of their maxima, or `ratio` / 1000. Raises NotConverged.
        """
        strata = [stratum for stratum in self.table.strata if stratum.records > 0]
        reports = [
            rng.multinomial(int(s.records), s.column[:, 0] / s.records, size=draws).T.astype(
                np.float64
            )
            for s in strata
        ]
        roughly = max(_ROUGHLY, _ROUGH_SHARE * self.ratio)
        free, under = inside(self.table.most_likely[0]), self._under(inside(self.fitted))
        high, low = (
            climb(
                strata,
                model,
                begin,
                reports=reports,
                tolerance=roughly,
                steps=STEPS,
                quiet=roughly,
                tick=self.table.tick,
            )
            for model, begin in ((FactoredModel(self._shape), free), (self._model, under))
        )
        for found in (high, low):
            if found.gap > roughly and found.steps >= STEPS:
                raise not_converged(found, roughly)
        ratios: Tensor = np.maximum(high.log_likelihood - low.log_likelihood, 0.0)
        return ratios

    @cached_property
    def _model(self) -> FactoredModel:
        alone = (self.left, self.given), (self.right, self.given)
        return FactoredModel(self._shape, (((self.given, ()), *alone) if self.given else alone))

    def _under(self, table: Tensor) -> Tensor:
        """Return the distribution nearest to a table that satisfies the hypothesis."""
        return self._model.fit(table[..., None])[..., 0]

    @cached_property
    def _begin(self) -> Tensor:
        # Independence computed from positive estimates is positive.
        return self._under(self.table.begin[0])

    @cached_property
    def _begun(self) -> float:
        value, _ = likelihood(self.table.strata, self._begin[..., None])
        return float(value[0])

    @cached_property
    def _inside(self) -> Tensor:
        # Estimates of exactly zero do not maximize the likelihood, and EM cannot leave them.
        return self._begin if self._begin.min() > 0 else self._under(inside(self._begin))

    @cached_property
    def _independent(self) -> Maximum:
        return maximize(
            self.table.strata,
            self._model,
            begin=self._inside,
            tolerance=TOLERANCE,
            tick=self.table.tick,
        )

    def _relative_variance(self, axes: set[int], true: Tensor) -> float:
        """Return the sum over a margin's cells of the variance divided by the expected count."""
        gone = tuple(axis for axis in range(len(self._shape)) if axis not in axes)
        cells = true.sum(axis=gone)
        variance: Tensor = sum(
            (s.records * s.estimator_variance(true, gone) for s in self.table.strata),
            np.zeros(cells.shape),
        )
        return float((variance / (cells * self.table.records)).sum())


def inside(table: Tensor) -> Tensor:
    """Return a distribution with only positive cells, because EM cannot change cells of zero."""
    moved: Tensor = (1 - _INSIDE) * table + _INSIDE / table.size
    return moved


TEST_CELLS = 1 << 22
"""The maximum number of true cells of a test of independence."""

WHOLE_CELLS = 1 << 12
"""The maximum number of true cells for which networks are compared by whole records."""

KEPT_CELLS, KEPT_TABLES = 1 << 13, 256
"""Maximum number of cells of a cached table, and of cached tables, for further tests on them."""


class Evidence:
    """Tests of independence and of networks on the reports of some sources."""

    def __init__(self, sources: Sequence[tuple[ReportTables, Plan]], tick: Tick = no_cancel):
        self._sources, self._tick = sources, tick
        self._kept: OrderedDict[tuple[str, ...], ReportedTable] = OrderedDict()

    def independence(
        self, left: Sequence[str], right: Sequence[str], given: Sequence[str]
    ) -> ConditionalIndependence:
        """Return the evidence on the independence of `left` and `right` given `given`.

        Raises UnknownVariable: no source has a variable. OptionError: a variable is named twice, or
        `left` or `right` is empty. LimitExceeded: the table has more than `TEST_CELLS` cells.
        """
        names = sorted([*left, *right, *given])
        if not left or not right or len(set(names)) < len(names):
            raise OptionError(
                f"A test of independence needs distinct variables, not {list(left)} and"
                f" {list(right)} given {list(given)}."
            )
        table = self._table(tuple(names))
        axes = [tuple(names.index(name) for name in part) for part in (left, right, given)]
        return ConditionalIndependence(table, *axes)

    def explanation(self, parents: Mapping[str, Collection[str]]) -> Explanation | None:
        """Return a network's fit to whole records; None if they have over `WHOLE_CELLS` cells."""
        nodes = tuple(sorted(parents))
        if not nodes or table_of(self._sources, nodes).size > WHOLE_CELLS:
            return None
        table = self._table(nodes)
        axes = {node: place for place, node in enumerate(nodes)}
        factors = [((axes[n],), tuple(sorted(axes[p] for p in parents[n]))) for n in nodes]
        model = FactoredModel(table.shape, tuple(factors))
        begin = table.begin[0] if table.begin[0].min() > 0 else inside(table.begin[0])
        begin = model.fit(begin[..., None])[..., 0]
        found = maximize(table.strata, model, begin=begin, tolerance=TOLERANCE, tick=self._tick)
        sizes = [
            (table.shape[node] - 1) * math.prod(table.shape[axis] for axis in given)
            for (node,), given in factors
        ]
        return Explanation(sum(sizes), float(found.log_likelihood[0]))

    def _table(self, names: tuple[str, ...]) -> ReportedTable:
        table = self._kept.pop(names, None)
        if table is None:
            table = ReportedTable(strata_of(self._sources, names, TEST_CELLS), self._tick)
        if math.prod(table.shape) <= KEPT_CELLS:
            self._kept[names] = table
            if len(self._kept) > KEPT_TABLES:
                self._kept.popitem(last=False)
        return table
