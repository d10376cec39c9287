"""Tables of a log-linear model of one source's reports, with their errors and its lack of fit.

Also here:

* Tables pooled over overlapping sets, with the errors of what was pooled and what shrinkage
  moved.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from pramana_core.domain import Domain, Variable
from pramana_core.errors import LimitExceeded
from pramana_core.estimation.axes import Axis, Moments, Stratum, axes_of, observed
from pramana_core.estimation.curvature import INFORMATION_CELLS
from pramana_core.estimation.loglinear import (
    QUICK_COST,
    LogLinearFit,
    affordable,
    default_order,
    fit,
    fitting_order,
)
from pramana_core.estimation.profile import Profile, score_test, why_untested
from pramana_core.estimation.table_estimates import EstimatedTable, Estimates
from pramana_core.marginals.counts import LEVEL, ReportTables, Tensor
from pramana_core.marginals.score_interval import (
    MORE,
    LackOfFit,
    Tilt,
    normal_quantile,
    possible,
    ratio_interval,
    score_interval,
)
from pramana_core.plan import Plan
from pramana_core.progress import Tick, no_cancel

if TYPE_CHECKING:
    import pandas as pd


_AT_ONCE = 1 << 22
"""Intervals are worked out of so many cells at once that these times the model's are no more."""


@dataclass(frozen=True)
class FittedModel:
    """A log-linear model of some variables, and what its reports say of it."""

    variables: tuple[Variable, ...]
    order: int
    fit: LogLinearFit
    records: int

    @property
    def names(self) -> tuple[str, ...]:
        """The variables' names."""
        return tuple(v.name for v in self.variables)

    @cached_property
    def profile(self) -> Profile:
        """What the reports tell of shares of its cells, whatever shrinkage did."""
        return Profile(self.fit.weak, self.fit.values)

    @cached_property
    def lack_of_fit(self) -> LackOfFit:
        """Whether the reports show interactions above its order."""
        shape = self.fit.design.shape
        reports = sum(stratum.column.size for stratum in self.fit.weak.strata)
        reason = why_untested(shape, self.order, reports)
        if reason:
            return LackOfFit.untested(self.names, self.order, reason)
        found = score_test(self.fit.weak, self.profile.best, shape, self.order)
        if found is None:
            return LackOfFit.untested(
                self.names,
                self.order,
                f"The reports tell nothing of interactions of {self.order + 1} variables: no block"
                " reports so many together.",
            )
        return LackOfFit(
            self.names,
            self.order,
            found.statistic,
            found.degrees_of_freedom,
            found.p_value,
        )


