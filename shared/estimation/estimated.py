"""Marginals of the true records estimated from reported ones under a plan, with their errors.

Two errors are kept apart. Given the true records, only the randomization varies and

    Cov(N^ | D) = P'^-1 diag(P'N) P^-1 - diag(N)                    (Ma theorem 2, design 4);

against the population the records were drawn from, the multinomial part diag(N) - N N'/n is
added. Both are estimated by putting the observed reported counts for P'N and N^ for N.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from shared.channels import CONDITION_LIMIT, Sampled, StructuralZeros, Transition
from shared.domain import Domain, Variable
from shared.errors import LimitExceeded, OptionError
from shared.estimation.core.axes import (
    Axis,
    Moments,
    arrange,
    axes_of,
    observed,
    strata_of,
    sum_unasked,
    table_of,
)
from shared.estimation.core.information import INFORMATION_CELLS, inverse_information
from shared.estimation.core.likelihood import maximize
from shared.estimation.core.loglinear import Fit, affordable, fit
from shared.estimation.core.strata import Stratum, moment
from shared.estimation.evidence.explanation import NetworkExplanation
from shared.estimation.evidence.independence import ConditionalIndependence, ReportedTable
from shared.estimation.subpopulations.by_tables import TabulatedSubpopulation
from shared.estimation.subpopulations.reported import ReportedSubpopulation
from shared.estimation.supports.by_tables import DividedSupports, TabulatedSupports, require_items
from shared.estimation.supports.mixed import MixedSupports, served
from shared.marginals.counts import (
    CUBE_CELLS,
    MARGINAL_CELLS,
    ReportedCounts,
    Reports,
    Subpopulation,
    Supports,
    Tensor,
)
from shared.marginals.support_counts import Item
from shared.marginals.tabulated_counts import NoisyCounts, noise_of
from shared.plan import Plan

if TYPE_CHECKING:
    import pandas as pd

Estimator = Literal["moment", "ml", "log-linear"]

TEST_CELLS = 1 << 22
"""A test of independence over more true cells than this is refused."""

WHOLE_CELLS = 1 << 12
"""Up to this many true cells networks are compared by the likelihood of whole records."""

KEPT_CELLS, KEPT_TABLES = 1 << 13, 256
"""So many tables of so many cells are kept for tests of other independences on them."""


@dataclass(frozen=True)
class EstimatedTable:
    """A marginal table estimated from reported counts; see `MarginalTable` for its promise.

    `fitted` are the reported counts from which second moments are formed: the observed ones for
    the moment estimate, the expected ones under the estimate for maximum likelihood.
    `modelled` says that the counts are a log-linear model's. `noise` is the variance of what was
    added to each reported count on purpose; it is in both errors.
    """

    domain: Domain
    counts: Tensor
    records: int
    fitted: Tensor
    axes: tuple[Axis, ...]
    information: Tensor | None = None
    modelled: bool = False
    noise: float = 0.0

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

    def covariance_of(self, weights: Tensor, *, population: bool) -> Tensor:
        """Return the covariance of linear functions of the counts (see `MarginalTable`)."""
        flat, counts = weights.reshape(len(weights), -1), self.counts.ravel()
        if population or self.modelled:
            part = np.outer(flat @ counts, flat @ counts) / self.records
        else:
            part = (flat * counts) @ flat.T
        return self.products(weights) - part

    def products(self, weights: Tensor) -> Tensor:
        """Return the sums over the reports of the products of estimators of linear functions.

        Takes weights as `covariance_of` and returns a matrix of the same shape.
        """
        if self.information is not None:
            flat = weights.reshape(len(weights), -1)
            of_information: Tensor = flat @ self.information @ flat.T
            return of_information
        order = [v.name for part in self.axes for v in part.kept]
        moved = np.transpose(weights, [0, *(1 + self.domain.axis(n) for n in order)])
        cells = [math.prod(v.size for v in part.kept) for part in self.axes]
        estimators = moved.reshape(len(weights), *cells)
        for axis, part in enumerate(self.axes):
            estimators = part.estimator(estimators, axis + 1)
        flat = estimators.reshape(len(weights), -1)
        matrix: Tensor = (flat * self._squares.ravel()) @ flat.T
        return matrix

    @property
    def _squares(self) -> Tensor:
        """What each report's squared weight is counted with: how many made it, and its noise."""
        return self.fitted + self.noise

    def resampled(self, draws: int, rng: np.random.Generator) -> Tensor:
        """Return the counts in bootstrap samples of the reports (see `MarginalTable`).

        Where the counts are no linear function of the reports, or noise was added to these, normal
        deviates of their covariance are added to them.

        Raises:
            LimitExceeded: such counts have more than `INFORMATION_CELLS` cells.
        """
        if self.information is not None or self.noise:
            root = _root(self.covariance(population=True))
            noise = rng.standard_normal((draws, len(root))) @ root
            return self.counts + noise.reshape(draws, *self.domain.shape)
        share = self.fitted.ravel() / self.fitted.sum()
        sampled = rng.multinomial(self.records, share, size=draws).astype(np.float64)
        estimate: Tensor = np.moveaxis(sampled.reshape(draws, *self.fitted.shape), 0, -1)
        for axis, part in enumerate(self.axes):
            estimate = part.estimate(estimate, axis)
        kept = [v for part in self.axes for v in part.kept]
        order = [[v.name for v in kept].index(name) for name in self.domain.names]
        split = estimate.reshape(*(v.size for v in kept), draws)
        return np.transpose(split, [len(order), *order])

    def second_moments(self, summed: Sequence[str]) -> Moments:
        """Return the sums of W^2, W V and V^2 over the reports (see `MarginalTable`)."""
        names = frozenset(summed)
        for name in names:
            self.domain.axis(name)
        if self.information is not None:
            return self._dense_moments(names)
        tensors: Moments = (self._squares, self._squares, self._squares)
        for axis, part in enumerate(self.axes):
            tensors = part.moments(tensors, axis, names)
        ww, wv, vv = tensors
        return self._arrange(ww), self._arrange(wv), self._arrange(vv, names)

    def _arrange(self, tensor: Tensor, summed: frozenset[str] = frozenset()) -> Tensor:
        return arrange(tensor, self.axes, self.domain, summed)

    def _second_moment_matrix(self) -> Tensor:
        cells = self.counts.size
        return self.products(np.eye(cells).reshape(cells, *self.domain.shape))

    def _dense_moments(self, summed: frozenset[str]) -> Moments:
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
        reported: Reports,
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
        self._whole: tuple[list[Axis], Fit] | None = None
        self._reported = reported
        self._plan = plan
        self._evidence = Evidence([(reported, plan)])
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
            NotConverged: see `maximize`.
        """
        domain = self._asked(variables)
        if self._estimator == "log-linear":
            return self._by_model(domain)
        axes = axes_of(self._plan, variables)
        names = _names(axes)
        cells = math.prod(axis.channel.shape[0] for axis in axes)
        if cells > MARGINAL_CELLS:
            raise LimitExceeded(
                f"The table over {names} has {cells} cells; at most {MARGINAL_CELLS} are allowed.",
                remedy="Ask for fewer variables at once.",
            )
        moments = self._estimator == "moment"
        reported = observed(self._reported, axes, noise_counted=moments)
        if not moments:
            return self._by_likelihood(domain, axes, reported)
        counts = moment([Stratum(reported, tuple(axis.channel for axis in axes))])
        return EstimatedTable(
            domain,
            arrange(sum_unasked(counts, axes), axes, domain),
            self.records,
            reported,
            tuple(axes),
            noise=noise_of(self._reported, names),
        )

    def expected(self, variables: Sequence[str]) -> Tensor:
        """Return the posterior expectation of each true cell's count (see `Marginals`).

        The prior by moments is the estimate with its negative counts set to zero, or, where some
        reports could not be then, the most likely table.

        Raises:
            As `marginal`; EstimationError for reports that no truth can make.
        """
        domain = self._asked(variables)
        axes = axes_of(self._plan, variables)
        stratum = Stratum(observed(self._reported, axes), tuple(axis.channel for axis in axes))
        prior = self._prior(axes, stratum)
        reports = stratum.expected(prior[..., None])
        seen = np.divide(stratum.column, reports, where=reports > 0, out=np.zeros_like(reports))
        posterior = stratum.adjoint(seen)[..., 0] * prior
        return arrange(sum_unasked(posterior, axes), axes, domain)

    def _prior(self, axes: Sequence[Axis], stratum: Stratum) -> Tensor:
        """Return an estimated distribution over the axes' cells under which all reports can be."""
        if self._estimator == "log-linear":
            whole = self.marginal(_names(axes))
            return whole.counts.reshape(stratum.shape) / self.records
        if self._estimator == "moment":
            estimate = np.maximum(moment([stratum]), 0.0)
            if estimate.any():
                prior: Tensor = estimate / estimate.sum()
                if np.all(stratum.expected(prior[..., None])[stratum.column > 0] > 0):
                    return prior
        likely = maximize([stratum]).table
        if any(channel.shape[0] > channel.shape[1] for channel in stratum.channels):
            # Others may be as likely: that is refused where the errors are made.
            self._likely_table(self._plan.domain.project(_names(axes)), axes, stratum, likely)
        return likely

    def subpopulation(self) -> Subpopulation:
        """Return all records; see `Marginals`."""
        counted = isinstance(self._reported, ReportedCounts) and self._reported.cells <= CUBE_CELLS
        if self._estimator == "moment" and counted:
            return ReportedSubpopulation.everyone(self._plan, self._reported)
        return TabulatedSubpopulation(self, {})

    def supports(self, items: Sequence[Item]) -> Supports:
        """Return what estimates supports, the faster way that serves; see `Marginals`."""
        asked = tuple(items)
        require_items(self.domain, asked)
        tabulated = TabulatedSupports(self, asked)
        mixing = served(self._plan, asked)
        noisy = isinstance(self._reported, NoisyCounts)
        if self._estimator != "moment" or noisy or not mixing.any():
            return tabulated
        mixed = MixedSupports(self._reported, self._plan, asked)
        return mixed if mixing.all() else DividedSupports(mixed, tabulated, mixing)

    def independence(
        self, left: Sequence[str], right: Sequence[str], given: Sequence[str]
    ) -> ConditionalIndependence:
        """Return the evidence in the reports on the independence of `left` and `right` given more.

        The same for every estimator: it is the reports' likelihood.

        Raises:
            UnknownVariable: a variable the plan does not have.
            OptionError: a variable named twice.
            LimitExceeded: the table has more than `TEST_CELLS` cells.
        """
        return self._evidence.independence(left, right, given)

    def explanation(self, parents: Mapping[str, Collection[str]]) -> NetworkExplanation | None:
        """Return how well a network explains the reports of whole records.

        None if their true table has more than `WHOLE_CELLS` cells.

        Raises:
            UnknownVariable: a node the plan does not have.
        """
        return self._evidence.explanation(parents)

    def _asked(self, variables: Sequence[str]) -> Domain:
        if not variables or len(set(variables)) != len(variables):
            raise OptionError(f"A marginal is over distinct variables, not {list(variables)}.")
        return self.domain.project(variables)

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

    def _fitted(self, domain: Domain) -> tuple[list[Axis], Fit]:
        axes = axes_of(self._plan, domain.names)
        shape = [v.size for axis in axes for v in axis.variables]
        stratum = Stratum(observed(self._reported, axes), tuple(axis.channel for axis in axes))
        model = fit(
            [stratum], shape, order=min(self._order, len(shape)), possible=_possible(axes, shape)
        )
        return axes, model

    def _by_likelihood(self, domain: Domain, axes: list[Axis], observed: Tensor) -> EstimatedTable:
        stratum = Stratum(observed, tuple(axis.channel for axis in axes))
        theta = maximize([stratum]).table
        return self._likely_table(domain, axes, stratum, theta)

    def _likely_table(
        self, domain: Domain, axes: Sequence[Axis], stratum: Stratum, theta: Tensor
    ) -> EstimatedTable:
        information = None
        if any(
            c.shape[0] != c.shape[1] or c.condition_number > CONDITION_LIMIT
            for c in stratum.channels
        ):
            strata = strata_of([(self._reported, self._plan)], domain.names, INFORMATION_CELLS)
            arranged = _in_order(theta, axes, strata[0])
            information = inverse_information(strata, arranged, len(domain))
        counts = sum_unasked(theta * self.records, axes)
        return EstimatedTable(
            domain,
            arrange(counts, axes, domain),
            self.records,
            # The unrestricted estimator's error at the fitted distribution: equal to the inverse
            # information inside the simplex, and no smaller than ML's error at its edge.
            self.records * stratum.expected(theta[..., None]).reshape(stratum.reported.shape),
            tuple(axes),
            information,
        )


