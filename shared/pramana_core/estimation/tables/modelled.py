"""Tables of a log-linear model of one source's reports, with their errors and its lack of fit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from pramana_core.domain import Domain, Variable
from pramana_core.errors import LimitExceeded, OptionError
from pramana_core.estimation.core.axes import Axis, axes_of, observed
from pramana_core.estimation.core.information import INFORMATION_CELLS
from pramana_core.estimation.core.lack_of_fit import score_test, why_untested
from pramana_core.estimation.core.loglinear import LogLinearFit, affordable, fit
from pramana_core.estimation.core.models import QUICK_COST, default_order, fitting_order
from pramana_core.estimation.core.profile import Profile
from pramana_core.estimation.core.strata import Stratum
from pramana_core.estimation.tables.estimates import EstimatedTable
from pramana_core.marginals.counts import LEVEL, ReportTables, Tensor
from pramana_core.marginals.lack_of_fit import LackOfFit
from pramana_core.marginals.quantile import normal_quantile
from pramana_core.marginals.score_interval import MORE, Tilt
from pramana_core.plan import Plan
from pramana_core.progress import Tick, unstopped

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
        told = np.broadcast_to(margin > 0, share.shape)
        return (
            np.where(told, np.minimum(low, share), low),
            np.where(told, np.maximum(high, share), high),
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
        tick: Tick = unstopped,
    ):
        if order is not None and order < 1:
            raise OptionError(f"order must be at least 1, not {order}.", where="order")
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