@dataclass(frozen=True, kw_only=True)
class ModelledTable(EstimatedTable):
    """A margin of a log-linear model; see `MarginalTable` for its promise.

    It knows the error against the population only; that given the records is smaller, and the same
    is returned for it. Standard errors and covariances have the square of how far shrinkage moved
    the counts added; intervals come from the likelihood (see `Profile`). All hold if variables
    interact as the model has it, which `lack_of_fit` tests.

    Of supports (see `SupportCounts`) the noise is taken to be the same whatever they are: the
    estimates are no means of a function of single reports.
    """

    model: FittedModel
    told: bool = True

    @property
    def filled_in(self) -> bool:
        """Whether no record reports all the variables, or more than the model lets interact."""
        return not self.told

    @property
    def lack_of_fit(self) -> LackOfFit:
        """Whether the reports show interactions that the model leaves out."""
        return self.model.lack_of_fit

    def interval(
        self,
        level: float = LEVEL,
        *,
        population: bool,  # noqa: ARG002
    ) -> tuple[Tensor, Tensor]:
        """Return the profile-likelihood interval of each count, in the counts' shape.

        It is that against the population, of the number among as many records, for either error.

        Raises:
            OptionError: a level that is not between 0 and 1.
        """
        low, high = self._limits(self.domain.names, level)
        return (
            np.minimum(low * self.records, self.counts),
            np.maximum(high * self.records, self.counts),
        )

    def ratio_interval(self, summed: Sequence[str], level: float = LEVEL) -> tuple[Tensor, Tensor]:
        """Return the profile-likelihood intervals of cells' shares of their margins."""
        low, high = self._limits(summed, level)
        gone = tuple(self.domain.axis(name) for name in summed)
        margin = self.counts.sum(axis=gone, keepdims=True)
        share = np.divide(self.counts, margin, out=np.zeros(self.counts.shape), where=margin > 0)
        defined = np.broadcast_to(margin > 0, share.shape)
        return (
            np.where(defined, np.minimum(low, share), low),
            np.where(defined, np.maximum(high, share), high),
        )

    def tilt(self, more: float = MORE) -> Tilt:  # noqa: ARG002
        """Return that of noise that is the same whatever the share is."""
        return Tilt.flat(self.counts.shape)

    def frame(self, level: float = LEVEL) -> pd.DataFrame:
        """Return the table as a data frame; its `attrs` have the model's `lack_of_fit`."""
        made = super().frame(level)
        made.attrs["lack_of_fit"] = self.lack_of_fit.as_dict()
        return made

    def _of(self, population: bool) -> bool:  # noqa: ARG002
        return True

    def _limits(self, summed: Sequence[str], level: float) -> tuple[Tensor, Tensor]:
        z, shape = normal_quantile(level), self.domain.shape
        places = np.indices(self.model.fit.design.shape)
        axes = [places[self.model.names.index(name)].ravel() for name in self.domain.names]
        cell = np.ravel_multi_index(axes, shape)
        codes = np.indices(shape).reshape(len(shape), -1)
        codes[[self.domain.axis(name) for name in summed]] = 0
        margin = np.asarray(np.ravel_multi_index(tuple(codes), shape))
        low, high = np.empty(self.domain.size), np.empty(self.domain.size)
        rows = max(1, _AT_ONCE // len(cell))
        for first in range(0, self.domain.size, rows):
            here = np.arange(first, min(first + rows, self.domain.size))
            parts = 1.0 * (cell == here[:, None])
            wholes = 1.0 * (margin[cell] == margin[here][:, None])
            ends = self.model.profile.limits(parts, wholes, z, self.domain.size)
            low[here], high[here] = ends
        return low.reshape(shape), high.reshape(shape)


class ModelledTables:
    """Tables without interactions of more than `order` variables, shrunk as the reports demand.

    All variables are fitted at once where that is possible, so that all answers agree. Without an
    `order` that is the model with interactions of as many as records report together, as far as it
    is quick: a table of more variables is then fitted by itself, with all of its interactions up to
    so many. A model of all variables with these too would tell the table no better.
    """

    def __init__(
        self,
        reported: ReportTables,
        plan: Plan,
        order: int | None = None,
        tick: Tick = no_cancel,
    ):
        self._reported = reported
        self._plan = plan
        self._given = order
        self._tick = tick
        self._fits: dict[tuple[frozenset[str], int], FittedModel] = {}

    def table(self, domain: Domain) -> ModelledTable:
        """Return the table over some variables. Raises LimitExceeded; and see `fit`."""
        if domain.size > INFORMATION_CELLS:
            raise LimitExceeded(
                f"The errors of {domain.size} cells of a log-linear model are too many to list.",
                remedy="Ask for fewer variables at once.",
            )
        model = self._model_of(domain)
        together = self._plan.reports_together(domain.names)
        told = together and len(domain) <= max(model.order, 1)
        return _margin(model, domain, told=told)

    def _model_of(self, domain: Domain) -> FittedModel:
        """Return the model of all variables, or where that is too large that of a table's own."""
        whole = self._plan.domain
        reports = math.prod(self._plan.reported_sizes.values())
        order = self._given
        if order is None:
            most = min(default_order([self._plan]), len(whole))
            order = fitting_order(most, whole.shape, reports, QUICK_COST)
            if order < min(len(domain), most):
                return self._fitted(domain, min(len(domain), most))
        at_once = affordable(whole.shape, min(order, len(whole)), reports)
        return self._fitted(whole if at_once else domain, order)

    def _fitted(self, domain: Domain, most: int) -> FittedModel:
        """Return the model of some variables of which up to `most` interact, or can by default."""
        key = frozenset(domain.names), most
        if key not in self._fits:
            axes = axes_of(self._plan, domain.names)
            variables = tuple(v for axis in axes for v in axis.variables)
            shape = [v.size for v in variables]
            stratum = Stratum(observed(self._reported, axes), tuple(a.channel for a in axes))
            order = min(most, len(shape))
            if self._given is None:
                order = fitting_order(order, shape, stratum.reported.size)
            possible = _possible(axes, shape)
            model = fit([stratum], shape, order=order, possible=possible, tick=self._tick)
            self._fits[key] = FittedModel(variables, order, model, self._reported.records)
        return self._fits[key]


def _possible(axes: Sequence[Axis], shape: Sequence[int]) -> Tensor | None:
    """Return which true cells can occur; None where nothing is said to be impossible."""
    shapes = [axis.channel.shape[0] for axis in axes]
    cells = np.ones(shapes)
    for place, axis in enumerate(axes):
        spread = [size if i == place else 1 for i, size in enumerate(shapes)]
        cells = cells * axis.channel.can_occur().reshape(spread)
    return None if cells.all() else cells.reshape(shape)


def _margin(model: FittedModel, domain: Domain, *, told: bool) -> ModelledTable:
    """Return a margin of a fitted model, with the errors of its parameters carried over."""
    found, records = model.fit, model.records
    gone = tuple(i for i, name in enumerate(model.names) if name not in domain.names)
    left = [name for name in model.names if name in domain.names]
    order = [left.index(name) for name in domain.names]
    counts = np.transpose(found.probabilities.sum(axis=gone), order) * records
    slopes = found.sensitivity().reshape(*found.probabilities.shape, -1).sum(axis=gone)
    slopes = np.transpose(slopes, [*order, len(order)]).reshape(domain.size, -1)
    covariance = records**2 * slopes @ found.covariance @ slopes.T
    flat = counts.ravel()
    # `EstimatedTable` takes the multinomial term off second moments.
    second = covariance + np.outer(flat, flat) / records
    return ModelledTable(domain, counts, records, counts, (), second, model=model, told=told)


# Tables pooled over overlapping sets, with the errors of what was pooled and what shrinkage moved.
#
# The error of the estimates before shrinkage is their variances, and a matrix R with R R' their
# covariance: a table of many variables has few columns in it, for it follows from those of few. For
# a pair of many categories R takes far longer than the variances, and is made when it is asked for.


@dataclass(frozen=True, eq=False)
class Spread:
    """The population covariance of some counts: its diagonal, and a root of it.

    Attributes:
        variance: in the counts' shape.
        make: makes the root, (cells..., r): its product with itself is the covariance.
        held: how many numbers all this keeps in memory.
    """

    variance: Tensor
    make: Callable[[], Tensor]
    held: int

    @classmethod
    def of(cls, root: Tensor) -> Spread:
        """Return that of a root."""
        return cls(np.square(root).sum(axis=-1), lambda: root, root.size)

    @property
    def root(self) -> Tensor:
        """The root, (cells..., r)."""
        return self.make()

    def turned(self, order: Sequence[int]) -> Spread:
        """Return it with the axes in another order."""
        make = self.make
        return Spread(
            self.variance.transpose(order),
            lambda: make().transpose([*order, len(order)]),
            self.held,
        )


@dataclass(frozen=True, kw_only=True)
class PooledTable(Estimates):
    """A table of pooled and shrunk counts; see `MarginalTable` for its promise.

    `spread` is the population covariance of the counts before shrinkage; `moved` is how far
    shrinkage took the counts from those, in their shape. Standard errors and intervals are those
    of the counts before shrinkage, and agree with each other; intervals are widened where they do
    not hold the shrunk counts. Shrinkage makes estimates better on average over tables, and
    intervals must hold for each. The covariance of functions of the shrunk counts
    (`covariance_of`) is a bound: it has the product of what they were moved by added.

    `told`: some records report all the variables. Otherwise the table is that of largest entropy
    for what is told, its errors suppose that no more variables interact, and the error against
    the population is returned for either.

    `law` are the counts at which sampling is taken; by default `counts`.
    """

    spread: Spread
    moved: Tensor
    told: bool = True
    law: Tensor | None = None

    @property
    def filled_in(self) -> bool:
        """Whether it is made of smaller tables: no record tells of all its variables at once."""
        return not self.told

    @property
    def unshrunk(self) -> PooledTable:
        """The table before shrinkage: unbiased where `told`; its counts may be negative."""
        return replace(
            self,
            counts=self.counts - self.moved,
            moved=np.zeros_like(self.moved),
            law=self.supposed,
        )

    @property
    def supposed(self) -> Tensor:
        """The counts at which sampling is taken."""
        return self.counts if self.law is None else self.law

    def products(self, weights: Tensor) -> Tensor:
        """Return the sums over the reports of products; see `Estimates.products`."""
        half = weights.reshape(len(weights), -1) @ self._factor(self.moved)
        found: Tensor = half @ half.T
        return found

    def products_with_cells(self, weights: Tensor) -> Tensor:
        """Return these sums for each function and each cell; see `Estimates`."""
        factor = self._factor(self.moved)
        half = weights.reshape(len(weights), -1) @ factor
        found: Tensor = half @ factor.T
        return found.reshape(weights.shape)

    def resampled(self, draws: int, rng: np.random.Generator) -> Tensor:
        """Return the counts with normal deviates of their covariance; see `MarginalTable`."""
        root = np.concatenate([self.spread.root, self.moved[..., None]], axis=-1)
        noise = rng.standard_normal((draws, root.shape[-1])) @ root.reshape(-1, root.shape[-1]).T
        drawn: Tensor = self.counts + noise.reshape(draws, *self.counts.shape)
        return drawn

    def second_moments(self, summed: Sequence[str]) -> Moments:
        """Return the sums of W^2, W V and V^2 before shrinkage (see `MarginalTable`)."""
        if not summed:
            own = self.spread.variance + np.square(self.supposed) / self.records
            return own, own, own
        gone = tuple(self.domain.axis(name) for name in summed)
        factor = self._factor().reshape(*self.counts.shape, -1)
        margin = factor.sum(axis=gone, keepdims=True)
        return (
            np.square(factor).sum(axis=-1),
            (factor * margin).sum(axis=-1),
            np.square(margin).sum(axis=-1),
        )

    def interval(self, level: float = LEVEL, *, population: bool) -> tuple[Tensor, Tensor]:
        """Return the intervals of the counts (see `MarginalTable`), holding the shrunk ones."""
        whole = self._of(population)
        share = self.unshrunk.counts / self.records
        # The variance given the records, at the supposed counts; sampling is that of each share.
        square = self.variance(population=False) / self.records + share
        if whole and not self.told:
            square -= self.supposed / self.records * (1 - self.supposed / self.records)
        slope, z = self.tilt().slope, normal_quantile(level)
        ends = score_interval(share, square, slope, self.records, z, population=whole)
        low, high = possible(*ends, share)
        held = np.clip(self.counts, 0.0, self.records)
        return np.minimum(self.records * low, held), np.maximum(self.records * high, held)

    def ratio_interval(self, summed: Sequence[str], level: float = LEVEL) -> tuple[Tensor, Tensor]:
        """Return intervals of cells' shares of their margins, holding the shrunk ones."""
        gone = tuple(self.domain.axis(name) for name in summed)
        cells = [self.unshrunk.counts, self.counts, self.supposed]
        raw, shrunk, supposed = (cell.sum(axis=gone, keepdims=True) for cell in cells)
        ww, wv, vv = self.second_moments(summed)
        more = cells[0] - cells[2]
        moments = (ww + more, wv + more, vv + raw - supposed)
        ends = ratio_interval(cells[0], raw, moments, normal_quantile(level))
        share = np.divide(self.counts, shrunk, out=np.zeros(self.counts.shape), where=shrunk > 0)
        return np.minimum(ends[0], share), np.maximum(ends[1], share)

    def tilt(self, more: float = MORE) -> Tilt:  # noqa: ARG002
        """Return that of noise that is the same whatever the share is."""
        return Tilt.flat(self.counts.shape)

    def _of(self, population: bool) -> bool:
        return population or not self.told

    def _factor(self, *more: Tensor) -> Tensor:
        """Return F, cells x r, with F F' the sums over the reports of products of estimators.

        `more` are columns of it besides.
        """
        flat = self.supposed.reshape(-1, 1)
        parts = (self.spread.root, *more)
        return np.hstack([*(p.reshape(len(flat), -1) for p in parts), flat / np.sqrt(self.records)])
