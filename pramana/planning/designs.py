"""The best plan for a stated need, with every family of plans beside it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from owner_agent.design.compared import ComparedDesigns
from pramana.frames.sentences import one_sentence
from pramana.showing.charts import families_chart, plotted
from pramana.showing.html import DIGITS, card
from pramana_core.design import Option, useful
from pramana_core.errors import PlanError
from pramana_core.estimation.estimated import Estimator
from pramana_core.plan import Plan
from pramana_core.study_plan import StudyPlan

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class Design:
    """What the designer found for a need (see `pm.design`).

    Args:
        compared: every family, and the one that was chosen.

    Examples:
        >>> import pramana as pm
        >>> made = pm.design(pm.Domain.of(age=["child", "adult"], sex=["f", "m"]), 500, gamma=9)
        >>> made.plan
        Plan(age*sex: gamma-diagonal, record kept 0.667)
        >>> made
        Design for 500 records: gamma-diagonal, gamma 9 about the whole record
          family           loss error kept gamma  estimator withheld
        * gamma-diagonal  0.046  9.5%  91%     9     moment       0%
          sampled-mixed   0.046  9.5%  91%     9     moment       0%
          independent     0.117 16.7%  79%     9     moment       0%
          cut-and-paste-2 0.157 20.4%  72%     9 log-linear       0%
          mask            0.225 27.9%  62%     9     moment       0%
        Not possible: random-gamma-diagonal, cut-and-paste-1, sampled-1.
    """

    compared: ComparedDesigns

    @property
    def plan(self) -> Plan:
        """The chosen plan; with several owners that of all their reports together."""
        if self.study_plan is not None:
            return self.study_plan.together
        return cast(Plan, self.compared.chosen.plan)

    @property
    def family(self) -> str:
        """The chosen family."""
        return self.compared.chosen.family

    @property
    def estimator(self) -> Estimator:
        """The estimator that is predicted to err least, for `pm.estimate`."""
        return cast(Estimator, self.compared.chosen.estimator)

    @property
    def gamma(self) -> float:
        """The amplification of the whole record under the plan, over all owners."""
        return self.compared.chosen.gamma

    @property
    def epsilon(self) -> float:
        """Its logarithm."""
        return math.log(self.gamma)

    @property
    def records(self) -> int:
        """For how many records it was made."""
        return self.compared.problem.records

    @property
    def options(self) -> tuple[Option, ...]:
        """Every family with its plan and predicted errors, the most accurate first."""
        return self.compared.comparison.options

    @property
    def useful(self) -> bool:
        """Whether a moderate association (Cohen's w of 0.3) can be seen in the tables wanted."""
        return useful(self.compared.chosen)

    @property
    def warning(self) -> str:
        """What to know before using it: that it is too noisy, or for which variable; else empty."""
        return self.compared.advice

    @property
    def study_plan(self) -> StudyPlan | None:
        """The study plan that several owners agree on; None where there is one owner."""
        return self.compared.study_plan

    def plan_of(self, owner: str) -> Plan:
        """Return an owner's own part of the study's plan, by which it randomizes its columns.

        Raises:
            PlanError: no such owner, or one that reports nothing; or the design is for one owner.
        """
        if self.study_plan is None:
            raise PlanError(
                "This design is for one owner; its plan is its attribute plan.", where="owner"
            )
        with one_sentence():
            return Plan((self.study_plan.block(owner),))

    def to_frame(self) -> pd.DataFrame:
        """Return the families side by side, the most accurate first.

        Columns: `family`; `chosen`; `loss`, by which families are ranked: 1 less the correlation to
        expect between a moderate association as it is estimated and as it is; `error`, the
        predicted relative standard error of the cells of the tables wanted, against the population;
        `kept`, how much of a moderate association noise leaves, from 0 to 1; `gamma` of the whole
        record; `estimator`, which errs least; `withheld`, the share of a record's cells that are
        not reported; `reason`, why a family cannot do it
        (its figures are NaN then).

        Examples:
            >>> import pramana as pm
            >>> made = pm.design(pm.Domain.of(age=["child", "adult"], sex=["f", "m"]), 500, gamma=9)
            >>> made.to_frame()[["family", "loss", "error"]].head(3).round(2)
                       family  loss  error
            0  gamma-diagonal  0.05   0.09
            1   sampled-mixed  0.05   0.09
            2     independent  0.12   0.17
        """
        import pandas as pd

        return pd.DataFrame([self._row(made) for made in self.options])

    def _row(self, made: Option) -> dict[str, object]:
        able = math.isfinite(made.prediction.score)
        return {
            "family": made.family,
            "chosen": made is self.compared.chosen,
            "loss": made.prediction.loss if able else math.nan,
            "error": made.prediction.score if able else math.nan,
            "kept": made.prediction.kept if able else math.nan,
            "gamma": made.gamma,
            "estimator": made.estimator if able else "",
            "withheld": math.nan if made.plan is None else _withheld(made.plan),
            "reason": made.reason,
        }

    def __repr__(self) -> str:
        families = self.to_frame()
        able = families[families["error"].notna()]
        chosen = able["chosen"].map({True: "* ", False: "  "})
        table = able.assign(family=chosen + able["family"]).drop(columns=["reason", "chosen"])
        width = int(table["family"].str.len().max())
        heading = "  family".ljust(width)
        written = table.rename(columns={"family": heading}).to_string(
            index=False,
            formatters={
                heading: f"{{:<{width}}}".format,
                "loss": "{:.3f}".format,
                "error": "{:.1%}".format,
                "kept": "{:.0%}".format,
                "gamma": "{:.4g}".format,
                "withheld": "{:.0%}".format,
            },
        )
        unable = ", ".join(families["family"][families["error"].isna()])
        rest = [f"Not possible: {unable}." if unable else "", self.warning]
        return "\n".join([self._title, written, *(line for line in rest if line)])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the families side by side: the predicted error of each.

        Args:
            ax: matplotlib axes to draw on; None makes a figure.

        Returns:
            the axes.

        Raises:
            OptionError: `ax` is no axes.
        """
        return plotted(families_chart(self.to_frame()), ax)

    def _repr_html_(self) -> str:
        facts = [
            ("records", f"{self.records:,}"),
            ("chosen", f"{self.family}, estimated by {self.estimator}"),
            ("whole record", f"gamma {self.gamma:.4g}"),
            ("plan", self.plan.digest[:DIGITS]),
            *([("warning", self.warning)] if self.warning else []),
        ]
        frame = self.to_frame()
        return card("Design", facts, families_chart(frame).svg(), frame)

    @property
    def _title(self) -> str:
        return (
            f"Design for {self.records:,} records: {self.family}, gamma {self.gamma:.4g} about the"
            " whole record"
        )


def _withheld(plan: Plan) -> float:
    """Return the share of a record's cells that are not reported."""
    reported = [
        block.channel.share_reported(axis)
        for block in plan.blocks
        for axis in range(len(block.names))
    ]
    return 1 - math.fsum(reported) / len(reported)
