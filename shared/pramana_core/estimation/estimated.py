"""Marginals of the true records, estimated from the reports of one or several sources.

A source is a set of records with one plan. The moment estimator weights each source's estimate
(`weights`). The other estimators fit all reports together, including those that lack variables.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, Self, cast, get_args

import numpy as np

from pramana_core.channels import CONDITION_LIMIT
from pramana_core.domain import Domain
from pramana_core.errors import EmptyTable, EstimationError, OptionError, SingularChannel
from pramana_core.estimation.axes import (
    Axis,
    Stratum,
    axes_of,
    joined,
    merged,
    named,
    reported_strata,
    require_reported,
)
from pramana_core.estimation.evidence import Evidence
from pramana_core.estimation.information import INFORMATION_CELLS, inverse_information
from pramana_core.estimation.likelihood import maximize
from pramana_core.estimation.pooled_tables import PooledTables
from pramana_core.estimation.subpopulations import TableSlices, WeightedRecords
from pramana_core.estimation.supports import TabulatedSupports, require_items
from pramana_core.estimation.supports_pooled import PooledSupports
from pramana_core.estimation.table_estimates import EstimatedTable, FactoredTable, SourceReports
from pramana_core.estimation.weights import SourceWeights
from pramana_core.marginals.counts import (
    CUBE_CELLS,
    MARGINAL_CELLS,
    Explanation,
    Independence,
    RecordTables,
    ReportedCounts,
    ReportTables,
    Supports,
    Tensor,
)
from pramana_core.marginals.lack_of_fit import LackOfFit
from pramana_core.marginals.passes import CountedRecords, PartitionedCounts, half_of
from pramana_core.marginals.subpopulations import Subpopulation
from pramana_core.marginals.support_counts import Item, weighted_sum
from pramana_core.marginals.tables import MarginalTable
from pramana_core.plan import Plan
from pramana_core.progress import Tick, no_cancel

Estimator = Literal["moment", "sum", "ml", "pooled"]
ESTIMATORS: tuple[Estimator, ...] = get_args(Estimator)

Source = tuple[ReportTables, Plan]


def choose_estimator(plans: Sequence[Plan]) -> Estimator:
    """Return the default estimator for the given plans.

    It is `pooled` if records report only some of their variables. It is `ml` if plans report
    different variables or a matrix is nearly singular, and `moment` otherwise.
    """
    blocks = [block for plan in plans for block in plan.blocks]
    if any(block.channel.choices for block in blocks):
        return "pooled"
    words = [
        {name for b in plan.blocks if not b.channel.withheld for name in b.names} for plan in plans
    ]
    channels = [block.channel for block in blocks if not block.channel.withheld]
    different = any(names != words[0] for names in words)
    singular = any(channel.condition_number > CONDITION_LIMIT for channel in channels)
    return "ml" if different or singular else "moment"


@dataclass(eq=False)
class UsedTables:
    """The tables that were requested, by their variables in domain order.

    `pooled` has the tables that come from a model, `filled` the tables assembled from smaller ones.
    If these marginals are part of others, `whole` has the others' tables; `note` adds tables there.
    """

    whole: UsedTables | None = None
    pooled: dict[tuple[str, ...], None] = field(default_factory=dict)
    filled: dict[tuple[str, ...], None] = field(default_factory=dict)

    def note(self, names: tuple[str, ...], *, pooled: bool, filled: bool) -> None:
        """Record that a table was used, and whether it was `pooled` or `filled` in."""
        self.pooled |= {names: None} if pooled else {}
        self.filled |= {names: None} if filled else {}
        if self.whole is not None:
            self.whole.note(names, pooled=pooled, filled=filled)


class EstimatedMarginals:
    """Marginals of the true records, estimated from records reported under one or several plans.

    Args:
        reported: the counts of reported codes of all variables in the plan's blocks.
        plan: the channels; variables that are not randomized have the identity.
        estimator: `moment` (unbiased; less noisy sources have larger weights), `sum` (all records
            have equal weights), `ml` (a distribution times N), or `pooled` (tables of few
            variables: see `PooledTables`).
        order: for `pooled`, the largest number of variables that interact; None derives it from the
            reports.
        others: further sources, with other records of the same population.
        variables: the variables of `domain`; by default all.
        tick: called during long estimates; an exception that it raises stops them.

    Raises OptionError: an unknown estimator, or an order below 1. DomainError: categories differ.
    """

    def __new__(cls, *_given: object, estimator: Estimator = "moment", **_options: object) -> Self:
        """Create marginals of the estimator's class."""
        if estimator not in ESTIMATORS:
            message = f"There is no estimator {estimator!r}."
            raise OptionError(message, remedy=f"Choose one of {list(ESTIMATORS)}.")
        kind = MARGINALS[estimator] if cls is EstimatedMarginals else cls
        return cast("Self", object.__new__(kind))

    def __init__(
        self,
        reported: ReportTables,
        plan: Plan,
        *,
        estimator: Estimator = "moment",  # noqa: ARG002 - chooses the class in __new__
        order: int | None = None,
        others: Sequence[Source] = (),
        variables: Sequence[str] | None = None,
        tick: Tick = no_cancel,
    ) -> None:
        if order is not None and order < 1:
            raise OptionError(f"order must be at least 1, not {order}.", where="order")
        self._sources, self._order, self._tick = ((reported, plan), *others), order, tick
        self._everything = joined([plan.domain for _, plan in self._sources])
        self._domain = self._everything.project(variables or self._everything.names)
        self._evidence = Evidence(self._sources, tick)
        self._used = UsedTables()

    @classmethod
    def of(
        cls,
        sources: Sequence[Source],
        *,
        estimator: Estimator = "moment",
        order: int | None = None,
        variables: Sequence[str] | None = None,
        tick: Tick = no_cancel,
    ) -> Self:
        """Return the marginals of the records of all sources together. Raises EmptyTable."""
        if not sources:
            raise EmptyTable("There are no strata to combine.")
        first, *others = sources
        return cls(
            *first, estimator=estimator, order=order, others=others, variables=variables, tick=tick
        )

    @property
    def domain(self) -> Domain:
        return self._domain

    @property
    def records(self) -> int:
        return sum(reports.records for reports, _ in self._sources)

    def marginal(self, variables: Sequence[str]) -> MarginalTable:
        """Return the estimated table over `variables`, axes in that order.

        Raises:
            UnknownVariable, OptionError: a variable is unknown or repeated, or the list is empty.
            EstimationError: a source lacks a variable that `moment` needs, or the reports cannot
                separate all cells.
            SingularChannel: a channel has no inverse and the estimator is `moment`.
            LimitExceeded, NotConverged: there are too many cells; see `maximize`.
        """
        self._tick()
        domain = self._domain_of(variables)
        found = self._table(domain)
        if isinstance(found, FactoredTable):
            names = tuple(sorted(domain.names, key=self._everything.axis))
            self._used.note(names, pooled=True, filled=found.filled_in)
        return found

    def can_estimate(self, variables: Sequence[str]) -> bool:
        return self.jointly_reported(variables)

    def unbiased(self, variables: Sequence[str]) -> MarginalTable | None:
        """Return the unbiased estimate of a table, even if these marginals use maximum likelihood.

        It is None if a source does not report all variables, a channel has no inverse, or the table
        belongs to a model. The moment estimator raises the same errors as `marginal`.
        """
        return self._unbiased(self._domain_of(variables))

    def expected(self, variables: Sequence[str]) -> Tensor:
        """Return the posterior expectation of each true cell's count (see `Marginals`).

        Raises the errors of `marginal`, and EstimationError if no true table produces the reports.
        """
        return self._expected(self._domain_of(variables))

    def subpopulation(self) -> Subpopulation:
        return Subpopulation(self._everything, TableSlices(self))

    @classmethod
    def makes_of_pairs(cls, order: int | None) -> bool:  # noqa: ARG003
        """Return whether the supports of itemsets come from pairs of items at this order."""
        return False

    def supports(self, items: Sequence[Item]) -> Supports:
        wanted = tuple(items)
        require_items(self.domain, wanted)
        if not self.makes_of_pairs(self._order):
            return TabulatedSupports(self, wanted, cells=self._cells, count_ahead=self._count_ahead)
        return PooledSupports(
            self, wanted, lambda names: self._used.note(names, pooled=False, filled=True)
        )

    def independence(
        self, left: Sequence[str], right: Sequence[str], given: Sequence[str]
    ) -> Independence:
        """Return evidence by reports' likelihood (see `Evidence`) or, if pooled, by Wald's test."""
        self._require_known([*left, *right, *given])
        return self._evidence.independence(left, right, given)

    def explanation(self, parents: Mapping[str, Collection[str]]) -> Explanation | None:
        self._require_known(parents)
        return self._evidence.explanation(parents)

    def jointly_reported(self, variables: Sequence[str]) -> bool:
        self._require_known(variables)
        return any(plan.reports_together(variables) for _, plan in self._sources)

    def halves(self) -> tuple[Self, Self] | None:
        """Return the marginals of each half of the records, or None if they cannot be split."""
        parts = []
        for half in (0, 1):
            sources: list[Source] = []
            for reports, plan in self._sources:
                if not isinstance(reports, ReportedCounts | PartitionedCounts):
                    return None
                part = half_of(reports, list(plan.reported_sizes), half)
                if part.records:
                    sources.append((part, plan))
            known = {name for _, plan in sources for name in plan.domain.names}
            if not known.issuperset(self._domain.names):
                return None
            first, *others = sources
            options: dict[str, Any] = {"order": self._order, "others": others, "tick": self._tick}
            parts.append(type(self)(*first, variables=self._domain.names, **options))
        return parts[0], parts[1]

    @property
    def lack_of_fit(self) -> tuple[LackOfFit, ...]:
        """Tests of whether the reports contradict the models of the tables requested so far."""
        return ()

    @property
    def filled_in(self) -> tuple[tuple[str, ...], ...]:
        """The sets of variables of requested tables that are assembled from smaller tables."""
        return tuple(self._used.filled)

    def part(self, variables: Sequence[str] | None = None, *, apart: bool = False) -> Self:
        """Return marginals of some variables (default: all) that record their tables separately.

        Unless `apart`, these marginals record the tables as well. Raises UnknownVariable.
        """
        made = copy.copy(self)
        domain = self._everything.project(variables) if variables else self._domain
        vars(made).update(_domain=domain, _used=UsedTables(None if apart else self._used))
        return made

    def _table(self, domain: Domain) -> MarginalTable:
        raise NotImplementedError

    def _unbiased(self, domain: Domain) -> MarginalTable | None:
        raise NotImplementedError

    def _expected(self, domain: Domain) -> Tensor:
        if self._several:
            return self.marginal(domain.names).counts
        _, [(_, stratum)] = reported_strata(self._sources, domain.names, MARGINAL_CELLS)
        return _posterior(domain, stratum, self._prior(stratum))

    def _prior(self, stratum: Stratum) -> Tensor:
        """Return an estimated distribution under which all reports of a stratum are possible."""
        likely = maximize([stratum], tick=self._tick).table
        if any(channel.shape[0] > channel.shape[1] for channel in stratum.channels):
            # Other tables may be equally likely: this raises if reports cannot separate all cells.
            inverse_information([stratum], likely, likely.ndim)
        return likely

    @property
    def _several(self) -> bool:
        return len(self._sources) > 1

    def _cells(self, names: Sequence[str]) -> int:
        return max(
            math.prod(max(axis.channel.shape) for axis in axes_of(plan, names))
            for _, plan in self._sources
        )

    def _count_ahead(self, tables: Sequence[Sequence[str]]) -> None:
        for reports, plan in self._sources:
            # Margins of a cube are not cached.
            if isinstance(reports, RecordTables) and reports.cells > CUBE_CELLS:
                known = [names for names in tables if all(n in plan.domain for n in names)]
                reports.tables([named(axes_of(plan, names)) for names in known], self._tick)

    def _domain_of(self, variables: Sequence[str]) -> Domain:
        if not variables or len(set(variables)) != len(variables):
            raise OptionError(f"A marginal needs distinct variables, not {list(variables)}.")
        return self._everything.project(variables)

    def _require_known(self, names: Collection[str]) -> None:
        for name in names:
            self._everything.axis(name)


