"""Marginals of the true records estimated from reported ones under a plan, with their errors.

Two errors are kept apart. Given the true records, only the randomization varies and

    Cov(N^ | D) = P'^-1 diag(P'N) P^-1 - diag(N)                    (Ma theorem 2, design 4);

against the population the records were drawn from, the multinomial part diag(N) - N N'/n is
added. Both are estimated by putting the observed reported counts for P'N and N^ for N.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from shared.counts import MARGINAL_CELLS, ReportedCounts, Tensor
from shared.domain import Domain, Variable
from shared.errors import EstimationError, LimitExceeded, OptionError
from shared.inversion import Stratum, maximum_likelihood, moment
from shared.loglinear import Fit, affordable, fit
from shared.plan import Plan
from shared.transition import (
    CONDITION_LIMIT,
    LISTED_ENTRIES,
    Identity,
    Mixture,
    Sampled,
    StructuralZeros,
    Symmetric,
    Transition,
    along_axis,
)

if TYPE_CHECKING:
    import pandas as pd

Estimator = Literal["moment", "ml", "log-linear"]

DECODER_CELLS = 4096
"""Up to this many cells of a joint block (other than symmetric) its inverse is listed."""

INFORMATION_CELLS = 4096
"""Up to this many cells the observed information of a channel without inverse is inverted."""


@dataclass(frozen=True)
class _Axis:
    """One block's part in a marginal: the channel to invert and the variables to keep.

    If the block's channel is not lumpable for the variables asked, `variables` are all of the
    block's and those not asked are summed out after inversion.
    """

    variables: tuple[Variable, ...]
    asked: tuple[str, ...]
    channel: Transition

    @property
    def kept(self) -> tuple[Variable, ...]:
        return tuple(v for v in self.variables if v.name in self.asked)

    @cached_property
    def decoder(self) -> Tensor:
        """The estimator of each kept cell (rows) as a function of the report (columns).

        Raises LimitExceeded, before anything is made, above `DECODER_CELLS`.
        """
        if self.channel.shape[0] > DECODER_CELLS:
            raise LimitExceeded(
                f"The joint block over {[v.name for v in self.variables]} has"
                f" {self.channel.shape[0]} cells; the errors of some of its variables are computed"
                f" up to {DECODER_CELLS}.",
                remedy="Randomize fewer variables together, or by a symmetric channel.",
            )
        return self._summed(self.channel.decoder(), [v.name for v in self.kept])

    def _summed(self, decoder: Tensor, left: Sequence[str]) -> Tensor:
        shape = tuple(v.size for v in self.variables)
        gone = tuple(i for i, v in enumerate(self.variables) if v.name not in left)
        summed: Tensor = decoder.reshape(*shape, -1).sum(axis=gone, keepdims=True)
        return summed.reshape(-1, decoder.shape[1])

    def estimate(self, tensor: Tensor, axis: int) -> Tensor:
        return self.sum_unasked(self.channel.solve(tensor, axis), axis)

    def sum_unasked(self, tensor: Tensor, axis: int) -> Tensor:
        if len(self.kept) == len(self.variables):
            return tensor
        shape = tensor.shape
        split = tensor.reshape(*shape[:axis], *(v.size for v in self.variables), *shape[axis + 1 :])
        gone = tuple(axis + i for i, v in enumerate(self.variables) if v.name not in self.asked)
        summed: Tensor = split.sum(axis=gone)
        return summed.reshape(*shape[:axis], -1, *shape[axis + 1 :])

    def square(self, tensor: Tensor, axis: int) -> Tensor:
        if len(self.kept) == len(self.variables):
            return self.channel.solve_squared(tensor, axis)
        return along_axis(np.square(self.decoder), tensor, axis)

    def moments(self, tensors: _Moments, axis: int, summed: frozenset[str]) -> _Moments:
        """Turn sums over this axis's reports into sums of W^2, W V and V^2 per kept cell."""
        names = [v.name for v in self.kept]
        if not summed.intersection(names):
            ww, wv, vv = (self.square(tensor, axis) for tensor in tensors)
            return ww, wv, vv
        ww, wv, vv = tensors
        if summed.issuperset(names) and self.channel.normalized:
            # The estimator of the whole axis is 1 for every report.
            return self.square(ww, axis), self.estimate(wv, axis), vv.sum(axis, keepdims=True)
        if isinstance(self.channel, Symmetric | Mixture | Identity):
            return self._mixture_moments(tensors, axis, summed)
        decoder = self.decoder
        rest = [name for name in names if name not in summed]
        margin = self._summed(self.channel.decoder(), rest)
        cells = np.arange(len(decoder)).reshape([v.size for v in self.kept])
        lead = tuple(slice(None) if n in rest else slice(0, 1) for n in names)
        of_cell = np.broadcast_to(
            np.arange(len(margin)).reshape(cells[lead].shape), cells.shape
        ).ravel()
        return (
            along_axis(np.square(decoder), ww, axis),
            along_axis(decoder * margin[of_cell], wv, axis),
            along_axis(np.square(margin), vv, axis),
        )

    def _mixture_moments(self, tensors: _Moments, axis: int, summed: frozenset[str]) -> _Moments:
        """Sum W = a [y = c] + b times V = a [y in m] + b s without listing them.

        c is the cell, m its margin of s cells, y the report: P^-1 is a I + b 11'.
        """
        a, b = (1.0, 0.0)
        if isinstance(self.channel, Symmetric | Mixture):
            a, b = self.channel.inverse_mixture
        sizes = [v.size for v in self.kept]
        gone = tuple(axis + i for i, v in enumerate(self.kept) if v.name in summed)
        s = math.prod(v.size for v in self.kept if v.name in summed)
        ww, wv, vv = tensors

        def margins(tensor: Tensor, *, spread: bool) -> Tensor:
            shape = tensor.shape
            split = tensor.reshape(*shape[:axis], *sizes, *shape[axis + 1 :])
            total: Tensor = split.sum(axis=gone, keepdims=True)
            if spread:
                total = np.broadcast_to(total, split.shape)
            return total.reshape(*shape[:axis], -1, *shape[axis + 1 :])

        everything = wv.sum(axis=axis, keepdims=True)
        cross = a * (a + b * s) * wv + a * b * margins(wv, spread=True) + b * b * s * everything
        both = a * (a + 2 * b * s) * margins(vv, spread=False)
        both = both + (b * s) ** 2 * vv.sum(axis=axis, keepdims=True)
        return self.square(ww, axis), cross, both


