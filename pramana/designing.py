"""From a stated need to a design: the demand on the whole record, and what will be learned."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, cast, get_args

from owner_agent.design.compared import ComparedDesigns
from owner_agent.design.designing import LENGTH
from pramana.frames.sentences import one_sentence, options_told, quoted
from pramana.frames.tables import names_of, shown
from pramana.reporting.sources import choose
from pramana.showing import DIGITS, card, families_chart, plotted
from pramana_core.alike import did_you_mean
from pramana_core.design import (
    Comparison,
    Goal,
    Learn,
    Option,
    Problem,
    Requirements,
    compare,
    gamma_of_breach,
    gamma_of_epsilon,
    goal,
    reference,
    useful,
)
from pramana_core.design.families import require_gamma
from pramana_core.domain import Domain
from pramana_core.errors import DomainError, OptionError, PlanError, UnknownVariable
from pramana_core.estimation.estimated import Estimator
from pramana_core.plan import Plan
from pramana_core.study_plan import StudyPlan
from pramana_core.terminal import progress_bar

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
          family           loss error kept gamma estimator withheld
        * gamma-diagonal  0.046  9.5%  91%     9    moment       0%
          sampled-mixed   0.046  9.5%  91%     9    moment       0%
          independent     0.117 16.7%  79%     9    moment       0%
          mask            0.225 27.9%  62%     9    moment       0%
          cut-and-paste-2 0.267 32.0%  56%     9    moment       0%
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
        """The estimator that `pm.estimate` takes for reports under the plan."""
        return choose([self.plan])

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


def require_domain(domain: object) -> Domain:
    """Return a domain. Raises DomainError where something else was given."""
    if not isinstance(domain, Domain) or not len(domain):
        made = "; write pm.domain(frame, categories) first" if hasattr(domain, "columns") else ""
        said = "one without variables" if isinstance(domain, Domain) else shown(domain)
        raise DomainError(f"domain must be a Domain, not {said}{made}.", where="domain")
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


def whole_number(value: object, argument: str, hint: str = "") -> int:
    """Return a whole number of 1 or more. Raises OptionError."""
    found = int(value) if isinstance(value, Integral) else 0
    if isinstance(value, bool) or found < 1:
        raise OptionError(
            f"{argument} must be a whole number of 1 or more, not {shown(value)}{hint}.",
            where=argument,
        )
    return found


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


@options_told
def design(
    domain: Domain,
    records: int,
    *,
    gamma: float | None = None,
    epsilon: float | None = None,
    breach: tuple[float, float] | None = None,
    learn: Learn | Mapping[Learn, float] = "pairs",
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
        learn: `counts`, `pairs`, `itemsets`, `structure`, `tree` or `classifier`; or several with
            weights, as `{"pairs": 1, "classifier": 3}`.
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
    whole = _gamma(gamma, epsilon, breach)
    needs = _needs(require_domain(domain), whole, public, owners)
    wanted = _goal(needs.domain, learn, target, length, minimum_support, structure)
    return _designed(needs, wanted, records, family)


def _needs(domain: Domain, whole: float, public: object, owners: object) -> Requirements:
    """Return what is demanded. Raises OptionError, UnknownVariable."""
    open_ = names_of(public, "public")
    require_variables(open_, domain, "public")
    held = _owners(owners, domain)
    if held:
        domain = domain.project([name for _, names in held for name in names])
    limits = {name: whole for name in domain.names if name not in open_}
    with one_sentence():
        return Requirements(domain, limits, whole, owners=held)


def _designed(needs: Requirements, wanted: Goal, records: object, family: object) -> Design:
    many = whole_number(records, "records", "; for a frame it is len(frame)")
    with one_sentence(), progress_bar() as bar:
        problem = Problem(needs, wanted, reference(needs.domain), many)
        comparison = compare(problem, bar.stage)
    named = family if isinstance(family, str) else shown(family)
    chosen = comparison.best if named == AUTO else _named(comparison, named)
    return Design(ComparedDesigns(comparison.problem, comparison, chosen))


def _gamma(gamma: object, epsilon: object, breach: object) -> float:
    """Return the amplification allowed for the whole record. Raises OptionError."""
    given = one_of({"gamma": gamma, "epsilon": epsilon, "breach": breach})
    if given is None:
        raise OptionError(
            "Give one of gamma, epsilon and breach: how much may be told of a whole record, as"
            " gamma=19.",
            where="gamma",
        )
    name, value = given
    with one_sentence():
        if name == "breach":
            if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != 2:
                raise OptionError(
                    "breach must be a pair of probabilities (rho1, rho2), such as (0.05, 0.5), not"
                    f" {shown(value)}.",
                    where="breach",
                )
            return gamma_of_breach([number(rho, "breach") for rho in value])
        asked = number(value, name)
        if name == "epsilon":
            return gamma_of_epsilon(asked)
        require_gamma(asked)
        return asked


def _owners(owners: object, domain: Domain) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the owners with their variables. Raises OptionError, UnknownVariable."""
    if owners is None:
        return ()
    if not isinstance(owners, Mapping):
        raise OptionError(
            'owners must be a dict of lists of variables, such as {"a": ["x"], "b": ["y"]}, not'
            f" {shown(owners)}.",
            where="owners",
        )
    held = tuple((str(o), tuple(names_of(names, f"owners[{o!r}]"))) for o, names in owners.items())
    named = [name for _, names in held for name in names]
    require_variables(named, domain, "owners")
    left = [name for name in domain.names if name not in named]
    twice = [name for name in domain.names if named.count(name) > 1]
    if left or twice or len(held) < 2 or not all(names for _, names in held):
        words = (
            f"{quoted(left)} is left out"
            if left
            else f"{quoted(twice)} is given twice"
            if twice
            else "one owner has all"
            if len(held) < 2
            else "some owner has none"
        )
        raise OptionError(
            f"owners must give each variable to one of several owners, and {words}.", where="owners"
        )
    return held


