"""Marginals of the true records estimated from reports: of one source, or of several together.

Records with one plan are a source; a record with a missing cell does not report that variable. By
moments each source's estimate counts by its information (`weights`), or all add up (`sum`); the
other estimators explain all reports together, also variables that some sources do not report.
"""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import Literal, Self, cast, get_args

import numpy as np

from pramana_core.channels import CONDITION_LIMIT
from pramana_core.domain import Domain
from pramana_core.errors import (
    EmptyTable,
    EstimationError,
    LimitExceeded,
    OptionError,
    SingularChannel,
)
from pramana_core.estimation.axes import (
    Axis,
    Stratum,
    arrange,
    arranged,
    axes_of,
    joined,
    merged,
    moment,
    named,
    observed,
    require_reported,
    strata_of,
    sum_unasked,
)
from pramana_core.estimation.evidence import Evidence, NetworkExplanation
from pramana_core.estimation.information import INFORMATION_CELLS, inverse_information
from pramana_core.estimation.likelihood import maximize
from pramana_core.estimation.pooled_tables import PooledTables
from pramana_core.estimation.subpopulations import ReportedSubpopulation, TabulatedSubpopulation
from pramana_core.estimation.supports import TabulatedSupports, require_items
from pramana_core.estimation.supports_pooled import PooledSupports
from pramana_core.estimation.table_estimates import (
    CombinedTable,
    EstimatedTable,
    Estimates,
    FactoredTable,
)
from pramana_core.estimation.weights import SourceWeights
from pramana_core.marginals.counts import (
    CUBE_CELLS,
    MARGINAL_CELLS,
    Independence,
    RecordTables,
    ReportTables,
    Subpopulation,
    Supports,
    Tensor,
)
from pramana_core.marginals.lack_of_fit import LackOfFit
from pramana_core.marginals.passes import CountedRecords
from pramana_core.marginals.support_counts import Item
from pramana_core.plan import Plan
from pramana_core.progress import Tick, no_cancel

Estimator = Literal["moment", "sum", "ml", "pooled"]
ESTIMATORS: tuple[Estimator, ...] = get_args(Estimator)

Source = tuple[ReportTables, Plan]


