"""Marginals of records that were reported under different plans: strata, counted together.

Horizontal owners have the same variables of different people; a record with a missing cell does not
report that variable. Each set of records with one plan is a stratum. By moments the strata's
estimates add up; by maximum likelihood all reports are explained by one table, which also serves
variables that some strata do not report.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from shared.domain import Domain, Variable
from shared.errors import DomainError, EmptyTable, EstimationError, OptionError
from shared.estimation.core.axes import Moments, strata_of
from shared.estimation.core.information import INFORMATION_CELLS, inverse_information
from shared.estimation.core.likelihood import maximize
from shared.estimation.estimated import EstimatedMarginals, EstimatedTable, Evidence
from shared.estimation.evidence.explanation import NetworkExplanation
from shared.estimation.evidence.independence import ConditionalIndependence
from shared.estimation.subpopulations.by_tables import CombinedSubpopulation, TabulatedSubpopulation
from shared.estimation.supports.by_tables import CombinedSupports, TabulatedSupports, require_items
from shared.estimation.supports.mixed import MixedSupports, serves
from shared.marginals.counts import Reports, Subpopulation, Supports, Tensor
from shared.marginals.support_counts import Item
from shared.marginals.tabulated_counts import NoisyCounts
from shared.plan import Plan


@dataclass(frozen=True)
class CombinedTable:
    """The sum of tables of different records; see `MarginalTable` for its promise."""

    tables: tuple[EstimatedTable, ...]

    @property
    def domain(self) -> Domain:
        """The variables, one per axis."""
        return self.tables[0].domain

    @property
    def counts(self) -> Tensor:
        """The raw counts of all records together."""
        total: Tensor = np.sum([table.counts for table in self.tables], axis=0)
        return total

    @property
    def records(self) -> int:
        """The number of records of all strata."""
        return sum(table.records for table in self.tables)

    def variance(self, *, population: bool) -> Tensor:
        """Return the variance of each count; the population is one for all strata."""
        second, _, _ = self.second_moments(())
        counts = self.counts
        part = np.square(counts) / self.records if population else counts
        return np.maximum(second - part, 0.0)

    def covariance_of(self, weights: Tensor, *, population: bool) -> Tensor:
        """Return the covariance of linear functions of the counts; one population for all."""
        flat, counts = weights.reshape(len(weights), -1), self.counts.ravel()
        if population:
            part = np.outer(flat @ counts, flat @ counts) / self.records
        else:
            part = (flat * counts) @ flat.T
        products: Tensor = np.sum([table.products(weights) for table in self.tables], axis=0)
        return products - part

    def resampled(self, draws: int, rng: np.random.Generator) -> Tensor:
        """Return the counts in bootstrap samples of each stratum (see `MarginalTable`)."""
        total: Tensor = np.sum([table.resampled(draws, rng) for table in self.tables], axis=0)
        return total

    def second_moments(self, summed: Sequence[str]) -> Moments:
        """Return the sums of W^2, W V and V^2 over all reports (see `MarginalTable`)."""
        parts = [table.second_moments(summed) for table in self.tables]
        ww, wv, vv = (np.sum(moments, axis=0) for moments in zip(*parts, strict=True))
        return ww, wv, vv


class CombinedMarginals:
    """Marginals over strata: records of one population under several plans.

    Args:
        sources: per stratum its reported counts and its plan.
        estimator: `moment` (all strata must report all variables asked) or `ml`.

    Raises:
        EmptyTable: no strata.
        DomainError: a variable has other categories in another stratum.
        OptionError: an unknown estimator.
    """

    def __init__(self, sources: Sequence[tuple[Reports, Plan]], *, estimator: str = "moment"):
        if estimator not in ("moment", "ml"):
            raise OptionError(
                f"Strata cannot be combined by the estimator {estimator!r}.",
                where="estimator",
                remedy="Choose 'moment' or 'ml'.",
            )
        if not sources:
            raise EmptyTable("There are no strata to combine.")
        self._sources = tuple(sources)
        self._estimator = estimator
        self._domain = _joined([plan.domain for _, plan in sources])
        self._evidence = Evidence(self._sources)

    @property
    def domain(self) -> Domain:
        """All variables of all strata."""
        return self._domain

    @property
    def records(self) -> int:
        """The number of records of all strata."""
        return sum(reports.records for reports, _ in self._sources)

    @property
    def _alike(self) -> bool:
        """Whether every stratum reports all variables."""
        return all(set(plan.domain.names) == set(self._domain.names) for _, plan in self._sources)

    def marginal(self, variables: Sequence[str]) -> CombinedTable | EstimatedTable:
        """Return the estimated table over `variables`, axes in that order.

        Raises:
            UnknownVariable: a variable that no stratum has.
            OptionError: a variable named twice, or none.
            EstimationError: a stratum does not report all of them, and the estimator is `moment`;
                or the reports cannot tell all cells apart.
            LimitExceeded: too many cells.
        """
        if not variables or len(set(variables)) != len(variables):
            raise OptionError(f"A marginal is over distinct variables, not {list(variables)}.")
        domain = self._domain.project(variables)
        if self._estimator == "ml":
            return self._by_likelihood(domain)
        for _, plan in self._sources:
            missing = [name for name in variables if name not in plan.domain]
            if missing:
                raise EstimationError(
                    f"A stratum does not report {missing}; its moments say nothing of them.",
                    where=", ".join(missing),
                    remedy="Use the estimator 'ml', which explains all reports together.",
                )
        return CombinedTable(
            tuple(
                EstimatedMarginals(reports, plan).marginal(variables)
                for reports, plan in self._sources
            )
        )

    def expected(self, variables: Sequence[str]) -> Tensor:
        """Return the posterior expectation of each true cell's count (see `Marginals`).

        By moments every stratum's own estimate is the prior of its reports.
        """
        table = self.marginal(variables)
        if self._estimator == "ml":
            return table.counts
        posteriors = [EstimatedMarginals(r, plan).expected(variables) for r, plan in self._sources]
        total: Tensor = np.sum(posteriors, axis=0)
        return total

    def subpopulation(self) -> Subpopulation:
        """Return all records; see `Marginals`."""
        if self._estimator == "ml" or not self._alike:
            return TabulatedSubpopulation(self, {})
        strata = [EstimatedMarginals(r, plan).subpopulation() for r, plan in self._sources]
        return CombinedSubpopulation(tuple(strata))

    def supports(self, items: Sequence[Item]) -> Supports:
        """Return what estimates supports; see `Marginals`."""
        asked = tuple(items)
        require_items(self._domain, asked)
        tables = self._estimator == "ml" or any(
            isinstance(r, NoisyCounts) for r, _ in self._sources
        )
        if tables or not all(serves(plan, asked) for _, plan in self._sources):
            return TabulatedSupports(self, asked)
        strata = [MixedSupports(reports, plan, asked) for reports, plan in self._sources]
        return CombinedSupports(tuple(strata))

    def independence(
        self, left: Sequence[str], right: Sequence[str], given: Sequence[str]
    ) -> ConditionalIndependence:
        """Return the evidence of all strata; see `EstimatedMarginals.independence`."""
        for name in (*left, *right, *given):
            self._domain.axis(name)
        return self._evidence.independence(left, right, given)

    def explanation(self, parents: Mapping[str, Collection[str]]) -> NetworkExplanation | None:
        """Return how well a network explains all strata; see `EstimatedMarginals.explanation`."""
        for name in parents:
            self._domain.axis(name)
        return self._evidence.explanation(parents)

    def _by_likelihood(self, domain: Domain) -> EstimatedTable:
        strata = strata_of(self._sources, domain.names, INFORMATION_CELLS)
        theta = maximize(strata).table
        silent = self.records - sum(stratum.records for stratum in strata)
        second = inverse_information(strata, theta, len(domain), silent)
        nuisance = tuple(range(len(domain), theta.ndim))
        counts: Tensor = theta.sum(axis=nuisance) * self.records
        return EstimatedTable(domain, counts, self.records, counts, (), second)


def _joined(domains: Sequence[Domain]) -> Domain:
    found: dict[str, Variable] = {}
    for domain in domains:
        for variable in domain:
            known = found.setdefault(variable.name, variable)
            if known.categories != variable.categories:
                raise DomainError(
                    f"Variable {variable.name!r} has other categories in another stratum, or in"
                    " another order.",
                    where=variable.name,
                    remedy="Let all owners list the same categories in one order.",
                )
    return Domain(tuple(found.values()))
