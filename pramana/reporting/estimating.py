"""From reports to counts with their errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Literal

from annotated_types import Ge

from pramana.frames.sentences import checked_options, joined, listed, one_sentence, warn_each
from pramana.frames.tables import names_of
from pramana.reporting.levels import Groups, levels_of
from pramana.reporting.reports import Reports
from pramana.reporting.sources import Source as Source
from pramana.reporting.sources import Sources, sources_of
from pramana.reporting.tabulating import (
    tabulated,
    tabulated_each,
    tabulated_means,
)
from pramana.showing import Drawn, counts_chart, plotted
from pramana_core.domain import Domain
from pramana_core.errors import OptionError
from pramana_core.estimation.estimated import EstimatedMarginals, choose_estimator
from pramana_core.learn.common.options import InnerShare, require_limit
from pramana_core.marginals.lack_of_fit import filled_in_words, warnings_of
from pramana_core.marginals.tables import LEVEL, column_of
from pramana_core.pictures.plots import Chart
from pramana_core.plan import Plan

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from pramana_core.estimation.estimated import Estimator

EstimatorName = Literal["auto", "moment", "sum", "ml", "pooled"]

_EACH = ["variable", "category"]
"""What names a row of the tables of one variable each."""


@dataclass(frozen=True, eq=False, repr=False)
class EstimatedCounts(Drawn):
    """Counts of the true records, estimated from reports, each with its errors.

    `estimate` makes them; every estimator's `fit` takes them in place of the reports.

    Attributes:
        sources: the reports and their plans.
        marginals: the tables that learners use.
        estimator: the one that was chosen.
        order: the most variables that interact, for `pooled`; None follows the records.

    Examples:
        >>> import pramana as pm
        >>> people = pm.example("berkeley")
        >>> domain = pm.Domain.of(sex=["female", "male"], admitted=["no", "yes"])
        >>> counts = pm.estimate(people, pm.Plan.unrandomized(domain))
        >>> counts
        EstimatedCounts(4,526 records of sex, admitted; by moment)
        >>> print(counts.table(["sex", "admitted"])[["sex", "admitted", "count", "se_population"]]
        ...     .round(1).to_string(index=False))
           sex admitted  count  se_population
        female       no 1278.0           30.3
        female      yes  557.0           22.1
          male       no 1493.0           31.6
          male      yes 1198.0           29.7
    """

    sources: tuple[Reports, ...]
    marginals: EstimatedMarginals
    estimator: Estimator
    order: int | None = None

    @property
    def domain(self) -> Domain:
        """The variables, with their true categories."""
        return self.marginals.domain

    @property
    def records(self) -> int:
        """The number of records, N, of all sources together."""
        return self.marginals.records

    def __len__(self) -> int:
        return self.records

    def table(
        self,
        variables: str | Sequence[str],
        *,
        level: float = LEVEL,
        shares: bool = False,
        projected: bool = False,
    ) -> pd.DataFrame:
        """Return an estimated contingency table, a row per cell.

        Args:
            variables: one name, or a list of them.
            level: the confidence of the intervals, above 0 and below 1.
            shares: whether to give shares of the records in place of their numbers, with their
                errors; `count` is called `share` then.
            projected: whether to add a column `projected`: the nearest table whose cells are not
                negative, with the same sum; of `pooled` counts, those after shrinkage.

        Returns:
            Columns: the variables, categorical, in the order of their domain (one with the name of
            a column below, such as `low`, as `low (variable)`); `count`, the raw estimate, which
            may be negative by moments; `low` and `high`, the interval against the population;
            `se_records`, the standard error given these records; `se_population`, that against the
            population. Pooled counts have a last column, `filled_in`: whether they come from
            smaller tables, because no record reports all the variables or more of them may not
            interact. These have the error against the population in both places.

        Warns where the reports contradict a model of this table (`lack_of_fit`).
        Raises UnknownVariable, OptionError, SingularChannel, EstimationError, LimitExceeded.
        """
        names = names_of(variables, "variables", some=True)
        part = self.marginals.part()
        frame = tabulated(part, names, level, shares=shares, projected=projected)
        warn_each(_contradicted(part))
        return frame

    def means(
        self,
        variable: str,
        by: str | Sequence[str] = (),
        *,
        values: Sequence[float] | None = None,
        level: float = LEVEL,
    ) -> pd.DataFrame:
        """Return the estimated mean of a variable, of all records or in each group.

        Args:
            variable: its categories must be numbers, or intervals with `representatives`.
            by: one name, or a list of them: a row for each combination of their categories.
            values: the number that stands for each category, in the order of the domain; None
                takes the domain's `representatives`. The mean of 0 and 1 is a share.
            level: the confidence of the intervals, above 0 and below 1.

        Returns:
            Columns: those of `by`; `mean`, the raw estimate; `low` and `high`, its interval against
            the population, within the values; `se_records` and `se_population`, its standard
            errors. All are NaN for a group that may be empty: its estimated size is not above its
            own error times the normal quantile.

        Raises UnknownVariable, OptionError, SingularChannel, EstimationError, LimitExceeded.

        Examples:
            >>> import pramana as pm
            >>> people = pm.example("titanic")
            >>> domain = pm.Domain.of(sex=["female", "male"], survived=["no", "yes"])
            >>> counts = pm.estimate(people, pm.Plan.unrandomized(domain))
            >>> found = counts.means("survived", "sex", values=[0, 1])
            >>> print(found.round(3).to_string(index=False))
               sex  mean   low  high  se_records  se_population
            female 0.732 0.692 0.772         0.0           0.02
              male 0.212 0.193 0.231         0.0           0.01
        """
        names = names_of(variable, "variable", some=True)
        if len(names) != 1:
            raise OptionError("variable must be one name.", where="variable")
        groups = names_of(by, "by", some=True) if len(by) else []
        part = self.marginals.part()
        frame = tabulated_means(part, names[0], groups, values, level)
        warn_each(_contradicted(part))
        return frame

    def levels(self, variable: str, groups: Groups, *, level: float = LEVEL) -> pd.DataFrame:
        """Return the estimated counts of groups of categories, and of the categories in them.

        All levels add up. In each group two or more categories that are small are one row, such as
        `212 others`: those whose count is not above its standard error times the normal quantile.

        Args:
            variable: its name.
            groups: the categories of each group, or its groups: `{"north": ["A", "B"], "south":
                {"coast": ["C"], "inland": ["D", "E"]}}`. Take them from public knowledge.
            level: the confidence of the intervals, above 0 and below 1.

        Returns:
            Columns: `level`, 1 for the outermost groups; `within`, the group around; `category`,
            the name; `categories`, how many it has; `count`, `low`, `high`, `se_records` and
            `se_population` as in `table`.

        Raises UnknownVariable, UnknownCategory, OptionError, SingularChannel, LimitExceeded.

        Examples:
            >>> import pramana as pm
            >>> people = pm.example("titanic")
            >>> domain = pm.Domain.of(**{"class": ["1st", "2nd", "3rd", "crew"]})
            >>> counts = pm.estimate(people, pm.Plan.unrandomized(domain))
            >>> found = counts.levels("class", {"guests": ["1st", "2nd", "3rd"], "crew": ["crew"]})
            >>> print(found[["level", "category", "count"]].round().to_string(index=False))
             level category  count
                 1   guests 1316.0
                 2      1st  325.0
                 2      2nd  285.0
                 2      3rd  706.0
                 1     crew  885.0
                 2     crew  885.0
        """
        names = names_of(variable, "variable", some=True)
        if len(names) != 1:
            raise OptionError("variable must be one name.", where="variable")
        part = self.marginals.part()
        with one_sentence():
            require_limit(level, InnerShare, "level")
            found = part.marginal(names)
            frame = levels_of(found, found.domain[names[0]], groups, level)
        warn_each(_contradicted(part))
        return frame

    def project(self, variables: Sequence[str]) -> EstimatedCounts:
        """Return the same counts of some variables alone, in their order.

        Raises UnknownVariable.
        """
        names = names_of(variables, "variables", some=True)
        with one_sentence():
            return replace(self, marginals=self.marginals.part(names, apart=True))

    def to_frame(self, *, level: float = LEVEL, shares: bool = False) -> pd.DataFrame:
        """Return all one-way tables, a row per category: `variable`, `category`, then as `table`.

        Variables of which nothing was reported are left out.
        """
        part = self.marginals.part()
        frame = tabulated_each(part, self._reported(), level, shares=shares)
        warn_each(_contradicted(part))
        return frame

    def independence(
        self,
        left: str | Sequence[str],
        right: str | Sequence[str],
        given: str | Sequence[str] = (),
    ) -> pd.Series:
        """Test whether two variables, or two sets of them, are independent given others.

        The test is the likelihood ratio of the reports themselves (G², see
        `pramana_core.estimation`): noise weakens it and never makes any evidence. Of `pooled`
        counts it is Wald's.

        Returns:
            `statistic`, `degrees_of_freedom` and `p_value`, by chi-square.

        Raises UnknownVariable, OptionError, EstimationError, LimitExceeded.
        """
        import pandas as pd
        from scipy.special import chdtrc

        one, other = names_of(left, "left", some=True), names_of(right, "right", some=True)
        known = names_of(given, "given", some=True) if len(given) else []
        names = [*one, *other, *known]
        if len(set(names)) < len(names):
            raise OptionError("left, right and given must be different variables.", where="given")
        with one_sentence():
            found = self.marginals.independence(one, other, known)
            statistic, freedom = 2 * found.ratio, found.degrees_of_freedom
        p_value = float(chdtrc(freedom, statistic)) if freedom else 1.0
        return pd.Series(
            {"statistic": statistic, "degrees_of_freedom": float(freedom), "p_value": p_value},
            name=f"{', '.join(one)} and {', '.join(other)}"
            + (f" given {', '.join(known)}" if known else ""),
        )

    @property
    def lack_of_fit(self) -> list[str]:
        """A sentence for each model of the tables taken so far that the reports contradict.

        Empty where the reports fit, and always for `moment` and `ml`, which assume no model.
        """
        return _contradicted(self.marginals)

    @property
    def filled_in(self) -> str:
        """A sentence on the tables so far that were filled in from smaller ones; or empty."""
        return joined(filled_in_words(self.marginals.filled_in))

    def _reported(self) -> list[str]:
        values = {
            name
            for source in self.sources
            for block in source.plan.blocks
            if not block.channel.withheld
            for name in block.names
        }
        return [name for name in self.domain.names if name in values]

    def plot(  # type: ignore[override]
        self,
        variables: str | Sequence[str] | None = None,
        ax: Axes | None = None,
        *,
        shares: bool = False,
    ) -> Axes:
        """Draw an estimated table, a row per cell with its interval against the population.

        Args:
            variables: one name, or a list of them; None draws each variable by itself.
            ax: matplotlib axes to draw on; None makes a figure.
            shares: whether to draw shares of the records in place of their numbers.

        Raises as `table`.
        """
        return plotted(self._picture(variables, shares=shares), ax)

    def _picture(self, variables: str | Sequence[str] | None = None, shares: bool = False) -> Chart:
        if variables is None:
            return counts_chart(self._numbers(shares=shares), _EACH, "=")
        names = names_of(variables, "variables", some=True)
        frame = tabulated(self.marginals, names, shares=shares)
        return counts_chart(frame, list(map(column_of, names)))

    def _notes(self) -> list[str]:
        return [*self.lack_of_fit, *filter(None, [self.filled_in])]

    def _numbers(self, *, shares: bool = False) -> pd.DataFrame:
        # A lack of fit is noted for tables that the user takes, not for these.
        return tabulated_each(self.marginals.part(apart=True), self._reported(), shares=shares)

    def __repr__(self) -> str:
        names = listed(self.domain.names)
        several = f" from {len(self.sources)} sources" if len(self.sources) > 1 else ""
        doubt = "; the model does not fit, see lack_of_fit" if self.lack_of_fit else ""
        by = f"by {self.estimator}{doubt}"
        return f"EstimatedCounts({self.records:,} records{several} of {names}; {by})"


@checked_options
def estimate(
    reports: Sources,
    plan: Plan | None = None,
    *,
    estimator: EstimatorName = "auto",
    order: int | None = None,
) -> EstimatedCounts:
    """Estimate the counts of the true records from reports.

    Args:
        reports: `Reports`; a frame of reported labels, with its `plan`; or a list of these, each
            as `Reports` or `(frame, plan)`, of different people of one population. Columns of the
            same people at several owners are put together by `pm.join` first.
        plan: how a frame was randomized; `Reports` have their own. Of a table that was not
            randomized it is `pm.Plan.unrandomized(domain)`.
        estimator: `moment` inverts the noise: unbiased, may be negative (Ma 2.4.1). Of several
            sources, draws from one population, those with less noise count more; `sum` lets every
            record count alike, for owners whose people differ. `ml`: the most likely counts (Ma
            2.4.2), which also explains sources that do not report every variable and channels
            that have no inverse. `pooled`: interactions of at most `order` variables, which fills
            in what no record reports together. `auto` takes `pooled` where each record reports
            some of its variables only; `ml` where some of several sources withhold or lack a
            variable, or a channel has no inverse; and otherwise `moment`.
        order: the most variables that interact, for `pooled`. By default a table of three to
            eight variables that records report together has all their interactions; others are
            filled in, and the frame of a table says so.

    Returns:
        the counts; a table is estimated with its first use.

    Raises:
        TableError, MissingColumn, EmptyTable, UnknownCategory: the reports cannot be read.
        PlanError: a frame without a plan, or another plan than that of the reports.
        OptionError: an unknown estimator, or an order out of its range.
        DomainError: two sources list other categories of one variable.
        RecordsDoNotAlign: two sources have the same people, or some of them.

    Examples:
        >>> import pramana as pm
        >>> people = pm.example("berkeley")
        >>> domain = pm.Domain.of(sex=["female", "male"], admitted=["no", "yes"])
        >>> plan = pm.Plan.unrandomized(domain)
        >>> pm.estimate([(people[:2000], plan), (people[2000:], plan)])
        EstimatedCounts(4,526 records from 2 sources of sex, admitted; by moment)
    """
    require_limit(estimator, EstimatorName, "estimator")
    require_limit(order, Annotated[int, Ge(1)] | None, "order")
    with one_sentence():
        sources = sources_of(reports, plan)
        chosen = (
            choose_estimator([source.plan for source in sources])
            if estimator == "auto"
            else estimator
        )
        pairs = [(source.counts, source.plan) for source in sources]
        marginals = EstimatedMarginals.of(pairs, estimator=chosen, order=order)
    return EstimatedCounts(sources, marginals, chosen, order)


def _contradicted(marginals: EstimatedMarginals) -> list[str]:
    """Return a sentence for each model of the tables taken that the reports contradict."""
    return [joined(words) for words in warnings_of(marginals.lack_of_fit)]
