"""From a stated need to a plan: the problem, every family's prediction, and the best of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pydantic import ValidationError

from owner_agent.costs.whole_study import Left
from owner_agent.design.design_file import DesignFile, within
from owner_agent.site.planning import raise_together
from shared.design import (
    Comparison,
    Option,
    Problem,
    Requirements,
    compare,
    goal,
    little_told,
    not_useful,
    records_enough,
    records_needed,
    reference,
    strongest_privacy,
    useful,
)
from shared.design.choose import unwatched
from shared.design.goal import TARGETED
from shared.design.requirement import require_gamma
from shared.domain import Domain, Variable
from shared.errors import OptionError, PramanaError
from shared.plan import Plan
from shared.privacy import PRIOR, Amplification
from shared.progress import StagedProgress
from shared.study_plan import StudyPlan

LENGTH = 3
"""The longest itemset, where nothing else is said."""

STRONGEST = "strongest privacy"
"""What progress calls the search for it."""


@dataclass(frozen=True)
class Wishes:
    """What a command line says; it goes before what the design file says.

    `left` is what the study leaves: no demand, neither here nor in the file, may go beyond it.
    """

    gamma: float | None = None
    epsilon: float | None = None
    breach: tuple[float, float] | None = None
    learn: str | None = None
    length: int | None = None
    minimum_support: float | None = None
    interactions: int | None = None
    records: int | None = None
    left: Left | None = None
    target: str | None = None

    def over(self, file: DesignFile) -> DesignFile:
        """Return a design file as the command line changes it.

        Raises:
            OptionError: more than one requirement about the whole record, a length without
                itemsets, or values that the file could not have either; all of them are named.
        """
        demands = {"gamma": self.gamma, "epsilon": self.epsilon, "rho": self.breach}
        given = {name: value for name, value in demands.items() if value is not None}
        if len(given) > 1:
            raise OptionError("Give one of --gamma, --epsilon and --breach.", where="gamma")
        names = ("learn", "target", "length", "minimum_support", "interactions", "records")
        said = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        learn = set(file.kinds) if self.learn is None else {self.learn}
        named = " and ".join(sorted(learn))
        if self.length is not None and "itemsets" not in learn:
            raise OptionError(
                f"Learning {named} has no --length.",
                where="length",
                remedy="Add --learn itemsets.",
            )
        aimed = bool(learn & set(TARGETED))
        if self.target is not None and not aimed:
            raise OptionError(
                f"Learning {named} has no --target {self.target}.",
                where="target",
                remedy="Add --learn classifier or --learn tree, or give a relative error.",
            )
        # What the file says for its own kind of learning is nothing to another kind.
        unused = {"length"} if "itemsets" not in learn else set[str]()
        unused |= {"structure"} if "structure" not in learn else set()
        unused |= set() if aimed else {"target"}
        whole = {"whole_record": given} if given else {}
        try:
            made = DesignFile.model_validate(
                file.model_dump(exclude_none=True, exclude=unused) | said | whole
            )
        except ValidationError as error:
            raise _bad_options(error) from None
        return made if self.left is None else within(made, self.left)


def _bad_options(error: ValidationError) -> OptionError:
    """Say of a design file changed by options which options are wrong."""
    wrong = {}
    for found in error.errors():
        if not found["loc"]:
            # What belongs together does not: `--learn` decides what else there must be.
            wrong["learn"] = found["msg"].removeprefix("Value error, ")
            continue
        place = found["loc"][1 if found["loc"][0] == "whole_record" else 0]
        name = {"rho": "breach"}.get(str(place), str(place))
        told = found["msg"].replace("Input should be", "it should be")
        finite = found["type"] == "finite_number"
        flag = f"--{name.replace('_', '-')}"
        wrong[name] = f"{flag} is not a finite number" if finite else f"{flag} is wrong: {told}"
    return OptionError(
        "; ".join(wrong.values()) + ".",
        where=next(iter(wrong)),
        remedy="docs/choosing-a-plan.md says what each may be.",
    )


def problem_of(file: DesignFile, known: Mapping[str, Variable] | None = None) -> Problem:
    """Return the problem a design file states.

    Args:
        file: the file.
        known: the variables, where a site file has more to say about them.

    Raises:
        OptionError: the records are not said, a sensitive variable has no requirement, or one
            cannot be met; the message says what can be.
        DomainError, UnknownVariable, StructureError, LimitExceeded: see `goal`, `reference`.
    """
    if file.records is None:
        raise OptionError(
            "The number of records is not known.",
            where="records",
            remedy="Say it with --records, or records = ... in the design file.",
        )
    made = [(known or {}).get(v.name, v) for v in file.domain_variables()]
    domain = Domain(tuple(made))
    longest = min(LENGTH, len(domain)) if file.length is None else file.length
    return Problem(
        requirements_of(file, domain),
        goal(
            domain,
            file.kinds,
            length=longest,
            order=file.interactions,
            minimum_support=file.minimum_support,
            structure=file.structure,
            target=file.target,
        ),
        reference(
            domain, {v.name: v.probabilities for v in file.variables if v.probabilities is not None}
        ),
        file.records,
    )


def requirements_of(file: DesignFile, domain: Domain) -> Requirements:
    """Return the amplifications a design file allows. Raises OptionError, see `problem_of`."""
    whole, limits = _limits(file, domain)
    open_ended = [name for name, limit in limits.items() if limit is None]
    if open_ended:
        raise OptionError(
            f"Nothing is demanded for {open_ended}, and nothing for the whole record.",
            where=open_ended[0],
            remedy="Give --gamma, --epsilon or --breach for the whole record, or a requirement for"
            " each sensitive variable in a design file.",
        )
    plausible = {v.name: v.minimum_k for v in file.variables if v.sensitive and v.minimum_k}
    return Requirements(
        domain, {n: g for n, g in limits.items() if g is not None}, whole, plausible, file.owners
    )


def _limits(file: DesignFile, domain: Domain) -> tuple[float | None, dict[str, float | None]]:
    """Return the gamma allowed for the whole record and for each sensitive variable.

    Raises:
        OptionError: requirements that cannot be met, or invalid probabilities; all of them
            are named.
    """
    demands = {"the whole record": file.whole_record}
    demands |= {f"variable {v.name!r}": v for v in file.variables if v.sensitive}
    limits, problems = list[float | None](), list[PramanaError]()
    for of, demand in demands.items():
        try:
            limits.append(demand.allowed)
            require_gamma(math.inf if limits[-1] is None else limits[-1])
        except OptionError as error:
            message = f"For {of}: {error.message}"
            problems.append(OptionError(message, where=error.where, remedy=error.remedy))
    for v in file.variables:
        if v.probabilities is not None:
            try:
                reference(Domain((domain[v.name],)), {v.name: v.probabilities})
            except OptionError as error:
                problems.append(error)
    raise_together(problems)
    whole, *each = limits
    sensitive = [v.name for v in file.variables if v.sensitive]
    return whole, {n: whole if g is None else g for n, g in zip(sensitive, each, strict=True)}


@dataclass(frozen=True)
class Strongest:
    """The smallest share of all epsilons at which an option still reaches the target."""

    share: float
    option: Option

    @property
    def replaced(self) -> dict[str, float]:
        """The probability p of replacing, by block or subset; empty where a channel has none."""
        return {} if self.option.plan is None else replacing(self.option.plan)


@dataclass(frozen=True)
class ComparedDesigns:
    """All options of a problem, the chosen one, and the answers to the reverse questions.

    `needed` are the records for the target by family, where any number reaches it; `unreached`
    says why there is no `strongest`.
    """

    problem: Problem
    comparison: Comparison
    chosen: Option
    target: float | None
    needed: Mapping[str, int]
    strongest: Strongest | None
    unreached: str

    @property
    def able(self) -> tuple[Option, ...]:
        """The options that do what is asked, best first."""
        return tuple(o for o in self.comparison.options if math.isfinite(o.prediction.score))

    @property
    def unable(self) -> tuple[Option, ...]:
        """The others, each with its reason."""
        return tuple(o for o in self.comparison.options if math.isinf(o.prediction.score))

    @cached_property
    def study_plan(self) -> StudyPlan | None:
        """The plan of the study where several owners hold the variables."""
        owners, plan = self.problem.needs.owners, self.chosen.plan
        return StudyPlan.of(plan, owners) if owners and plan is not None else None

    @property
    def advice(self) -> str:
        """What is to be said of its use: that it is too noisy, or of which variables; else ""."""
        chosen = self.chosen
        if not useful(chosen):
            return not_useful(chosen.prediction.kept, records_enough(chosen, self.problem))
        domain = self.problem.needs.domain
        many = [f"{name} ({domain[name].size} categories)" for name in little_told(chosen)]
        if not many:
            return ""
        return (
            f"Of the associations of {', '.join(many)} little will be told: so many categories are"
            " too many for this gamma and number of records. Merge some, or cut numbers into fewer"
            " intervals, by what is publicly known of them."
        )

    @property
    def warning(self) -> str:
        """What the chosen plan tells of the whole record, where nobody limits that; else ""."""
        needs, held = self.problem.needs, self.chosen.gamma
        if needs.whole is not None or held <= max(needs.variables.values()) * (1 + 1e-9):
            return ""
        grown = Amplification.of_gamma(held).grown(PRIOR)
        return (
            "Only single variables are limited. About the whole record this plan has gamma"
            f" {held:.3g} ({100 * PRIOR:.3g} % can grow to {100 * grown:.3g} %), and variables"
            " that go together tell of each other; --gamma limits that."
        )

    def as_dict(self) -> dict[str, Any]:
        """Return JSON."""
        wanted = self.problem.goal
        return {
            "records": self.problem.records,
            "tables": len(wanted.sets),
            "tables_omitted": wanted.omitted,
            "interactions": wanted.order,
            "minimum_support": wanted.minimum_support,
            "options": [self._option(o) for o in self.comparison.options],
            "best": self.comparison.best.family,
            "chosen": self.chosen.family,
            "target": self.target,
            "strongest": None if self.strongest is None else self._strongest(self.strongest),
            "unreached": self.unreached or None,
            "warning": self.warning or None,
            "useful": useful(self.chosen),
            "kept_of_moderate_association": self.chosen.prediction.kept,
            "records_enough": records_enough(self.chosen, self.problem),
            "little_told": list(little_told(self.chosen)),
            "study_plan": None if self.study_plan is None else _study(self.study_plan),
            "note": NOTE,
        }

    def _option(self, made: Option) -> dict[str, Any]:
        able = math.isfinite(made.prediction.score)
        return {
            "family": made.family,
            "gamma": made.gamma if made.plan is not None else None,
            "estimator": made.estimator if able else None,
            "error": made.prediction.score if able else None,
            "errors_by_length": {str(k): e for k, e in made.prediction.by_length.items()},
            **_bounds(made),
            "records_for_target": self.needed.get(made.family),
            "plan_digest": made.plan.digest if made.plan is not None else None,
            "reason": made.reason or None,
        }

    def _strongest(self, found: Strongest) -> dict[str, Any]:
        return {
            "family": found.option.family,
            "share_of_epsilons": found.share,
            "gamma": found.option.gamma,
            "error": found.option.prediction.score,
            "p": found.replaced,
        }


def _study(plan: StudyPlan) -> dict[str, Any]:
    """Return what a study plan says: its digest, its loss, and what each owner reports."""
    return {
        "digest": plan.digest,
        "gamma": plan.amplification.gamma,
        "sets": len(plan.sets),
        "sets_over_owners": sum(len(one.parts) > 1 for one in plan.sets),
        "owners": [
            {
                "name": name,
                "told": plan.told_by(name).epsilon,
                "reported": plan.reported(name),
            }
            for name, _ in plan.owners
        ],
    }


def _bounds(made: Option) -> dict[str, Any]:
    """Return the limits of an option's reports, and how near its estimators come."""
    bounds = {"": made.bound, "_any_interaction": made.bound_any}
    return {
        **{f"bound{of}": e.score if math.isfinite(e.score) else None for of, e in bounds.items()},
        **{
            f"bounds_by_length{of}": {str(k): error for k, error in e.by_length.items()}
            for of, e in bounds.items()
        },
        "bound_reason": made.bound.missing or None,
        "efficiency": made.efficiency(),
        "efficiencies": {
            "moment": made.efficiency(made.moments),
            "log-linear": made.efficiency(made.model),
            "pooled": made.efficiency(made.pooled),
        },
    }


