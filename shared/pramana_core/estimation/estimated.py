"""Marginals of the true records estimated from reports: of one source, or of several together.

Horizontal owners have the same variables of different people; a record with a missing cell does not
report that variable. Records with one plan are a source. By moments the sources' estimates add up;
else all reports are explained together, also variables that some sources do not report.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Collection, Mapping, Sequence
from typing import Literal, Self, get_args

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
from pramana_core.estimation.by_tables import (
    CombinedSubpopulation,
    TabulatedSubpopulation,
)
from pramana_core.estimation.core.axes import (
    Axis,
    arrange,
    arranged,
    axes_of,
    joined,
    named,
    observed,
    require_reported,
    strata_of,
    sum_unasked,
)
from pramana_core.estimation.core.curvature import INFORMATION_CELLS, inverse_information
from pramana_core.estimation.core.likelihood import maximize
from pramana_core.estimation.core.strata import Stratum, merged, moment
from pramana_core.estimation.estimates import CombinedTable, EstimatedTable, Estimates
from pramana_core.estimation.evidence import Evidence, NetworkExplanation
from pramana_core.estimation.mixed import MixedSupports, served
from pramana_core.estimation.modelled import PairSupports
from pramana_core.estimation.pooled_tables import PooledTables
from pramana_core.estimation.reported import everyone_of
from pramana_core.estimation.supports_by_tables import (
    CombinedSupports,
    DividedSupports,
    TabulatedSupports,
    require_items,
)
from pramana_core.estimation.tables_modelled import (
    FittedModel,
    ModelledTable,
    ModelledTables,
    PooledTable,
)
from pramana_core.marginals.counts import (
    MARGINAL_CELLS,
    Independence,
    ReportTables,
    Subpopulation,
    Supports,
    Tensor,
)
from pramana_core.marginals.score_interval import LackOfFit
from pramana_core.marginals.support_counts import Item
from pramana_core.marginals.tabulated_counts import NoisyCounts, noise_of
from pramana_core.plan import Plan
from pramana_core.progress import Tick, no_cancel

# Which tables of a model were taken, and so what must be known of what was made of them.

Names = tuple[str, ...]


class UsedTables:
    """A note of the tables that somebody took, in their order, whether or not they were kept.

    Args:
        pooled: what tests pooled tables.
        whole: the note of which this is a part: what is noted here is noted there, too.
    """

    def __init__(self, pooled: PooledTables, whole: UsedTables | None = None):
        self._tables, self._whole = pooled, whole
        self._models: dict[tuple[Names, int], FittedModel] = {}
        self._pooled: dict[Names, None] = {}
        self._filled: dict[Names, None] = {}

    def note(self, names: Names, table: ModelledTable | PooledTable) -> None:
        """Note a table of some variables, named in the order of their domain."""
        if isinstance(table, ModelledTable):
            self._models[table.model.names, table.model.order] = table.model
        else:
            self._pooled[names] = None
        if table.filled_in:
            self._filled[names] = None
        if self._whole is not None:
            self._whole.note(names, table)

    def note_filled(self, names: Names) -> None:
        """Note variables of which something was made of smaller tables."""
        self._filled[names] = None
        if self._whole is not None:
            self._whole.note_filled(names)

    @property
    def lack_of_fit(self) -> tuple[LackOfFit, ...]:
        """Of each model of these tables, whether the reports contradict it."""
        models = tuple(model.lack_of_fit for model in list(self._models.values()))
        return (*models, *self._tables.lack_of_fit(list(self._pooled)))

    @property
    def filled_in(self) -> tuple[Names, ...]:
        """The variables of those tables that were made of smaller ones."""
        return tuple(self._filled)


Estimator = Literal["moment", "ml", "log-linear", "pooled"]
ESTIMATORS: tuple[Estimator, ...] = get_args(Estimator)


class EstimatedMarginals:
    """Marginals of the true records, estimated from reported ones under a plan, or several.

    Args:
        reported: counts of reported codes of (at least) all variables of the plan's blocks.
        plan: the channels; variables not randomized have the identity.
        estimator: `moment` (unbiased, may be negative; all sources must report all variables
            asked), `ml` (a distribution times N), for one source `log-linear` (the same without
            interactions of more than `order` variables, shrunk as the reports demand), or `pooled`
            (that of tables of few variables out of hundreds: see `PooledTables`). The last two tell
            more than records report together; that holds if no more variables interact.
        order: the most variables that interact, for `log-linear` and `pooled`; None for as many
            as records report together (`default_order`), and in supports of items for two.
        others: further sources, of other records of the same population.
        variables: those of `domain`; by default all. Joint blocks may bring in more.
        tick: called all along long estimates; what it raises stops them.

    Raises:
        OptionError: an unknown estimator, one that does not serve several sources, or no order.
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
            told = f"There is no estimator {estimator!r}."
            raise OptionError(told, remedy=f"Choose one of {list(ESTIMATORS)}.")
        if others and estimator == "log-linear":
            told = f"Strata cannot be combined by the estimator {estimator!r}."
            raise OptionError(told, where="estimator", remedy="Choose 'moment', 'ml' or 'pooled'.")
        self._reported, self._plan, self._tick = reported, plan, tick
        self._estimator, self._order = estimator, order
        self._sources = ((reported, plan), *others)
        self._everything = joined([plan.domain for _, plan in self._sources])
        self._domain = self._everything.project(variables or self._everything.names)
        self._evidence = Evidence(self._sources, tick)
        self._modelled = ModelledTables(reported, plan, order, tick)
        self._pooled = PooledTables(self._sources, self._everything, order, tick)
        self._taken = UsedTables(self._pooled)
        several = self._sources if others else ()
        self._parts = tuple(EstimatedMarginals(*source, tick=tick) for source in several)

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
        return sum(reports.records for reports, _ in self._sources)

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
        if self._estimator in ("log-linear", "pooled"):
            return self._of_model(domain)
        if self._estimator == "ml":
            return self._most_likely_of_all(domain) if self._parts else self._most_likely(domain)
        if not self._parts:
            return self._by_moments(domain)
        require_reported(self._sources, variables)
        return CombinedTable.of([part.marginal(variables) for part in self._parts])

    def can_estimate(self, variables: Sequence[str]) -> bool:
        """Return whether reports tell a table, or a model of all variables; see `Marginals`."""
        self._require_known(variables)
        if self._estimator == "moment":
            return all(plan.reports_together(variables) for _, plan in self._sources)
        few = self._estimator != "pooled" or self._pooled.may_tell(variables)
        return self._estimator == "log-linear" or (few and self.jointly_reported(variables))

    def unbiased(self, variables: Sequence[str]) -> Estimates | None:
        """Return the estimate by moments, also where the marginals are the most likely ones.

        None where there is none: a source does not report all variables, a channel has no inverse,
        or the table is of a model. By moments, it raises as `marginal`.
        """
        if self._estimator == "moment":
            return self.marginal(variables)
        if self._estimator == "pooled":
            return self._pooled.unbiased(self._asked(variables))
        if self._estimator == "log-linear":
            return None
        try:
            return EstimatedMarginals.of(self._sources, variables=variables).marginal(variables)
        except (EstimationError, SingularChannel):
            return None

    def expected(self, variables: Sequence[str]) -> Tensor:
        """Return the posterior expectation of each true cell's count (see `Marginals`).

        The prior by moments is each source's estimate with its negative counts set to zero, or,
        where some reports could not be then, the most likely table.

        Raises:
            As `marginal`; EstimationError for reports that no truth can make.
        """
        domain = self._asked(variables)
        if not self._parts:
            return self._posterior(domain)
        if self._estimator != "moment":
            return self.marginal(variables).counts
        require_reported(self._sources, variables)
        return np.asarray(np.sum([part.expected(variables) for part in self._parts], axis=0))

    def subpopulation(self) -> Subpopulation:
        """Return all records; see `Marginals`."""
        every = all(len(plan.domain) == len(self._everything) for _, plan in self._sources)
        if self._estimator != "moment" or not every:
            return TabulatedSubpopulation(self, {})
        if self._parts:
            return CombinedSubpopulation(tuple(part.subpopulation() for part in self._parts))
        whole = everyone_of(self._plan, self._reported)
        return TabulatedSubpopulation(self, {}) if whole is None else whole

    def supports(self, items: Sequence[Item]) -> Supports:
        """Return what estimates supports, the faster way that serves; see `Marginals`."""
        asked = tuple(items)
        require_items(self.domain, asked)
        if self._estimator == "pooled" and (self._order or 2) <= 2:
            made = PairSupports(self, asked, self._taken.note_filled)
            return DividedSupports.told(made, self)
        tabulated = TabulatedSupports(self, asked)
        noisy = any(isinstance(reports, NoisyCounts) for reports, _ in self._sources)
        mixing = np.all([served(plan, asked) for _, plan in self._sources], axis=0)
        if self._estimator != "moment" or noisy or not mixing.any():
            return tabulated
        if not self._parts:
            mixed = MixedSupports(self._reported, self._plan, asked, self._tick)
            return mixed if mixing.all() else DividedSupports.by_items(mixed, tabulated, mixing)
        if not mixing.all():
            return tabulated
        strata = (MixedSupports(*s, asked, self._tick, self.records) for s in self._sources)
        return CombinedSupports(tuple(strata))

    def independence(
        self, left: Sequence[str], right: Sequence[str], given: Sequence[str]
    ) -> Independence:
        """Return the evidence in the reports on the independence of `left` and `right` given more.

        It is the reports' likelihood (see `Evidence`), or of pooled tables Wald's statistic.
        """
        self._require_known([*left, *right, *given])
        if self._estimator == "pooled":
            return self._pooled.independence(left, right, given)
        return self._evidence.independence(left, right, given)

    def explanation(self, parents: Mapping[str, Collection[str]]) -> NetworkExplanation | None:
        """Return how well a network explains the reports of whole records; see `Evidence`."""
        self._require_known(parents)
        return self._evidence.explanation(parents)

    def jointly_reported(self, variables: Sequence[str]) -> bool:
        """Return whether some records report all these variables; see `Marginals`."""
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
        """Return these marginals with a note of their own of the tables that are taken of them.

        What was estimated is shared. Raises UnknownVariable.

        Args:
            variables: those of `domain`; by default the same.
            apart: whether these marginals are not to note what is taken of the others.
        """
        made = copy.copy(self)
        domain = self._everything.project(variables) if variables else self._domain
        taken = UsedTables(self._pooled, None if apart else self._taken)
        vars(made).update(_domain=domain, _taken=taken)
        return made

    def _asked(self, variables: Sequence[str]) -> Domain:
        if not variables or len(set(variables)) != len(variables):
            raise OptionError(f"A marginal needs distinct variables, not {list(variables)}.")
        return self._everything.project(variables)

    def _require_known(self, names: Collection[str]) -> None:
        for name in names:
            self._everything.axis(name)

    def _reports(
        self, domain: Domain, *, noise_counted: bool = False
    ) -> tuple[list[Axis], Stratum]:
        """Return the reports of one source over some variables, an axis per block."""
        axes = axes_of(self._plan, domain.names)
        cells = math.prod(axis.channel.shape[0] for axis in axes)
        if cells > MARGINAL_CELLS:
            raise LimitExceeded(
                f"The table over {named(axes)} has {cells} cells; at most {MARGINAL_CELLS} are"
                " allowed.",
                remedy="Ask for fewer variables at once.",
            )
        reported = observed(self._reported, axes, noise_counted=noise_counted)
        return axes, Stratum(reported, tuple(axis.channel for axis in axes))

    def _of_model(self, domain: Domain) -> ModelledTable | PooledTable:
        tables = self._modelled if self._estimator == "log-linear" else self._pooled
        found = tables.table(domain)
        self._taken.note(tuple(sorted(domain.names, key=self._everything.axis)), found)
        return found

    def _by_moments(self, domain: Domain) -> EstimatedTable:
        axes, stratum = self._reports(domain, noise_counted=True)
        return EstimatedTable(
            domain,
            arrange(sum_unasked(moment([stratum]), axes), axes, domain),
            self.records,
            stratum.reported,
            tuple(axes),
            noise=noise_of(self._reported, named(axes)),
        )

    def _posterior(self, domain: Domain) -> Tensor:
        axes, stratum = self._reports(domain)
        prior = self._prior(axes, stratum)
        reports = stratum.expected(prior[..., None])
        seen = np.divide(stratum.column, reports, where=reports > 0, out=np.zeros_like(reports))
        posterior = stratum.adjoint(seen)[..., 0] * prior
        return arrange(sum_unasked(posterior, axes), axes, domain)

    def _prior(self, axes: Sequence[Axis], stratum: Stratum) -> Tensor:
        """Return an estimated distribution over the axes' cells under which all reports can be."""
        if self._estimator in ("log-linear", "pooled"):
            whole = self.marginal(named(axes))
            return whole.counts.reshape(stratum.shape) / self.records
        if self._estimator == "moment":
            estimate = np.maximum(moment([stratum]), 0.0)
            if estimate.any():
                prior: Tensor = estimate / estimate.sum()
                if (stratum.expected(prior[..., None])[stratum.column > 0] > 0).all():
                    return prior
        likely = maximize([stratum], tick=self._tick).table
        if any(channel.shape[0] > channel.shape[1] for channel in stratum.channels):
            # Others may be as likely: that is refused where the errors are made.
            self._likely_table(self._plan.domain.project(named(axes)), axes, stratum, likely)
        return likely

    def _most_likely(self, domain: Domain) -> EstimatedTable:
        axes, stratum = self._reports(domain)
        likely = maximize([stratum], tick=self._tick).table
        return self._likely_table(domain, axes, stratum, likely)

    def _likely_table(
        self, domain: Domain, axes: Sequence[Axis], stratum: Stratum, theta: Tensor
    ) -> EstimatedTable:
        information, third = None, None
        if any(
            c.shape[0] != c.shape[1] or c.condition_number > CONDITION_LIMIT
            for c in stratum.channels
        ):
            strata = strata_of(self._sources, domain.names, INFORMATION_CELLS)
            table = arranged(theta, axes, strata[0].groups)
            information, third = inverse_information(strata, table, len(domain))
        return EstimatedTable(
            domain,
            arrange(sum_unasked(theta * self.records, axes), axes, domain),
            self.records,
            # The unrestricted estimator's error at the fitted distribution: equal to the inverse
            # information inside the simplex, and no smaller than ML's error at its edge.
            self.records * stratum.expected(theta[..., None]).reshape(stratum.reported.shape),
            tuple(axes),
            information,
            third,
        )

    def _most_likely_of_all(self, domain: Domain) -> EstimatedTable:
        strata = merged(strata_of(self._sources, domain.names, INFORMATION_CELLS))
        theta = maximize(strata, tick=self._tick).table
        silent = self.records - sum(stratum.records for stratum in strata)
        information, third = inverse_information(strata, theta, len(domain), silent)
        nuisance = tuple(range(len(domain), theta.ndim))
        counts = np.asarray(theta.sum(axis=nuisance) * self.records)
        return EstimatedTable(domain, counts, self.records, counts, (), information, third)