def _kinds(learn: object) -> list[str]:
    """Return what is learned. Raises OptionError."""
    kinds = [learn] if isinstance(learn, str) else list(learn) if isinstance(learn, Mapping) else []
    if not kinds or any(kind not in get_args(Learn) for kind in kinds):
        given = shown(learn) if isinstance(learn, str) or not kinds else f"one of {quoted(kinds)}"
        raise OptionError(
            f"learn must be one of {quoted(get_args(Learn))}, or a dict of these with weights, not"
            f" {given}{did_you_mean(kinds, get_args(Learn))}.",
            where="learn",
        )
    if isinstance(learn, Mapping):
        for kind, weight in learn.items():
            number(weight, f"learn[{kind!r}]")
    return kinds


def _goal(
    domain: Domain,
    learn: object,
    target: object,
    length: object,
    minimum_support: object,
    structure: object,
) -> Goal:
    """Return the tables wanted. Raises OptionError, UnknownVariable, StructureError."""
    kinds = _kinds(learn)
    for name, value, kind in (
        ("length", length, "itemsets"),
        ("structure", structure, "structure"),
    ):
        if value is not None and kind not in kinds:
            raise OptionError(
                f"{name} is for learn={kind!r}, not for learning {quoted(kinds)}.", where=name
            )
    if structure is not None and not isinstance(structure, Mapping):
        raise OptionError(
            'structure must be a dict of each node\'s parents, such as {"a": [], "b": ["a"]}, not'
            f" {shown(structure)}.",
            where="structure",
        )
    parents = {
        str(node): names_of(above, f"structure[{node!r}]")
        for node, above in (structure or {}).items()
    }
    longest = min(LENGTH, len(domain)) if length is None else whole_number(length, "length")
    support = number(minimum_support, "minimum_support")
    if not 0 <= support < 1:
        raise OptionError(
            f"minimum_support must be 0 or more and below 1, not {minimum_support}.",
            where="minimum_support",
        )
    if target is not None:
        if not isinstance(target, str):
            raise OptionError(
                f"target must be the name of a variable, not {shown(target)}.", where="target"
            )
        require_variables([target], domain, "target")
    with one_sentence():
        return goal(
            domain,
            cast("Learn | Mapping[Learn, float]", learn),
            length=longest,
            minimum_support=support,
            structure=None if structure is None else parents,
            target=target,
        )


def _named(comparison: Comparison, family: str) -> Option:
    """Return the best option of a family, of any size. Raises OptionError."""
    named = [
        made
        for made in comparison.options
        if made.family == family or made.family.startswith(f"{family}-")
    ]
    if not named:
        raise OptionError(
            f"family must be 'auto' or one of {quoted(o.family for o in comparison.options)}, not"
            f" {shown(family)}.",
            where="family",
        )
    if not math.isfinite(named[0].prediction.score):
        with one_sentence():
            raise OptionError(
                f"family {family!r} cannot do this: {named[0].reason}", where="family"
            )
    return named[0]
