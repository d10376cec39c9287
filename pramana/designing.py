"""From a stated need to a design: the demand on the whole record, and what will be learned."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Annotated, Any

from annotated_types import Ge, Gt, Lt

from pramana.frames.sentences import one_sentence, options_told, quoted
from pramana.frames.tables import names_of, shown
from pramana.showing import DIGITS, card, families_chart, plotted
from pramana_core.alike import did_you_mean
from pramana_core.design import Design as CoreDesign
from pramana_core.design import Learn, Option, Problem, Requirements, find_design, goal
from pramana_core.domain import Domain
from pramana_core.errors import DomainError, OptionError, PlanError, UnknownVariable
from pramana_core.estimation.estimated import Estimator, choose_estimator
from pramana_core.learn.common.options import require_limit
from pramana_core.plan import Plan
from pramana_core.terminal import progress_bar

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class Design(CoreDesign):
    """The families compared for a need, and the chosen one; `pm.design` makes it.

    Args:
        problem: the need.
        options: every family, the most accurate first; the last ones cannot serve it.
        chosen: one of the options.
        unserved: the tables that sampled sets cannot estimate, in words; "" where all are served.

    Examples:
        >>> import pramana as pm
        >>> made = pm.design(pm.Domain.of(age=["child", "adult"], sex=["f", "m"]), 500, gamma=9)
        >>> made.plan
        Plan(age*sex: gamma-diagonal, record kept 0.667)
        >>> made
        Design for 500 records: gamma-diagonal, gamma 9 about the whole record
          family           loss error kept gamma estimator withheld
        * gamma-diagonal  0.046  9.5%  91%     9    moment       0%
          sampled-mixed   0.046  9.5%  91%     9    moment       0%
          independent     0.117 16.7%  79%     9    moment       0%
          mask            0.225 27.9%  62%     9    moment       0%
          cut-and-paste-2 0.267 32.0%  56%     9    moment       0%
        Not possible: random-gamma-diagonal, cut-and-paste-1, sampled-1.
    """

    @property
    def family(self) -> str:
        """The chosen family."""
        return self.chosen.family

    @property
    def estimator(self) -> Estimator:
        """The estimator that `pm.estimate` takes for reports under the plan."""
        return choose_estimator([self.plan])

    @property
    def gamma(self) -> float:
        """The amplification of the whole record under the plan, over all owners."""
        return self.chosen.gamma

    @property
    def epsilon(self) -> float:
        """Its logarithm."""
        return math.log(self.gamma)

    @property
    def records(self) -> int:
        """For how many records it was made."""
        return self.problem.records

    @property
    def warning(self) -> str:
        """What to know before using it: that it is too noisy, or for which variable; else empty."""
        return self.advice

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
        expect between a moderate association and its estimate; `error`, the
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
        able = made.able
        return {
            "family": made.family,
            "chosen": made is self.chosen,
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


def require_domain(domain: object) -> Domain:
    """Return a domain. Raises DomainError where something else was given."""
    if not isinstance(domain, Domain) or not len(domain):
        made = "; write pm.domain(frame, categories) first" if hasattr(domain, "columns") else ""
        given = "one without variables" if isinstance(domain, Domain) else shown(domain)
        raise DomainError(f"domain must be a Domain, not {given}{made}.", where="domain")
    return domain


def require_variables(names: Iterable[str], domain: Domain, argument: str) -> None:
    """Raise UnknownVariable where an argument names what is not a variable."""
    unknown = [name for name in names if name not in domain]
    if unknown:
        raise UnknownVariable(
            f"{argument} names {quoted(unknown)}, which domain does not"
            f" have{did_you_mean(unknown, domain.names)}; its variables are"
            f" {quoted(domain.names)}.",
            where=unknown[0],
        )


def one_of(given: Mapping[str, object]) -> tuple[str, object] | None:
    """Return which one of several demands is given, with its value, or None. Raises OptionError."""
    found = [(name, value) for name, value in given.items() if value is not None]
    if len(found) > 1:
        names = list(given)
        raise OptionError(
            f"Give one of {', '.join(names[:-1])} and {names[-1]}, not"
            f" {' and '.join(name for name, _ in found)} together.",
            where=found[0][0],
        )
    return found[0] if found else None


def number(value: object, argument: str) -> float:
    """Return a finite number. Raises OptionError."""
    try:
        found = float(value) if isinstance(value, Real) else math.nan
    except OverflowError:
        found = math.inf
    if isinstance(value, bool) or not math.isfinite(found):
        raise OptionError(f"{argument} must be a number, not {shown(value)}.", where=argument)
    return found


AUTO = "auto"

_POSITIVE = Annotated[float, Gt(0)] | None

_KINDS: dict[str, Any] = {
    "records": Annotated[int, Ge(1)],
    "gamma": _POSITIVE,
    "epsilon": _POSITIVE,
    "breach": tuple[float, float] | None,
    "target": str | None,
    "length": Annotated[int, Ge(1)] | None,
    "minimum_support": Annotated[float, Ge(0), Lt(1)],
    "structure": Mapping[str, Sequence[str]] | None,
}
"""The type of each argument of `design`, with its limits."""


@options_told
def design(
    domain: Domain,
    records: int,
    *,
    gamma: float | None = None,
    epsilon: float | None = None,
    breach: tuple[float, float] | None = None,
    learn: Learn = "pairs",
    target: str | None = None,
    length: int | None = None,
    minimum_support: float = 0.0,
    structure: Mapping[str, Sequence[str]] | None = None,
    public: Sequence[str] = (),
    owners: Mapping[str, Sequence[str]] | None = None,
    family: str = AUTO,
) -> Design:
    """Find the most accurate plan for a need, under a bound on what a whole record reveals.

    Every family of plans within the bound is compared by its predicted errors, as if the variables
    were independent and uniform: nothing of the data is used but the number of records.

    Args:
        domain: the variables.
        records: how many records there will be.
        gamma: the largest amplification of the whole record, above 1 (FRAPP eq. 1); one of `gamma`,
            `epsilon`, its logarithm, and `breach` is given.
        epsilon: see `gamma`; above 0.
        breach: (rho1, rho2): a belief of rho1 may grow to rho2 at most (FRAPP eq. 2).
        learn: `counts`, `pairs`, `itemsets`, `structure`, `tree` or `classifier`.
        target: the variable that a tree or a classifier predicts.
        length: the most variables of an itemset; 3 if None.
        minimum_support: cells of a smaller expected share do not count; 0 or more, below 1.
        structure: the parents of each node, where a network's structure is known.
        public: variables that are reported as they are.
        owners: who holds which variables, where one does not hold all: `{"a": ["x"], "b": ["y"]}`.
        family: which family of plans; `auto` is the one that errs least.

    Raises:
        OptionError: a demand that cannot be met, or no or two demands on the whole record.
        UnknownVariable: a name that is not a variable's.
        LimitExceeded: a table that is too large to be predicted.
        StructureError: a structure that has a cycle.

    Examples:
        >>> import pramana as pm
        >>> domain = pm.Domain.of(age=["child", "adult"], sex=["f", "m"], town=["A", "B", "C"])
        >>> made = pm.design(domain, 10_000, gamma=19)
        >>> made.family, made.estimator, made.useful
        ('gamma-diagonal', 'moment', True)
    """
    given = locals()
    for name, kind in _KINDS.items():
        require_limit(given[name], kind, name)
    require_limit(learn, Learn, "learn")
    open_ = names_of(public, "public")
    require_variables(open_, require_domain(domain), "public")
    own_names = _owners(owners, domain)
    ordered = list(itertools.chain(*own_names.values()))
    ordered += [v.name for v in domain if v.name not in ordered]
    with one_sentence(), progress_bar() as bar:
        domain = domain.project(ordered)
        needs = Requirements.of(domain, gamma, epsilon, breach, open_, own_names)
        wanted = goal(
            domain,
            learn,
            length=length,
            minimum_support=minimum_support,
            structure=structure,
            target=target,
        )
        # What is no name is refused by what it is written as.
        named = None if str(family) == AUTO else str(family)
        found = find_design(Problem(needs, wanted, records), named, bar.stage)
        return Design(found.problem, found.options, found.chosen, found.unserved)


def _owners(owners: object, domain: Domain) -> dict[str, list[str]]:
    """Return the variables of each owner. Raises OptionError, UnknownVariable."""
    if not isinstance(owners, Mapping | None):
        raise OptionError(
            'owners must be a dict of lists of variables, such as {"a": ["x"], "b": ["y"]}, not'
            f" {shown(owners)}.",
            where="owners",
        )
    own_names: dict[str, list[str]] = {}
    for owner, given in (owners or {}).items():
        names = names_of(given, f"owners[{owner!r}]")
        require_variables(names, domain, "owners")
        if twice := [name for name in names if any(name in own for own in own_names.values())]:
            raise OptionError(f"owners gives {quoted(twice)} to two owners.", where="owners")
        own_names[str(owner)] = list(names)
    return own_names
