"""From reports to counts with their errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from pramana.frames.tables import Frame
from pramana.reporting.reports import Reports, require_plan
from shared.domain import Domain
from shared.errors import OptionError
from shared.estimation.estimated import EstimatedMarginals
from shared.marginals.counts import LEVEL
from shared.plan import Plan

if TYPE_CHECKING:
    import pandas as pd

    from shared.estimation.estimated import Estimator

EstimatorName = Literal["auto", "moment", "ml", "log-linear", "pooled"]

Source: TypeAlias = Reports | tuple[Frame, Plan]


@dataclass(frozen=True, eq=False, repr=False)
class EstimatedCounts:
    """Counts of the true records, estimated from reports, each with its errors.

    Attributes:
        sources: the reports and their plans.
        marginals: what learners ask.
        estimator: the one that was chosen.
    """

    sources: tuple[Reports, ...]
    marginals: EstimatedMarginals
    estimator: Estimator

    @property
    def domain(self) -> Domain:
        """The variables."""
        return self.marginals.domain

    @property
    def records(self) -> int:
        """The number of records, N."""
        return self.marginals.records

    def table(self, variables: Sequence[str], *, level: float = LEVEL) -> pd.DataFrame:
        """Return an estimated contingency table, a row per cell.

        Columns: the variables; `count`, which may be negative by moments; `se_records`, its
        standard error given these records; `se_population`, that against the population they were
        drawn from; `low` and `high`, the interval against the population.
        """
        return self.marginals.marginal(list(variables)).frame(level)

    def __repr__(self) -> str:
        names = ", ".join(self.domain.names)
        return f"EstimatedCounts({self.records:,} records of {names}; by {self.estimator})"


def estimate(
    reports: Source | Sequence[Source] | Frame,
    plan: Plan | None = None,
    *,
    estimator: EstimatorName = "auto",
    order: int = 2,
) -> EstimatedCounts:
    """Estimate the counts of the true records from reports.

    Args:
        reports: `Reports`; a frame of reported labels, with its `plan`; or several of these, each
            with its plan, of different people of one population.
        plan: how a frame was randomized; `Reports` have their own.
        estimator: `moment` inverts the noise: unbiased, may be negative (Ma 2.4.1). `ml`: the most
            likely counts (Ma 2.4.2). `log-linear` and `pooled`: interactions of at most `order`
            variables. `auto` takes `pooled` where each record reports some of its variables, and
            otherwise `moment`.
        order: the most variables that interact, for `log-linear` and `pooled`.

    Raises:
        TableError, PlanError, OptionError: what was passed cannot be understood.
    """
    sources = sources_of(reports, plan)
    chosen: Estimator
    if estimator == "auto":
        sampled = any(b.channel.choices for s in sources for b in s.plan.blocks)
        chosen = "pooled" if sampled else "moment"
    else:
        chosen = estimator
    marginals = EstimatedMarginals.of(
        [(s.counts, s.plan) for s in sources], estimator=chosen, order=order
    )
    return EstimatedCounts(sources, marginals, chosen)


def sources_of(
    reports: Source | Sequence[Source] | Frame, plan: Plan | None
) -> tuple[Reports, ...]:
    """Return what was passed to `estimate` or `fit` as reports with their plans."""
    if isinstance(reports, Reports):
        if plan is not None and plan.digest != reports.plan.digest:
            raise OptionError(
                "plan is another one than the reports were made under; leave it out, for reports"
                " have their own.",
                where="plan",
            )
        return (reports,)
    if isinstance(reports, list | tuple) and not isinstance(reports[0], dict):
        pairs = [one if isinstance(one, Reports) else Reports.from_frame(*one) for one in reports]
        return tuple(pairs)
    return (Reports.from_frame(reports, require_plan(plan)),)
