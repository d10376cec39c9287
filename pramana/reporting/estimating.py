"""Estimation of counts with errors from reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Annotated, Literal

from annotated_types import Ge

from pramana.frames.sentences import checked_options, joined, listed, one_sentence, warn_each
from pramana.frames.tables import names_of
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
from pramana_core.marginals.levels import Groups, levels_of
from pramana_core.marginals.tables import LEVEL, column_of
from pramana_core.pictures.plots import Chart
from pramana_core.plan import Plan

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from pramana_core.estimation.estimated import Estimator

EstimatorName = Literal["auto", "moment", "sum", "ml", "pooled"]

_EACH = ["variable", "category"]
"""The columns that name a row in the tables of single variables."""


@dataclass(frozen=True, eq=False, repr=False)
class EstimatedCounts(Drawn):
    """Counts of the true records, estimated from reports, each with its standard errors.

    `pm.estimate` returns them; every estimator's `fit` accepts them in place of reports.

    Attributes:
        sources: the reports and their plans.
        marginals: the estimated tables, which learners read.
        estimator: the name of the chosen estimator.
        order: the largest number of variables that interact, for `pooled`; None derives it from the
            count of records.

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
        """The count of records, N, of all sources together."""
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
        """Return an estimated contingency table, one row per cell.

        Args:
            variables: one name, or a list of them.
            level: the confidence level of the intervals, above 0 and below 1.
            shares: whether to return shares of the records, with their errors, in place of counts;
                the column `count` is then `share`.
            projected: whether to add a column `projected`: the nearest table with the same sum and
                no negative cells; for `pooled` counts, the counts after shrinkage.

        Returns:
            Columns: the variables, categorical, in the order of their domain (a variable named like
                a column below, such as `low`, becomes `low (variable)`); `count`, the raw estimate,
                which `moment` may make negative; `low` and `high`, the interval against the
                population; `se_records`, the standard error given these records; `se_population`,
                the standard error against the population. Pooled counts have a last column,
                `filled_in`: whether a count is derived from smaller tables, because no record
                reports all the variables or `order` is smaller than their number. For such counts,
                both columns of standard errors contain the error against the population.

        Warns if the reports contradict a model of this table (`lack_of_fit`). Raises
        UnknownVariable, OptionError, SingularChannel, EstimationError, LimitExceeded.
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
        """Return the estimated mean of a variable over all records or in each group.

        Args:
            variable: a variable whose categories are numbers, or intervals with `representatives`.
            by: one name, or a list of them; the result has a row per combination of their
                categories.
            values: the number for each category, in the order of the domain; None uses the domain's
                `representatives`. With values 0 and 1, the mean is a share.
            level: the confidence level of the intervals, above 0 and below 1.

        Returns:
            Columns: the variables of `by`; `mean`, the raw estimate; `low` and `high`, the interval
                against the population, within the values; `se_records` and `se_population`, the
                standard errors. All are NaN for a group that may be empty, because its estimated
                size is at most its standard error times the normal quantile.

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
        """Return the estimated counts of groups of categories, and of each group's categories.

        The counts within a group add up to the count of the group. Two or more small categories of
        a group share one pooled row, such as `212 others`. A category is small if its count is too
        small to differ from zero in a test of all categories together.

        Args:
            variable: the name of the variable.
            groups: the categories, or the inner groups, of each group:
                `{"north": ["A", "B"], "south": {"coast": ["C"], "inland": ["D", "E"]}}`. Take the
                groups from public knowledge.
            level: the confidence level of the intervals, above 0 and below 1.

        Returns:
            Columns: `level`, 1 for the outermost groups; `within`, the enclosing group; `category`,
                the name; `categories`, the count of categories in the row; `pooled`, whether the
                row is of small categories; `count`, `low`, `high`, `se_records` and
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
        import pandas as pd

        names = names_of(variable, "variable", some=True)
        if len(names) != 1:
            raise OptionError("variable must be one name.", where="variable")
        part = self.marginals.part()
        with one_sentence():
            require_limit(level, InnerShare, "level")
            found = part.marginal(names)
            rows = levels_of(found, found.domain[names[0]], groups, level)
        warn_each(_contradicted(part))
        return pd.DataFrame([asdict(row) for row in rows])

    def project(self, variables: Sequence[str]) -> EstimatedCounts:
        """Return these counts for some of the variables only, in the given order.

        Raises UnknownVariable.
        """
        names = names_of(variables, "variables", some=True)
        with one_sentence():
            return replace(self, marginals=self.marginals.part(names, apart=True))

    def to_frame(self, *, level: float = LEVEL, shares: bool = False) -> pd.DataFrame:
        """Return one-way tables: per row `variable`, `category`, and the columns of `table`.

        Variables without any reports are omitted.
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
        """Test whether two variables, or sets of variables, are independent given other variables.

        The test uses the likelihood ratio of the reports (G², see `pramana_core.estimation`), so
        noise weakens evidence but never creates it. For `pooled` counts, Wald's test is used.

        Returns:
            `statistic`, `degrees_of_freedom`, and `p_value` from the chi-square distribution.

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
        """Sentences on the models that the reports contradict, for the tables estimated until now.

        The list is empty if the reports fit, and always for `moment` and `ml`, which have no model.
        """
        return _contradicted(self.marginals)

    @property
    def filled_in(self) -> str:
        """A sentence on the tables, estimated until now, filled in from smaller ones; or ""."""
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
        """Draw an estimated table, one row per cell with its interval against the population.

        Args:
            variables: one name, or a list of them; None draws a table for each variable.
            ax: matplotlib axes to draw on; None makes a figure.
            shares: whether to draw shares of the records in place of counts.

        Raises the errors of `table`.
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
        # Lack of fit is recorded for the user's tables, not for these.
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
        reports: `Reports`; a frame of reported labels, with its `plan`; or a list of these, each as
            `Reports` or `(frame, plan)`, about different people of one population. To use columns
            about the same people from several owners, join them with `pm.join` first.
        plan: the plan of a frame; `Reports` have their own. For an unrandomized table, pass
            `pm.Plan.unrandomized(domain)`.
        estimator: `moment` inverts the noise; its counts are unbiased and may be negative (Ma
            2.4.1). Several sources are treated as samples of one population, and less noisy sources
            have more weight. `sum` weights every record equally and suits owners whose people
            differ. `ml` gives the most likely counts (Ma 2.4.2), also for sources that do not
            report every variable and for channels without inverse. `pooled` models interactions of
            at most `order` variables, and estimates tables that no record reports whole from
            smaller tables. `auto` chooses `pooled` if each record reports only some variables; `ml`
            if one of several sources withholds or lacks a variable, or a channel has no inverse;
            else `moment`.
        order: the largest number of variables that interact, for `pooled`. By default, a table of
            three to eight variables that records report together has all interactions. Other tables
            are filled in, which their column `filled_in` shows.

    Returns:
        the counts; each table is estimated at its first use.

    Raises:
        TableError, MissingColumn, EmptyTable, UnknownCategory: the reports cannot be read.
        PlanError: a frame has no plan, or `plan` differs from the plan of the reports.
        OptionError: the estimator is unknown, or the order is out of range.
        DomainError: two sources have different categories of one variable.
        RecordsDoNotAlign: two sources have people in common.

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
    return [joined(words) for words in warnings_of(marginals.lack_of_fit)]
