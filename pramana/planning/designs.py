"""The best plan for a stated need, with every family of plans beside it."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, cast, get_args

from owner_agent.design.compared import ComparedDesigns
from owner_agent.design.designing import LENGTH
from pramana.frames.sentences import one_sentence, quoted
from pramana.frames.tables import names_of, shown
from pramana.planning.demands import number, one_of, require_domain, require_variables
from shared.design import (
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
from shared.design.requirement import require_gamma
from shared.domain import Domain
from shared.errors import OptionError, PlanError
from shared.estimation.estimated import Estimator
from shared.plan import Plan
from shared.study_plan import StudyPlan
from shared.terminal import progress_bar

if TYPE_CHECKING:
    import pandas as pd

AUTO = "auto"


@dataclass(frozen=True, eq=False, repr=False)
class Design:
    """What the designer found for a need (see `pm.design`).

    Attributes:
        compared: every family, and the one that was chosen.
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
        """What is to be said before it is used: that it is too noisy, or of what; else empty."""
        return self.compared.advice

    @property
    def study_plan(self) -> StudyPlan | None:
        """What several owners agree on: which of them reports what of a record; None for one."""
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

        Columns: `family`; `chosen`; `error`, the predicted relative standard error of the cells of
        the tables wanted; `kept`, how much of a moderate association noise leaves, from 0 to 1;
        `gamma` of the whole record; `estimator`, which errs least; `withheld`, the share of a
        record's cells that are not reported; `reason`, why a family cannot do it (its figures are
        NaN then).
        """
        import pandas as pd

        return pd.DataFrame([self._row(made) for made in self.options])

    def _row(self, made: Option) -> dict[str, object]:
        able = math.isfinite(made.prediction.score)
        return {
            "family": made.family,
            "chosen": made is self.compared.chosen,
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
        written = table.to_string(
            index=False,
            justify="left",
            formatters={
                "family": f"{{:<{table['family'].str.len().max()}}}".format,
                "error": "{:.1%}".format,
                "kept": "{:.0%}".format,
                "gamma": "{:.4g}".format,
                "withheld": "{:.0%}".format,
            },
        )
        unable = ", ".join(families["family"][families["error"].isna()])
        rest = [f"Not possible: {unable}." if unable else "", self.warning]
        return "\n".join([self._title, written, *(line for line in rest if line)])

    def _repr_html_(self) -> str:
        rest = f"<p>{html.escape(self.warning)}</p>" if self.warning else ""
        table = self.to_frame().to_html(index=False, na_rep="", float_format="{:.4g}".format)
        return f"<p>{html.escape(self._title)}</p>{table}{rest}"

    @property
    def _title(self) -> str:
        return (
            f"Design for {self.records:,} records: {self.family}, gamma {self.gamma:.4g} about the"
            " whole record"
        )


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
    """Find the plan that serves a need best under a bound on what is told of a whole record.

    Every family of plans that keeps to the bound is compared by the errors that it is predicted to
    have. Nothing of the data enters but the number of records: errors are predicted as if variables
    were independent and uniform.

    Args:
        domain: the variables.
        records: how many records there will be.
        gamma: the largest amplification of the whole record, above 1 (FRAPP eq. 1); one of `gamma`,
            `epsilon` and `breach` is given.
        epsilon: its logarithm, above 0.
        breach: (rho1, rho2): a belief of rho1 may grow to rho2 at most (FRAPP eq. 2).
        learn: what for: `counts`, `pairs`, `itemsets`, `structure`, `tree` or `classifier`; or
            several with weights, as `{"pairs": 1, "classifier": 3}`.
        target: the variable that a tree or a classifier predicts.
        length: the most variables of an itemset; 3 if None.
        minimum_support: cells of itemsets with a smaller expected share do not count, 0 to 1.
        structure: the parents of each node, where a network's structure is known.
        public: variables that are reported as they are.
        owners: who holds which variables, where one does not hold all: `{"a": ["x"], "b": ["y"]}`;
            `study_plan` is what they agree on, and `plan_of` each one's part.
        family: which family to choose; `auto` is the one that errs least.

    Returns:
        The design.

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
        >>> made.to_frame()[["family", "error"]].head(3).round(3)
    """
    require_domain(domain)
    open_ = names_of(public, "public")
    require_variables(open_, domain, "public")
    whole = _gamma(gamma, epsilon, breach)
    held = _owners(owners, domain)
    if held:
        domain = domain.project([name for _, names in held for name in names])
    if not isinstance(records, Integral) or isinstance(records, bool) or records < 1:
        raise OptionError(
            f"records must be a whole number of 1 or more, not {shown(records)}; for a frame it is"
            " len(frame).",
            where="records",
        )
    wanted = _goal(domain, learn, target, length, minimum_support, structure)
    with one_sentence():
        limits = {name: whole for name in domain.names if name not in open_}
        needs = Requirements(domain, limits, whole, owners=held)
        problem = Problem(needs, wanted, reference(domain), int(records))
        with progress_bar() as bar:
            comparison = compare(problem, bar.stage)
    chosen = comparison.best if family == AUTO else _named(comparison, family)
    return Design(ComparedDesigns(problem, comparison, chosen, None, {}, None, ""))


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
        told = (
            f"{quoted(left)} is left out"
            if left
            else f"{quoted(twice)} is given twice"
            if twice
            else "one owner has all"
            if len(held) < 2
            else "some owner has none"
        )
        raise OptionError(
            f"owners must give each variable to one of several owners, and {told}.", where="owners"
        )
    return held


def _goal(
    domain: Domain,
    learn: object,
    target: str | None,
    length: int | None,
    minimum_support: float,
    structure: Mapping[str, Sequence[str]] | None,
) -> Goal:
    kinds = [learn] if isinstance(learn, str) else list(learn) if isinstance(learn, Mapping) else []
    if not kinds or any(kind not in get_args(Learn) for kind in kinds):
        given = shown(learn) if isinstance(learn, str) or not kinds else f"one of {quoted(kinds)}"
        raise OptionError(
            f"learn must be one of {quoted(get_args(Learn))}, or a dict of these with weights, not"
            f" {given}.",
            where="learn",
        )
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
    support = number(minimum_support, "minimum_support")
    if not 0 <= support < 1:
        raise OptionError(
            f"minimum_support must be 0 or more and below 1, not {minimum_support}.",
            where="minimum_support",
        )
    if target is not None:
        require_variables(names_of(target, "target"), domain, "target")
    with one_sentence():
        return goal(
            domain,
            cast("Learn | Mapping[Learn, float]", learn),
            length=min(LENGTH, len(domain)) if length is None else length,
            minimum_support=support,
            structure=structure,
            target=target,
        )


def _named(comparison: Comparison, family: object) -> Option:
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


def _withheld(plan: Plan) -> float:
    """Return the share of a record's cells that are not reported."""
    reported = [
        block.channel.share_reported(axis)
        for block in plan.blocks
        for axis in range(len(block.names))
    ]
    return 1 - math.fsum(reported) / len(reported)