def _posterior(domain: Domain, stratum: Stratum, prior: Tensor) -> Tensor:
    reports = stratum.expected(prior[..., None])
    seen = np.divide(stratum.column, reports, where=reports > 0, out=np.zeros_like(reports))
    return _margin(stratum.adjoint(seen)[..., 0] * prior, domain)


def _margin(cells: Tensor, domain: Domain) -> Tensor:
    return np.asarray(cells.sum(axis=tuple(range(len(domain), cells.ndim))), dtype=np.float64)


def _by_moments(source: Source, domain: Domain) -> tuple[Tensor, Tensor, list[Axis]]:
    """Return one source's estimate of a table, its reported counts, and the axes of the counts."""
    _, [(axes, stratum)] = reported_strata([source], domain.names, MARGINAL_CELLS)
    return _margin(stratum.moment(), domain), stratum.reported, axes


class MomentMarginals(EstimatedMarginals):
    """Unbiased estimates by each source's inverse channels, combined with least variance."""

    @cached_property
    def _weights(self) -> SourceWeights | None:
        """The weights of the sources, or None if each record has weight one."""
        if not self._several or len({plan.digest for _, plan in self._sources}) == 1:
            return None
        return SourceWeights(
            tuple(plan for _, plan in self._sources),
            np.array([float(reports.records) for reports, _ in self._sources]),
            self._everything,
            lambda source, name: _by_moments(
                self._sources[source], self._everything.project([name])
            )[0],
        )

    def can_estimate(self, variables: Sequence[str]) -> bool:
        self._require_known(variables)
        return all(plan.reports_together(variables) for _, plan in self._sources)

    def _table(self, domain: Domain) -> EstimatedTable:
        require_reported(self._sources, domain.names)
        factors = np.ones(len(self._sources))
        if self._weights is not None:
            factors = self._weights.of_table(domain.names)
        counts, parts = [], []
        for source, factor in zip(self._sources, factors.tolist(), strict=True):
            own, reported, axes = _by_moments(source, domain)
            counts.append(own)
            parts.append(SourceReports(domain, reported, tuple(axes), factor))
        return EstimatedTable(domain, weighted_sum(factors, counts), self.records, tuple(parts))

    _unbiased = _table

    def _expected(self, domain: Domain) -> Tensor:
        require_reported(self._sources, domain.names)
        found = np.zeros(domain.shape)
        for source in self._sources:
            table, [(_, stratum)] = reported_strata([source], domain.names, MARGINAL_CELLS)
            known = all(name in plan.domain for _, plan in self._sources for name in table.names)
            shared = self._weights is not None and known
            counts = self.marginal(table.names).counts if shared else stratum.moment()
            found += _posterior(domain, stratum, self._positive(counts, stratum))
        return found

    def _positive(self, counts: Tensor, stratum: Stratum) -> Tensor:
        """Return the counts as shares if they make all reports possible, else a fitted prior."""
        estimate = np.maximum(counts, 0.0)
        if estimate.any():
            prior: Tensor = estimate / estimate.sum()
            if (stratum.expected(prior[..., None])[stratum.column > 0] > 0).all():
                return prior
        return self._prior(stratum)

    def subpopulation(self) -> Subpopulation:
        sources = [(r, plan) for r, plan in self._sources if isinstance(r, RecordTables)]
        whole = all(len(plan.domain) == len(self._everything) for _, plan in sources)
        if len(sources) < len(self._sources) or not whole:
            return super().subpopulation()
        counted = cast("Sequence[tuple[CountedRecords, Plan]]", sources)
        return Subpopulation(self._everything, WeightedRecords(tuple(counted), self._weights))