def choose_estimator(plans: Sequence[Plan]) -> Estimator:
    """Return the estimator that serves records reported under some plans best.

    `pooled` where records report some of their variables, `ml` where they report different ones or
    a matrix is near to singular, else `moment`.
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


class CountEstimator(ABC):
    """A way to estimate true counts from reports. A new one is one class in `COUNT_ESTIMATORS`.

    Args:
        sources: the reports, with their plans.
        everything: all variables of the plans.
        order: the most variables that interact, where it is a model; None for the default.
        tick: called all along long estimates.
    """

    pooled: PooledTables | None = None

    def __init__(
        self, sources: Sequence[Source], everything: Domain, order: int | None, tick: Tick
    ):
        self.sources, self.everything, self.order, self.tick = sources, everything, order, tick
        self.evidence = Evidence(sources, tick)

    @property
    def several(self) -> bool:
        """Whether there is more than one source."""
        return len(self.sources) > 1

    @property
    def records(self) -> int:
        """The number of records of all sources."""
        return sum(reports.records for reports, _ in self.sources)

    @abstractmethod
    def table(self, domain: Domain) -> Estimates:
        """Return the table over some variables; see `EstimatedMarginals.marginal`."""

    @abstractmethod
    def unbiased(self, domain: Domain) -> Estimates | None:
        """Return the unbiased table over some variables, if there is one."""

    def can_estimate(self, variables: Sequence[str]) -> bool:
        """Return whether reports tell a table, with no smaller ones filled in."""
        return any(plan.reports_together(variables) for _, plan in self.sources)

    def expected(self, domain: Domain, marginal: Callable[[Sequence[str]], Estimates]) -> Tensor:
        """Return the posterior expectation of each true cell's count."""
        if self.several:
            return marginal(domain.names).counts
        axes, stratum = self.reports(domain)
        return _posterior(domain, axes, stratum, self.prior(axes, stratum))

    def prior(self, axes: Sequence[Axis], stratum: Stratum) -> Tensor:
        """Return an estimated distribution over the axes' cells under which all reports can be."""
        likely = maximize([stratum], tick=self.tick).table
        if any(channel.shape[0] > channel.shape[1] for channel in stratum.channels):
            # Others may be as likely: that is refused where the errors are made.
            self.likely_table(self.everything.project(named(axes)), axes, stratum, likely)
        return likely

    def subpopulation(self, marginals: EstimatedMarginals) -> Subpopulation:
        """Return all records of marginals that are estimated so."""
        return TabulatedSubpopulation(marginals, {})

    @classmethod
    def makes_of_pairs(cls, order: int | None) -> bool:  # noqa: ARG003
        """Return whether supports of itemsets are made of the tables of pairs, by an order."""
        return False

    def supports(self, marginals: EstimatedMarginals, items: tuple[Item, ...]) -> Supports:
        """Return what estimates supports in marginals that are estimated so."""
        return TabulatedSupports(marginals, items, cells=self._cells, count_ahead=self._count_ahead)

    def _cells(self, names: Sequence[str]) -> int:
        """Return the true or reported cells, whichever are more, of a table over some variables."""
        return max(
            math.prod(max(axis.channel.shape) for axis in axes_of(plan, names))
            for _, plan in self.sources
        )

    def _count_ahead(self, tables: Sequence[Sequence[str]]) -> None:
        """Count the reports behind several tables in one pass."""
        for reports, plan in self.sources:
            # Sums of a cube that is counted once are not kept.
            if isinstance(reports, RecordTables) and reports.cells > CUBE_CELLS:
                known = [names for names in tables if all(n in plan.domain for n in names)]
                reports.tables([named(axes_of(plan, names)) for names in known], self.tick)

    def independence(
        self, left: Sequence[str], right: Sequence[str], given: Sequence[str]
    ) -> Independence:
        """Return the evidence on the independence of some variables given others."""
        return self.evidence.independence(left, right, given)

    def reports(self, domain: Domain) -> tuple[list[Axis], Stratum]:
        """Return the reports of one source over some variables, an axis per block."""
        [(reports, plan)] = self.sources
        axes = axes_of(plan, domain.names)
        cells = math.prod(axis.channel.shape[0] for axis in axes)
        if cells > MARGINAL_CELLS:
            raise LimitExceeded(
                f"The table over {named(axes)} has {cells} cells; at most {MARGINAL_CELLS} are"
                " allowed.",
                remedy="Ask for fewer variables at once.",
            )
        reported = observed(reports, axes)
        return axes, Stratum(reported, tuple(axis.channel for axis in axes))

    def likely_table(
        self, domain: Domain, axes: Sequence[Axis], stratum: Stratum, theta: Tensor
    ) -> Estimates:
        """Return the most likely table of one source with its errors."""
        counts = arrange(sum_unasked(theta * self.records, axes), axes, domain)
        if all(
            c.shape[0] == c.shape[1] and c.condition_number <= CONDITION_LIMIT
            for c in stratum.channels
        ):
            # The unrestricted estimator's error at the fitted distribution: equal to the inverse
            # information inside the simplex, and no smaller than ML's error at its edge.
            reports = self.records * stratum.expected(theta[..., None])
            fitted = reports.reshape(stratum.reported.shape)
            return EstimatedTable(domain, counts, self.records, fitted, tuple(axes))
        strata = strata_of(self.sources, domain.names, INFORMATION_CELLS)
        table = arranged(theta, axes, strata[0].groups)
        products = inverse_information(strata, table, len(domain))
        return FactoredTable.likely(domain, counts, self.records, products)


def _posterior(domain: Domain, axes: Sequence[Axis], stratum: Stratum, prior: Tensor) -> Tensor:
    reports = stratum.expected(prior[..., None])
    seen = np.divide(stratum.column, reports, where=reports > 0, out=np.zeros_like(reports))
    posterior = stratum.adjoint(seen)[..., 0] * prior
    return arrange(sum_unasked(posterior, axes), axes, domain)