NOTE = (
    "Errors are predicted as if the variables were independent with the given distributions"
    " (uniform where none is given) and, for the estimators log-linear and pooled, as if there were"
    " no interaction above the order; these shrink what the reports do not show, which usually does"
    " better than predicted."
)


def design(
    problem: Problem,
    target: float | None = None,
    family: str | None = None,
    progress: StagedProgress = unwatched,
) -> ComparedDesigns:
    """Compare all families; choose the best, or `family`; answer the reverse questions.

    Args:
        problem: what is demanded and wanted.
        target: a relative standard error to reach, or None.
        family: the option to choose.
        progress: called with (family, done, total).

    Raises:
        OptionError: no family does what is asked, or `family` does not, there is no plan of that
            name, or a bad target.
    """
    comparison = compare(problem, progress)
    chosen = comparison.best if family is None else _named(comparison, family)
    able = [o for o in comparison.options if math.isfinite(o.prediction.score)]
    needed, strongest, unreached = dict[str, int](), None, ""
    if target is not None:
        needed = {o.family: records_needed(o, problem, target) for o in able}
        progress(STRONGEST, 0, 1)
        try:
            strongest = Strongest(*strongest_privacy(problem, chosen.family, target))
        except OptionError as error:
            unreached = str(error)
        progress(STRONGEST, 1, 1)
    return ComparedDesigns(problem, comparison, chosen, target, needed, strongest, unreached)


def _named(comparison: Comparison, family: str) -> Option:
    for made in comparison.options:
        if made.family == family:
            if math.isinf(made.prediction.score):
                raise OptionError(
                    f"{family} cannot do this: {made.reason}",
                    where="family",
                    remedy="Choose another family, or leave --family out to get the best.",
                )
            return made
    raise OptionError(
        f"There is no family {family!r} here.",
        where="family",
        remedy=f"The families are {sorted(o.family for o in comparison.options)}.",
    )


def replacing(plan: Plan) -> dict[str, float]:
    """Return the probability of replacing what is reported, by block or sampled subset.

    Empty if a randomized block is not of a symmetric family, which alone have one such p.
    """
    found: dict[str, float | None] = {}
    for block in plan.blocks:
        for choice in block.channel.choices:
            found["*".join(block.names[a] for a in choice.axes)] = choice.channel.replaced
        if not (block.channel.choices or block.channel.is_identity):
            found[block.name] = block.channel.replaced
    known = {name: p for name, p in found.items() if p is not None}
    return known if len(known) == len(found) else {}