class Evidence:
    """Tests of independence on the reports of some sources; tables asked of again are kept."""

    def __init__(self, sources: Sequence[tuple[Reports, Plan]]):
        self._sources = sources
        self._kept: OrderedDict[tuple[str, ...], ReportedTable] = OrderedDict()

    def independence(
        self, left: Sequence[str], right: Sequence[str], given: Sequence[str]
    ) -> ConditionalIndependence:
        """See `EstimatedMarginals.independence`."""
        asked = sorted([*left, *right, *given])
        if not left or not right or len(set(asked)) < len(asked):
            raise OptionError(
                f"Independence is asked of distinct variables, not of {list(left)} and"
                f" {list(right)} given {list(given)}."
            )
        table = self._table(tuple(asked))
        axes = [tuple(asked.index(name) for name in part) for part in (left, right, given)]
        return ConditionalIndependence(table, *axes)

    def explanation(self, parents: Mapping[str, Collection[str]]) -> NetworkExplanation | None:
        """See `EstimatedMarginals.explanation`."""
        nodes = tuple(sorted(parents))
        if not nodes or table_of(self._sources, nodes).size > WHOLE_CELLS:
            return None
        table = self._table(nodes)
        families = tuple(
            (nodes.index(node), tuple(sorted(nodes.index(parent) for parent in parents[node])))
            for node in nodes
        )
        return NetworkExplanation(table, families)

    def _table(self, asked: tuple[str, ...]) -> ReportedTable:
        table = self._kept.pop(asked, None)
        if table is None:
            table = ReportedTable(strata_of(self._sources, asked, TEST_CELLS))
        if math.prod(table.shape) <= KEPT_CELLS:
            self._kept[asked] = table
            if len(self._kept) > KEPT_TABLES:
                self._kept.popitem(last=False)
        return table


def _names(axes: Sequence[Axis]) -> list[str]:
    return [v.name for axis in axes for v in axis.variables]


def _possible(axes: Sequence[Axis], shape: Sequence[int]) -> Tensor | None:
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


def _in_order(theta: Tensor, axes: Sequence[Axis], stratum: Stratum) -> Tensor:
    """Put a table of the blocks' cells into the axes of a stratum of the same reports."""
    order = [axis for group in stratum.groups for axis in group]
    split = theta.reshape([v.size for axis in axes for v in axis.variables])
    return split.transpose(np.argsort(order))


def _root(covariance: Tensor) -> Tensor:
    """Return R with R'R the covariance, whatever rounding did to its smallest eigenvalues."""
    values, vectors = np.linalg.eigh(covariance)
    root: Tensor = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    return root