class MomentEstimator(CountEstimator):
    """Unbiased, by each source's inverse channels; of several sources the best weighted sum."""

    @cached_property
    def parts(self) -> tuple[EstimatedMarginals, ...]:
        """The marginals of each source alone, where there are several."""
        return tuple(EstimatedMarginals(*source, tick=self.tick) for source in self.sources)

    @cached_property
    def weights(self) -> SourceWeights | None:
        """How much each source counts; None where each of its records counts as one."""
        if len({plan.digest for _, plan in self.sources}) == 1:
            return None
        return SourceWeights(
            tuple(plan for _, plan in self.sources),
            np.array([float(reports.records) for reports, _ in self.sources]),
            self.everything,
            lambda source, name: self.parts[source].marginal([name]).counts,
        )

    def can_estimate(self, variables: Sequence[str]) -> bool:
        return all(plan.reports_together(variables) for _, plan in self.sources)

    def table(self, domain: Domain) -> Estimates:
        if self.several:
            require_reported(self.sources, domain.names)
            tables = [part.marginal(domain.names) for part in self.parts]
            factors = self.weights.of_table(domain.names) if self.weights else None
            return CombinedTable.of(tables, factors)
        axes, stratum = self.reports(domain)
        return EstimatedTable(
            domain,
            arrange(sum_unasked(moment([stratum]), axes), axes, domain),
            self.records,
            stratum.reported,
            tuple(axes),
        )

    unbiased = table

    def expected(self, domain: Domain, marginal: Callable[[Sequence[str]], Estimates]) -> Tensor:
        """Return the sum of the sources' expectations, with the weighted table as prior.

        Without weights, or where other sources lack a variable, a source's own table is its prior.
        """
        if not self.several:
            return super().expected(domain, marginal)
        require_reported(self.sources, domain.names)
        found = np.zeros(domain.shape)
        for source in self.sources:
            part = MomentEstimator([source], self.everything, None, self.tick)
            axes, stratum = part.reports(domain)
            known = all(name in plan.domain for _, plan in self.sources for name in named(axes))
            shared = None
            if known and self.weights is not None:
                shared = marginal(named(axes)).counts.reshape(stratum.shape)
            found += _posterior(domain, axes, stratum, part.prior(axes, stratum, shared))
        return found

    def prior(self, axes: Sequence[Axis], stratum: Stratum, counts: Tensor | None = None) -> Tensor:
        """Return counts (default: the estimate) without negative ones, or the likely table."""
        estimate = np.maximum(moment([stratum]) if counts is None else counts, 0.0)
        if estimate.any():
            prior: Tensor = estimate / estimate.sum()
            if (stratum.expected(prior[..., None])[stratum.column > 0] > 0).all():
                return prior
        return super().prior(axes, stratum)

    def subpopulation(self, marginals: EstimatedMarginals) -> Subpopulation:
        sources = [(r, plan) for r, plan in self.sources if isinstance(r, RecordTables)]
        whole = all(len(plan.domain) == len(self.everything) for _, plan in sources)
        if len(sources) < len(self.sources) or not whole:
            return super().subpopulation(marginals)
        counted = cast("Sequence[tuple[CountedRecords, Plan]]", sources)
        return ReportedSubpopulation(tuple(counted), self.weights if self.several else None, {})


class SumEstimator(MomentEstimator):
    """By moments, each record of every source counting as one: unbiased for these records."""

    weights = None


class LikelihoodEstimator(CountEstimator):
    """The most likely distribution; all sources' reports are explained together."""

    def table(self, domain: Domain) -> Estimates:
        if not self.several:
            axes, stratum = self.reports(domain)
            likely = maximize([stratum], tick=self.tick).table
            return self.likely_table(domain, axes, stratum, likely)
        strata = merged(strata_of(self.sources, domain.names, INFORMATION_CELLS))
        theta = maximize(strata, tick=self.tick).table
        silent = self.records - sum(stratum.records for stratum in strata)
        products = inverse_information(strata, theta, len(domain), silent)
        nuisance = tuple(range(len(domain), theta.ndim))
        counts = np.asarray(theta.sum(axis=nuisance) * self.records)
        return FactoredTable.likely(domain, counts, self.records, products)

    def unbiased(self, domain: Domain) -> Estimates | None:
        try:
            return EstimatedMarginals.of(self.sources).marginal(domain.names)
        except (EstimationError, SingularChannel):
            return None


