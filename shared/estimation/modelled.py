"""Tables of a log-linear model of one source's reports, with the errors of its parameters."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from shared.domain import Domain, Variable
from shared.errors import LimitExceeded, OptionError
from shared.estimation.core.axes import Axis, axes_of, observed
from shared.estimation.core.information import INFORMATION_CELLS
from shared.estimation.core.loglinear import LogLinearFit, affordable, fit
from shared.estimation.core.strata import Stratum
from shared.estimation.tables import EstimatedTable
from shared.marginals.counts import Reports, Tensor
from shared.plan import Plan


class ModelledTables:
    """Tables without interactions of more than `order` variables, shrunk as the reports demand.

    All variables are fitted at once where that is possible, so that all answers agree.
    """

    def __init__(self, reported: Reports, plan: Plan, order: int):
        if order < 1:
            raise OptionError(f"order must be at least 1, not {order}.", where="order")
        self._reported = reported
        self._plan = plan
        self._order = order
        self._whole: tuple[list[Axis], LogLinearFit] | None = None

    def table(self, domain: Domain) -> EstimatedTable:
        """Return the table over some variables. Raises LimitExceeded; and see `fit`."""
        if domain.size > INFORMATION_CELLS:
            raise LimitExceeded(
                f"The errors of {domain.size} cells of a log-linear model are too many to list.",
                remedy="Ask for fewer variables at once.",
            )
        whole = self._plan.domain.shape
        reports = math.prod(self._plan.reported_sizes.values())
        if affordable(whole, min(self._order, len(whole)), reports):
            if self._whole is None:
                self._whole = self._fitted(self._plan.domain)
            axes, model = self._whole
        else:
            axes, model = self._fitted(domain)
        variables = [v for axis in axes for v in axis.variables]
        return _of_model(model, variables, domain, self._reported.records)

    def _fitted(self, domain: Domain) -> tuple[list[Axis], LogLinearFit]:
        axes = axes_of(self._plan, domain.names)
        shape = [v.size for axis in axes for v in axis.variables]
        stratum = Stratum(observed(self._reported, axes), tuple(axis.channel for axis in axes))
        model = fit(
            [stratum], shape, order=min(self._order, len(shape)), possible=_possible(axes, shape)
        )
        return axes, model


def _possible(axes: Sequence[Axis], shape: Sequence[int]) -> Tensor | None:
    """Return which true cells can occur; None where nothing is said to be impossible."""
    shapes = [axis.channel.shape[0] for axis in axes]
    cells = np.ones(shapes)
    for place, axis in enumerate(axes):
        spread = [size if i == place else 1 for i, size in enumerate(shapes)]
        cells = cells * axis.channel.can_occur().reshape(spread)
    return None if cells.all() else cells.reshape(shape)


def _of_model(
    model: LogLinearFit, variables: Sequence[Variable], domain: Domain, records: int
) -> EstimatedTable:
    """Return a margin of a fitted model, with the errors of its parameters carried over."""
    names = [v.name for v in variables]
    gone = tuple(i for i, name in enumerate(names) if name not in domain.names)
    left = [name for name in names if name in domain.names]
    order = [left.index(name) for name in domain.names]
    counts = np.transpose(model.probabilities.sum(axis=gone), order) * records
    slopes = model.sensitivity().reshape(*model.probabilities.shape, -1).sum(axis=gone)
    slopes = np.transpose(slopes, [*order, len(order)]).reshape(domain.size, -1)
    covariance = records**2 * slopes @ model.covariance @ slopes.T
    flat = counts.ravel()
    # `EstimatedTable` takes the multinomial term off second moments.
    second = covariance + np.outer(flat, flat) / records
    return EstimatedTable(domain, counts, records, counts, (), second, modelled=True)