_Moments = tuple[Tensor, Tensor, Tensor]


@dataclass(frozen=True)
class EstimatedTable:
    """A marginal table estimated from reported counts; see `MarginalTable` for its promise.

    `fitted` are the reported counts from which second moments are formed: the observed ones for
    the moment estimate, the expected ones under the estimate for maximum likelihood.
    `modelled` says that the counts are a log-linear model's.
    """

    domain: Domain
    counts: Tensor
    records: int
    fitted: Tensor
    axes: tuple[_Axis, ...]
    information: Tensor | None = None
    modelled: bool = False

    def variance(self, *, population: bool) -> Tensor:
        """Return the variance of each raw count (see the module's formulas).

        A modelled table knows the error against the population only; that given the records is
        smaller, and the same is returned for it.
        """
        population = population or self.modelled
        second, _, _ = self.second_moments(())
        part = np.square(self.counts) / self.records if population else self.counts
        return np.maximum(second - part, 0.0)

    def standard_error(self, *, population: bool) -> Tensor:
        """Return the standard error of each raw count."""
        return np.sqrt(self.variance(population=population))

    def frame(self) -> pd.DataFrame:
        """Return the table as a data frame: a row per cell, in C order of `domain`.

        Columns: one of category labels per variable, `count`, `se_records` (the error given the
        records) and `se_population`.
        """
        import pandas as pd

        cells = pd.MultiIndex.from_product(
            [v.categories for v in self.domain], names=list(self.domain.names)
        )
        return pd.DataFrame(
            {
                "count": self.counts.ravel(),
                "se_records": self.standard_error(population=False).ravel(),
                "se_population": self.standard_error(population=True).ravel(),
            },
            index=cells,
        ).reset_index()

    def covariance(self, *, population: bool) -> Tensor:
        """Return the full covariance matrix of the counts, cells in C order of `domain`.

        Raises:
            LimitExceeded: more than `INFORMATION_CELLS` cells.
        """
        if self.counts.size > INFORMATION_CELLS:
            raise LimitExceeded(
                f"A covariance matrix over {self.counts.size} cells is too large to list.",
                remedy="Ask for variances, or for fewer variables.",
            )
        flat = self.counts.ravel()
        population = population or self.modelled
        part = np.outer(flat, flat) / self.records if population else np.diag(flat)
        full: Tensor = self._second_moment_matrix() - part
        return full

    def second_moments(self, summed: Sequence[str]) -> _Moments:
        """Return the sums of W^2, W V and V^2 over the reports (see `MarginalTable`)."""
        names = frozenset(summed)
        for name in names:
            self.domain.axis(name)
        if self.information is not None:
            return self._dense_moments(names)
        tensors: _Moments = (self.fitted, self.fitted, self.fitted)
        for axis, part in enumerate(self.axes):
            tensors = part.moments(tensors, axis, names)
        ww, wv, vv = tensors
        return self._arrange(ww), self._arrange(wv), self._arrange(vv, names)

    def _arrange(self, tensor: Tensor, summed: frozenset[str] = frozenset()) -> Tensor:
        return _arrange(tensor, self.axes, self.domain, summed)

    def _second_moment_matrix(self) -> Tensor:
        if self.information is not None:
            return self.information
        size = self.counts.size
        # P^-1 applied to each cell's indicator gives W, the estimator of that cell, per report.
        cells = np.eye(size).reshape(size, *self.domain.shape)
        order = [v.name for part in self.axes for v in part.kept]
        weights = np.transpose(cells, [0, *(1 + self.domain.axis(n) for n in order)])
        weights = weights.reshape(size, *(math.prod(v.size for v in p.kept) for p in self.axes))
        for axis, part in enumerate(self.axes):
            weights = along_axis(part.decoder.T, weights, axis + 1)
        flat = weights.reshape(size, -1)
        matrix: Tensor = (flat * self.fitted.ravel()) @ flat.T
        return matrix

    def _dense_moments(self, summed: frozenset[str]) -> _Moments:
        shape = self.domain.shape
        matrix = self._second_moment_matrix().reshape(shape + shape)
        gone = tuple(self.domain.axis(name) for name in summed)
        rank = len(shape)
        cross = matrix.sum(axis=tuple(rank + axis for axis in gone), keepdims=True)
        both = cross.sum(axis=gone, keepdims=True)

        def diagonal(tensor: Tensor) -> Tensor:
            left, right = tensor.shape[:rank], tensor.shape[rank:]
            cells = np.indices(left)
            index = [np.minimum(i, size - 1) for i, size in zip(cells, right, strict=True)]
            taken: Tensor = tensor[(*cells, *index)]
            return taken

        return diagonal(matrix), diagonal(cross), diagonal(both)