class SumMarginals(MomentMarginals):
    """Moment estimates with weight one for every record, which are unbiased for these records."""

    _weights = None


class LikelyMarginals(EstimatedMarginals):
    """The most likely distribution under all sources' reports together."""

    def _table(self, domain: Domain) -> MarginalTable:
        limit = INFORMATION_CELLS if self._several else MARGINAL_CELLS
        _, parts = reported_strata(self._sources, domain.names, limit)
        strata = merged([stratum for _, stratum in parts])
        theta = maximize(strata, tick=self._tick).table
        counts = _margin(theta * self.records, domain)
        [(axes, first), *_] = parts
        if not self._several and first.solvable and first.square:
            # The unrestricted estimator's error at the fitted distribution: equal to the inverse
            # information inside the simplex, and at least ML's error at its edge.
            fitted = (self.records * first.expected(theta[..., None])).reshape(first.reported.shape)
            source = SourceReports(domain, fitted, tuple(axes))
            return EstimatedTable(domain, counts, self.records, (source,))
        silent = self.records - sum(stratum.records for stratum in strata)
        products = inverse_information(strata, theta, len(domain), silent)
        return FactoredTable.likely(domain, counts, self.records, products)

    def _unbiased(self, domain: Domain) -> MarginalTable | None:
        try:
            return EstimatedMarginals.of(self._sources).marginal(domain.names)
        except (EstimationError, SingularChannel):
            return None