class PooledEstimator(CountEstimator):
    """Tables of few variables out of hundreds; see `PooledTables`."""

    def __init__(
        self, sources: Sequence[Source], everything: Domain, order: int | None, tick: Tick
    ):
        super().__init__(sources, everything, order, tick)
        self.pooled = self.tables = PooledTables(sources, everything, order, tick)

    @classmethod
    def makes_of_pairs(cls, order: int | None) -> bool:
        return (order or 2) <= 2

    def can_estimate(self, variables: Sequence[str]) -> bool:
        return self.tables.may_tell(variables) and super().can_estimate(variables)

    def expected(self, domain: Domain, marginal: Callable[[Sequence[str]], Estimates]) -> Tensor:
        if self.several:
            return super().expected(domain, marginal)
        axes, stratum = self.reports(domain)
        prior = marginal(named(axes)).counts.reshape(stratum.shape) / self.records
        return _posterior(domain, axes, stratum, prior)

    def table(self, domain: Domain) -> FactoredTable:
        return self.tables.table(domain)

    def unbiased(self, domain: Domain) -> FactoredTable | None:
        return self.tables.unbiased(domain)

    def independence(
        self, left: Sequence[str], right: Sequence[str], given: Sequence[str]
    ) -> Independence:
        return self.tables.independence(left, right, given)


COUNT_ESTIMATORS: Mapping[Estimator, type[CountEstimator]] = {
    "moment": MomentEstimator,
    "sum": SumEstimator,
    "ml": LikelihoodEstimator,
    "pooled": PooledEstimator,
}


class UsedTables:
    """A note of the tables that were taken, which `whole`, if given, repeats."""

    def __init__(self, pooled: PooledTables | None, whole: UsedTables | None = None):
        self._tables, self._whole = pooled, whole
        self._pooled: dict[tuple[str, ...], None] = {}
        self._filled: dict[tuple[str, ...], None] = {}

    def note(self, names: tuple[str, ...], table: FactoredTable) -> None:
        """Note a table of some variables, named in the order of their domain."""
        self._pooled[names] = None
        if table.filled_in:
            self._filled[names] = None
        if self._whole is not None:
            self._whole.note(names, table)

    def note_filled(self, names: tuple[str, ...]) -> None:
        """Note variables of which something was made of smaller tables."""
        self._filled[names] = None
        if self._whole is not None:
            self._whole.note_filled(names)

    @property
    def lack_of_fit(self) -> tuple[LackOfFit, ...]:
        """Whether the reports show interactions that these tables leave out."""
        return self._tables.lack_of_fit(list(self._pooled)) if self._tables else ()

    @property
    def filled_in(self) -> tuple[tuple[str, ...], ...]:
        """The variables of those tables that were made of smaller ones."""
        return tuple(self._filled)