class EstimatedMarginals:
    """Marginals of the true records, estimated from reported ones under a plan.

    Args:
        reported: counts of reported codes of (at least) all variables of the plan's blocks.
        plan: the channels; variables not randomized have the identity.
        estimator: `moment` (unbiased, may be negative), `ml` (a distribution times N) or
            `log-linear` (a distribution times N, without interactions of more than `order`
            variables, shrunk as the reports demand: see `loglinear`). The last alone tells more
            than the records report together, as with sampled blocks; its errors hold if there are
            no higher interactions.
        order: the most variables that interact, for `log-linear`.
    """

    def __init__(
        self,
        reported: ReportedCounts,
        plan: Plan,
        *,
        estimator: Estimator = "moment",
        order: int = 2,
    ) -> None:
        if estimator not in ("moment", "ml", "log-linear"):
            raise OptionError(
                f"There is no estimator {estimator!r}.",
                remedy="Choose 'moment', 'ml' or 'log-linear'.",
            )
        if order < 1:
            raise OptionError(f"An order of interaction of {order} is none.", where="order")
        self._order = order
        self._whole: tuple[list[_Axis], Fit] | None = None
        self._reported = reported
        self._plan = plan
        self._estimator = estimator

    @property
    def domain(self) -> Domain:
        """The plan's domain."""
        return self._plan.domain

    @property
    def records(self) -> int:
        """The number of reported records."""
        return self._reported.records

    def marginal(self, variables: Sequence[str]) -> EstimatedTable:
        """Return the estimated table over `variables`, axes in that order.

        A joint block whose channel is not lumpable for the variables asked is estimated whole and
        summed out.

        Raises:
            UnknownVariable: a variable the plan does not have.
            OptionError: a variable named twice, or none.
            SingularChannel: a channel has no inverse and the estimator is `moment`.
            LimitExceeded: too many cells.
            NotConverged: see `maximum_likelihood`.
        """
        if not variables or len(set(variables)) != len(variables):
            raise OptionError(f"A marginal is over distinct variables, not {list(variables)}.")
        domain = self.domain.project(variables)
        if self._estimator == "log-linear":
            return self._by_model(domain)
        axes = self._axes(frozenset(variables))
        names = [v.name for axis in axes for v in axis.variables]
        cells = math.prod(axis.channel.shape[0] for axis in axes)
        if cells > MARGINAL_CELLS:
            raise LimitExceeded(
                f"The table over {names} has {cells} cells; at most {MARGINAL_CELLS} are allowed.",
                remedy="Ask for fewer variables at once.",
            )
        observed = self._observed(axes)
        if self._estimator == "ml":
            return self._by_likelihood(domain, axes, observed)
        counts = moment([Stratum(observed, tuple(axis.channel for axis in axes))])
        return EstimatedTable(
            domain,
            _arrange(_sum_unasked(counts, axes), axes, domain),
            self.records,
            observed,
            tuple(axes),
        )

    def _observed(self, axes: Sequence[_Axis]) -> Tensor:
        names = [v.name for axis in axes for v in axis.variables]
        shape = [axis.channel.shape[1] for axis in axes]
        return self._reported.table(names).reshape(shape).astype(np.float64)

    def _axes(self, asked: frozenset[str]) -> list[_Axis]:
        axes = []
        for block in self._plan.blocks:
            names = tuple(name for name in block.names if name in asked)
            if not names:
                continue
            channel = block.restrict(names)
            kept = tuple(v for v in block.variables if v.name in names)
            if channel is None:
                axes.append(_Axis(block.variables, names, block.channel))
            else:
                axes.append(_Axis(kept, names, channel))
        return axes

    def _by_model(self, domain: Domain) -> EstimatedTable:
        """Fit all variables at once where that is possible, so that all answers agree."""
        if domain.size > INFORMATION_CELLS:
            raise LimitExceeded(
                f"The errors of {domain.size} cells of a log-linear model are too many to list.",
                remedy="Ask for fewer variables at once.",
            )
        whole = self.domain.shape
        order = min(self._order, len(whole))
        reports = math.prod(self._plan.reported_sizes.values())
        if affordable(whole, order, reports):
            if self._whole is None:
                self._whole = self._fitted(self.domain)
            axes, model = self._whole
        else:
            axes, model = self._fitted(domain)
        return _of_model(model, [v for axis in axes for v in axis.variables], domain, self.records)

    def _fitted(self, domain: Domain) -> tuple[list[_Axis], Fit]:
        axes = self._axes(frozenset(domain.names))
        shape = [v.size for axis in axes for v in axis.variables]
        stratum = Stratum(self._observed(axes), tuple(axis.channel for axis in axes))
        model = fit(
            [stratum], shape, order=min(self._order, len(shape)), possible=_possible(axes, shape)
        )
        return axes, model

    def _by_likelihood(self, domain: Domain, axes: list[_Axis], observed: Tensor) -> EstimatedTable:
        stratum = Stratum(observed, tuple(axis.channel for axis in axes))
        theta = maximum_likelihood([stratum]).probabilities
        information = None
        if any(
            c.shape[0] != c.shape[1] or c.condition_number > CONDITION_LIMIT
            for c in stratum.channels
        ):
            information = _inverse_information(stratum, theta, axes, domain)
        counts = _sum_unasked(theta * self.records, axes)
        return EstimatedTable(
            domain,
            _arrange(counts, axes, domain),
            self.records,
            # The unrestricted estimator's error at the fitted distribution: equal to the inverse
            # information inside the simplex, and no smaller than ML's error at its edge.
            self.records * stratum.expected(theta),
            tuple(axes),
            information,
        )