class PooledMarginals(EstimatedMarginals):
    """Tables of a few variables out of hundreds; see `PooledTables`."""

    @cached_property
    def _tables(self) -> PooledTables:
        return PooledTables(self._sources, self._everything, self._order, self._tick)

    @classmethod
    def makes_of_pairs(cls, order: int | None) -> bool:
        return (order or 2) <= 2

    def can_estimate(self, variables: Sequence[str]) -> bool:
        return super().can_estimate(variables) and self._tables.may_tell(variables)

    def independence(
        self, left: Sequence[str], right: Sequence[str], given: Sequence[str]
    ) -> Independence:
        self._require_known([*left, *right, *given])
        return self._tables.independence(left, right, given)

    @property
    def lack_of_fit(self) -> tuple[LackOfFit, ...]:
        return self._tables.lack_of_fit(list(self._used.pooled))

    def part(self, variables: Sequence[str] | None = None, *, apart: bool = False) -> Self:
        _ = self._tables  # shared by all parts
        return super().part(variables, apart=apart)

    def _table(self, domain: Domain) -> FactoredTable:
        return self._tables.table(domain)

    def _unbiased(self, domain: Domain) -> FactoredTable | None:
        return self._tables.unbiased(domain)

    def _expected(self, domain: Domain) -> Tensor:
        if self._several:
            return super()._expected(domain)
        table, [(_, stratum)] = reported_strata(self._sources, domain.names, MARGINAL_CELLS)
        return _posterior(domain, stratum, self.marginal(table.names).counts / self.records)


MARGINALS: Mapping[Estimator, type[EstimatedMarginals]] = {
    "moment": MomentMarginals,
    "sum": SumMarginals,
    "ml": LikelyMarginals,
    "pooled": PooledMarginals,
}
"""The class of each estimator."""