class EstimatedMarginals:
    """Marginals of the true records, estimated from reported ones under a plan, or several.

    Args:
        reported: counts of reported codes of (at least) all variables of the plan's blocks.
        plan: the channels; variables not randomized have the identity.
        estimator: `moment` (unbiased, may be negative; all sources must report all variables
            asked, and those with less noise count more), `sum` (the same with all records counting
            alike), `ml` (a distribution times N), or `pooled` (that of tables of few variables out
            of hundreds: see `PooledTables`), which tells more than records report together, if no
            more than `order` variables interact.
        order: the most variables that interact, for `pooled`; None for as many as records report
            together (`default_order`), and in supports of items for two.
        others: further sources, of other records of the same population.
        variables: those of `domain`; by default all. Joint blocks may bring in more.
        tick: called all along long estimates; what it raises stops them.

    Raises:
        OptionError: an unknown estimator, or no order.
        DomainError: a variable has other categories in another source.
    """

    def __init__(
        self,
        reported: ReportTables,
        plan: Plan,
        *,
        estimator: Estimator = "moment",
        order: int | None = None,
        others: Sequence[tuple[ReportTables, Plan]] = (),
        variables: Sequence[str] | None = None,
        tick: Tick = no_cancel,
    ) -> None:
        if estimator not in ESTIMATORS:
            message = f"There is no estimator {estimator!r}."
            raise OptionError(message, remedy=f"Choose one of {list(ESTIMATORS)}.")
        if order is not None and order < 1:
            raise OptionError(f"order must be at least 1, not {order}.", where="order")
        self._sources, self._tick = ((reported, plan), *others), tick
        self._everything = joined([plan.domain for _, plan in self._sources])
        self._domain = self._everything.project(variables or self._everything.names)
        self._estimator = COUNT_ESTIMATORS[estimator](self._sources, self._everything, order, tick)
        self._taken = UsedTables(self._estimator.pooled)

    @classmethod
    def of(
        cls,
        sources: Sequence[tuple[ReportTables, Plan]],
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
        """The variables."""
        return self._domain

    @property
    def records(self) -> int:
        """The number of records of all sources."""
        return self._estimator.records

    def marginal(self, variables: Sequence[str]) -> Estimates:
        """Return the estimated table over `variables`, axes in that order.

        A joint block whose channel is not lumpable for the variables asked is estimated whole and
        summed out.

        Raises:
            UnknownVariable: a variable that no plan has.
            OptionError: a variable named twice, or none.
            EstimationError: a source does not report all of them, and the estimator is `moment`;
                or the reports cannot tell all cells apart.
            SingularChannel: a channel has no inverse and the estimator is `moment`.
            LimitExceeded: too many cells.
            NotConverged: see `maximize`.
        """
        self._tick()
        domain = self._asked(variables)
        found = self._estimator.table(domain)
        if isinstance(found, FactoredTable):
            self._taken.note(tuple(sorted(domain.names, key=self._everything.axis)), found)
        return found

    def can_estimate(self, variables: Sequence[str]) -> bool:
        self._require_known(variables)
        return self._estimator.can_estimate(variables)

    def unbiased(self, variables: Sequence[str]) -> Estimates | None:
        """Return the unbiased estimate, also where the marginals are the most likely ones.

        None where a source does not report all variables, a channel has no inverse, or the table
        is of a model. By moments, it raises as `marginal`.
        """
        return self._estimator.unbiased(self._asked(variables))

    def expected(self, variables: Sequence[str]) -> Tensor:
        """Return the posterior expectation of each true cell's count (see `Marginals`).

        Raises as `marginal`; EstimationError for reports that no truth can make.
        """
        return self._estimator.expected(self._asked(variables), self.marginal)

    def subpopulation(self) -> Subpopulation:
        return self._estimator.subpopulation(self)

    def supports(self, items: Sequence[Item]) -> Supports:
        asked = tuple(items)
        require_items(self.domain, asked)
        if not self._estimator.makes_of_pairs(self._estimator.order):
            return self._estimator.supports(self, asked)
        return PooledSupports(self, asked, self._taken.note_filled)

    def independence(
        self, left: Sequence[str], right: Sequence[str], given: Sequence[str]
    ) -> Independence:
        """Return the reports' likelihood (see `Evidence`), or Wald's statistic of pooled tables."""
        self._require_known([*left, *right, *given])
        return self._estimator.independence(left, right, given)

    def explanation(self, parents: Mapping[str, Collection[str]]) -> NetworkExplanation | None:
        self._require_known(parents)
        return self._estimator.evidence.explanation(parents)

    def jointly_reported(self, variables: Sequence[str]) -> bool:
        self._require_known(variables)
        return any(plan.reports_together(variables) for _, plan in self._sources)

    @property
    def lack_of_fit(self) -> tuple[LackOfFit, ...]:
        """Of each model of the tables taken so far, whether the reports contradict it."""
        return self._taken.lack_of_fit

    @property
    def filled_in(self) -> tuple[tuple[str, ...], ...]:
        """The sets of variables of the tables taken so far that are made of smaller tables."""
        return self._taken.filled_in

    def part(self, variables: Sequence[str] | None = None, *, apart: bool = False) -> Self:
        """Return these marginals, or some of their variables, with a note of tables of their own.

        `apart`: tables taken of the new marginals are not noted here. Raises UnknownVariable.
        """
        made = copy.copy(self)
        domain = self._everything.project(variables) if variables else self._domain
        taken = UsedTables(self._estimator.pooled, None if apart else self._taken)
        vars(made).update(_domain=domain, _taken=taken)
        return made

    def _asked(self, variables: Sequence[str]) -> Domain:
        if not variables or len(set(variables)) != len(variables):
            raise OptionError(f"A marginal needs distinct variables, not {list(variables)}.")
        return self._everything.project(variables)

    def _require_known(self, names: Collection[str]) -> None:
        for name in names:
            self._everything.axis(name)