def _possible(axes: Sequence[_Axis], shape: Sequence[int]) -> Tensor | None:
    """Return which true cells can occur; None where nothing is said to be impossible."""
    shapes = [axis.channel.shape[0] for axis in axes]
    cells = np.ones(shapes)
    for place, axis in enumerate(axes):
        spread = [size if i == place else 1 for i, size in enumerate(shapes)]
        cells = cells * _possible_cells(axis.channel).reshape(spread)
    return None if cells.all() else cells.reshape(shape)


def _possible_cells(channel: Transition) -> Tensor:
    """Return 1 for each truth of a channel that can occur and 0 for the others."""
    cells = np.ones(channel.shape[0])
    if isinstance(channel, StructuralZeros):
        cells[list(channel.impossible)] = 0
    elif isinstance(channel, Sampled):
        for choice in channel.choices:
            own = _possible_cells(choice.channel)
            axes = [s if a in choice.axes else 1 for a, s in enumerate(channel.sizes)]
            cells = (cells.reshape(channel.sizes) * own.reshape(axes)).ravel()
    return cells


def _of_model(
    model: Fit, variables: Sequence[Variable], domain: Domain, records: int
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


def _sum_unasked(tensor: Tensor, axes: Sequence[_Axis]) -> Tensor:
    """Sum out the variables that only a non-lumpable joint block brought in."""
    for axis, part in enumerate(axes):
        tensor = part.sum_unasked(tensor, axis)
    return tensor


def _arrange(
    tensor: Tensor,
    axes: Sequence[_Axis],
    domain: Domain,
    summed: frozenset[str] = frozenset(),
) -> Tensor:
    """Split the blocks' axes into their variables' and put these in the domain's order."""
    kept = [v for axis in axes for v in axis.kept]
    split = tensor.reshape([1 if v.name in summed else v.size for v in kept])
    order = [v.name for v in kept]
    return np.transpose(split, [order.index(name) for name in domain.names])


def _inverse_information(
    stratum: Stratum, theta: Tensor, axes: list[_Axis], domain: Domain
) -> Tensor:
    """Return N^2 times the inverse observed information, the second moments of the ML counts.

    The information of theta is P diag(n / (P'theta)^2) P'. Its constrained inverse (the cells sum
    to 1) is the unconstrained one less theta theta' / N, exactly the multinomial term that
    `EstimatedTable.variance` subtracts.
    """
    if theta.size > INFORMATION_CELLS:
        raise LimitExceeded(
            f"The information over {theta.size} cells is too large to invert.",
            remedy="Ask for fewer variables at once.",
        )
    if any(len(axis.kept) != len(axis.variables) for axis in axes):
        raise EstimationError(
            "A joint block without an inverse cannot be restricted to some of its variables."
        )
    records = float(stratum.reported.sum())
    expected = stratum.expected(theta)
    if expected.size * theta.size > LISTED_ENTRIES:
        raise LimitExceeded(
            f"The information of {expected.size} reports over {theta.size} cells is too large.",
            remedy="Ask for fewer variables at once.",
        )
    weights = np.divide(
        stratum.reported, np.square(expected), out=np.zeros(expected.shape), where=expected > 0
    )
    cells = np.eye(theta.size).reshape(*stratum.shape, -1)
    listed = stratum.expected(cells).reshape(-1, theta.size)
    seen = weights.ravel() > 0
    information = (listed[seen].T * weights.ravel()[seen]) @ listed[seen]
    if np.linalg.cond(information) > 1e12:
        raise EstimationError(
            f"The reports cannot tell all {theta.size} cells apart; their counts have no"
            " maximum-likelihood error.",
            remedy="Ask for fewer variables, or use the estimator 'log-linear'.",
        )
    inverse: Tensor = np.asarray(records**2 * np.linalg.inv(information), dtype=np.float64)
    kept = [v for axis in axes for v in axis.kept]
    order = [[v.name for v in kept].index(name) for name in domain.names]
    shape = [v.size for v in kept]
    both = inverse.reshape(shape + shape)
    moved = np.transpose(both, [*order, *(len(order) + i for i in order)])
    size = theta.size
    return moved.reshape(size, size)
