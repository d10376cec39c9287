"""Comparing all families of plans for a design problem, and choosing one of them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from pramana_core import ties
from pramana_core.channels import set_channel
from pramana_core.design.families import Build, families, sampled
from pramana_core.design.goal import Goal
from pramana_core.design.mixed_sets import best_weights, mixed
from pramana_core.design.pooling import by_pooling
from pramana_core.design.predict import UNPREDICTED, Option, by_moments, estimable_by_moments
from pramana_core.design.requirements import Requirements
from pramana_core.errors import ChannelError, LimitExceeded, OptionError, PlanError
from pramana_core.estimation.information import INFORMATION_CELLS
from pramana_core.plan import Plan
from pramana_core.privacy import ShuffledReport, central_loss, largest_gamma
from pramana_core.progress import StagedProgress
from pramana_core.study_plan import StudyPlan

MIXED = "sampled-mixed"
"""The name of the family of sampled sets of different sizes."""

SUBSETS = "sampled-subsets"
"""The name of the family `mixed` in which sets of many categories report subsets of their cells."""

LITTLE = 0.1
"""A table that keeps less than this share of a moderate association shows little of it."""

USEFUL = 0.2
"""A design that keeps less than this share of a moderate association shows only strong ones."""

NOTE = (
    "Predicted errors assume that the variables are independent and uniform. For the estimator"
    " `pooled`, they also assume that there are no interactions above the order. The errors of"
    " `pooled` are usually smaller than predicted, because it shrinks interactions that the"
    " reports do not show."
)

_LOSSLESS = 1e-15
"""Losses below this are raised to it before they are compared, because they are rounding errors."""

_STEPS, _ROUNDS, _CLOSE, _STEEPNESS = 3, 40, 1.01, 1.2
"""The steps of the search for a gamma before it bisects, its maximum number of rounds, its
tolerance, and the exponent of its steps.
"""

_LOOKS = 200_000
"""Maximum number of pairs of a sampled set and a table for a prediction by the moment estimator."""

_MANY = "There are too many tables and sets for the moment estimator, so the tables are pooled."
_PARTLY = "Reports do not contain each variable together with all its parents, for every structure."


def unwatched(family: str, done: int, total: int) -> None:
    """Ignore progress."""


@dataclass(frozen=True)
class Problem:
    """A design problem: the requirements, the goal, and the number of records."""

    needs: Requirements
    goal: Goal
    records: int

    def __post_init__(self) -> None:
        if self.records < 1:
            raise OptionError(f"records must be at least 1, not {self.records}.", where="records")

    @cached_property
    def sure(self) -> Requirements:
        """The requirements at the largest gamma with which every plan keeps the central bound."""
        needs = self.needs
        if needs.central is None:
            return needs
        largest = _rounded_down(largest_gamma(self.records, needs.central))
        return replace(needs, gamma=min(needs.gamma, largest))


@dataclass(frozen=True)
class Design:
    """All families compared for a problem, the most accurate first; `chosen` is one of them.

    `unserved` is a sentence on the tables that are too large for sampled sets, or "".
    """

    problem: Problem
    options: tuple[Option, ...]
    chosen: Option
    unserved: str = ""

    @property
    def able(self) -> tuple[Option, ...]:
        """The options that serve all tables, the best first."""
        return tuple(option for option in self.options if option.able)

    @property
    def unable(self) -> tuple[Option, ...]:
        """The options that do not serve all tables, each with its reason."""
        return tuple(option for option in self.options if not option.able)

    @cached_property
    def study_plan(self) -> StudyPlan | None:
        """The study plan if the variables belong to several owners, otherwise None."""
        owners, plan = self.problem.needs.owners, self.chosen.plan
        return StudyPlan.of(plan, owners) if owners and plan is not None else None

    @property
    def plan(self) -> Plan:
        """The chosen plan over the reports of all owners. Raises OptionError: no plan."""
        if self.chosen.plan is None:
            raise OptionError(
                f"Family {self.chosen.family} has no plan. {self.chosen.reason}",
                where="family",
                remedy="Choose another family.",
            )
        return self.chosen.plan if self.study_plan is None else self.study_plan.together

    @property
    def drawn(self) -> Plan:
        """The plan by which records are randomized, with the parts of all owners."""
        study = self.study_plan
        if study is None:
            return self.plan
        return Plan(tuple(study.block(name) for name, _ in study.owners if study.reports(name)))

    @property
    def useful(self) -> bool:
        """Whether a moderate association is visible on average in wanted tables (see `USEFUL`)."""
        return not ties.exceeds(USEFUL, self.chosen.prediction.kept)

    @cached_property
    def records_enough(self) -> int | None:
        """The number of records with which the design would be useful, or None if none suffices."""
        prediction = self.chosen.prediction

        def too_little(factor: float) -> bool:
            return ties.exceeds(USEFUL, prediction.kept_with(factor))

        if too_little(math.inf):
            return None
        low, high = 0.0, 1.0
        while too_little(high):
            low, high = high, 2 * high
        while high - low > 1e-4 * high:
            middle = (low + high) / 2
            low, high = (middle, high) if too_little(middle) else (low, middle)
        return math.ceil(high * self.problem.records)

    @property
    def little_told(self) -> tuple[str, ...]:
        """The variables whose tables with other variables all keep a share below `LITTLE`."""
        best: dict[str, float] = {}
        for names, (_, noise) in self.chosen.prediction.noise.items():
            for name in names if len(names) > 1 else ():
                best[name] = max(best.get(name, 0.0), 1 / (1 + noise))
        return tuple(name for name, kept in best.items() if ties.exceeds(LITTLE, kept))

    @property
    def advice(self) -> str:
        """A warning about tables or variables without a usable estimate, or ""."""
        return " ".join(part for part in (self.unserved, self._noisy) if part)

    @property
    def _noisy(self) -> str:
        if not self.useful:
            more = (
                "Even unlimited records would not be enough."
                if self.records_enough is None
                else f"About {self.records_enough:,} records would be enough."
            )
            return (
                f"Not useful at this number of records: on average the wanted tables keep only"
                f" {self.chosen.prediction.kept:.0%} of a moderate association (Cohen's w of 0.3);"
                f" the rest is noise. Only much stronger associations will show. {more}"
            )
        domain = self.problem.needs.domain
        many = [f"{name} ({domain[name].size} categories)" for name in self.little_told]
        if not many:
            return ""
        return (
            f"Associations of {', '.join(many)} will hardly show, because there are too many"
            " categories for this gamma and number of records. Merge categories, or cut numbers"
            " into fewer intervals, using public knowledge only."
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the design as JSON data."""
        goal = self.problem.goal
        return {
            "records": self.problem.records,
            "tables": len(goal.sets),
            "tables_omitted": goal.omitted,
            "interactions": goal.order,
            "minimum_support": goal.minimum_support,
            "options": [_option_json(option) for option in self.options],
            "best": self.options[0].family,
            "chosen": self.chosen.family,
            "useful": self.useful,
            "kept_of_moderate_association": self.chosen.prediction.kept,
            "records_enough": self.records_enough,
            "little_told": list(self.little_told),
            "unserved": self.unserved or None,
            "study_plan": None if self.study_plan is None else _study(self.study_plan),
            "note": NOTE,
        }


def _option_json(option: Option) -> dict[str, Any]:
    return {
        "family": option.family,
        "gamma": option.gamma if option.plan is not None else None,
        "estimator": option.estimator if option.able else None,
        "loss": option.prediction.loss if option.able else None,
        "error": option.prediction.score if option.able else None,
        "errors_by_length": {str(k): e for k, e in option.prediction.by_length.items()},
        "plan_digest": option.plan.digest if option.plan is not None else None,
        "reason": option.reason or None,
    }


def _study(plan: StudyPlan) -> dict[str, Any]:
    return {
        "digest": plan.digest,
        "gamma": plan.amplification.gamma,
        "sets": len(plan.sets),
        "sets_over_owners": sum(len(one.parts) > 1 for one in plan.sets),
        "owners": [
            {"name": name, "told": plan.loss_at(name).epsilon, "reported": plan.reported(name)}
            for name, _ in plan.owners
        ],
    }


def find_design(
    problem: Problem, family: str | None = None, progress: StagedProgress = unwatched
) -> Design:
    """Compare the families by their predicted errors and choose the family with the smallest loss.

    If some tables are too large for sampled sets and no family serves all tables equally well, the
    design omits these tables, and `Design.unserved` describes them. With `family`, only one family,
    such as `sampled-2`, or all families of a name, such as `sampled`, are compared. Raises
    OptionError: the family is unknown, or no family serves all tables.
    """
    small = poolable(problem)
    if small is problem:
        return _compare(problem, family, progress)
    lesser = _compare(small, family, progress)
    try:
        whole = _compare(problem, family, progress)
    except OptionError:
        whole = None
    # An omitted table shows no association at all.
    kept = math.fsum(problem.goal.shares[names] for names in small.goal.sets)
    lost = 1 - kept * (1 - lesser.chosen.prediction.loss)
    if whole is not None and not ties.exceeds(whole.chosen.prediction.loss, lost):
        return whole
    return replace(lesser, unserved=unserved(problem.goal, small.goal))


def _compare(problem: Problem, family: str | None, progress: StagedProgress) -> Design:
    everything = builds(problem)
    chosen = {
        name: build
        for name, build in everything.items()
        if family is None or name == family or name.startswith(f"{family}-")
    }
    if not chosen:
        raise OptionError(
            f"Family {family!r} is not available for this design.",
            where="family",
            remedy=f"Choose one of {sorted(everything)}.",
        )
    options = []
    for index, (name, build) in enumerate(chosen.items()):
        progress(name, index, len(chosen))
        options.append(option(problem, name, build))
    progress("", len(chosen), len(chosen))
    options = [o for o in options if o.family != SUBSETS or len(options) == 1 or _in_subsets(o)]
    able = [o for o in options if o.able]
    # Losses may have any size, so losses that differ by a small factor tie.
    losses = np.log([max(o.prediction.loss, _LOSSLESS) for o in able])
    order = ties.ascending(losses, scale=1.0, tie=ties.FITTED_TIE)
    ordered = (*(able[place] for place in order), *(o for o in options if not o.able))
    if not able:
        raise OptionError(
            f"No family can estimate tables of up to {max(problem.goal.by_length())} variables with"
            f" interactions of up to {problem.goal.order} under these requirements. "
            + " ".join(f"{o.family}: {o.reason}" for o in ordered),
            where="family",
            remedy="Request tables of fewer variables, relax the requirements, or choose another"
            " family.",
        )
    return Design(problem, ordered, ordered[0])


def builds(problem: Problem) -> dict[str, Build]:
    """Return the builders of all families of plans for a problem, by family name."""
    found = dict(families(problem.sure))
    if len(problem.needs.sensitive) > 1:
        found[MIXED] = mixed(problem.goal, problem.records)
        if _many_categories(problem):
            found[SUBSETS] = lambda needs: found[MIXED](replace(needs, subsets=True))
    return found


def _in_subsets(made: Option) -> bool:
    """Whether some sampled set reports subsets. If none does, the option duplicates `mixed`."""
    blocks = () if made.plan is None else made.plan.blocks
    return any(choice.channel.tags for block in blocks for choice in block.channel.choices)


def _many_categories(problem: Problem) -> bool:
    """Whether, within one owner, some wanted variable or pair is better reported in subsets."""
    needs = problem.sure
    try:
        return any(
            bool(set_channel(needs.domain.project(names).size, needs.gamma, subsets=True).tags)
            for names in problem.goal.sets
            if len(names) < 3 and {*names} <= {*needs.sensitive} and len(needs.by_owner(names)) == 1
        )
    except ChannelError:  # gamma is too small, and the families say so
        return False


def poolable(problem: Problem) -> Problem:
    """Return the problem without the tables that are too large for sampled sets.

    If no table or only tables of one variable would remain, or learners certainly need larger
    tables, return the problem unchanged.
    """
    goal, domain = problem.goal, problem.needs.domain
    sets = tuple(s for s in goal.sets if domain.project(s).size <= INFORMATION_CELLS)
    few = goal.searched or max(map(len, sets), default=0) < 2
    if few or len(sets) == len(goal.sets):
        return problem
    weights = tuple(goal.shares[s] for s in sets) if goal.weights else ()
    omitted = goal.omitted + len(goal.sets) - len(sets)
    # Learners may still need the omitted tables: rank moments that cannot estimate them last.
    wider = max(goal.wider, *map(len, goal.sets))
    small = replace(goal, sets=sets, weights=weights, omitted=omitted, wider=wider)
    return replace(problem, goal=small)


def unserved(wanted: Goal, served: Goal) -> str:
    """Return a sentence on the tables that a design does not serve."""
    kept = set(served.sets)
    omitted = [len(names) for names in wanted.sets if names not in kept]
    return (
        f"No design serves all wanted tables: {len(omitted):,} of {len(wanted.sets):,} tables, of"
        f" {min(omitted)} variables or more, have more than {INFORMATION_CELLS:,} cells. This"
        " design is the best for the other tables. Itemsets of three or more items that no record"
        " reports together are estimated from their pairs."
    )


def option(problem: Problem, name: str, build: Build) -> Option:
    """Return the option of one family, with its plan and predicted errors.

    If the family samples sets of variables, the probabilities of the sets are optimized. Under a
    central bound, the plan has the largest gamma with which it states at most this bound, to about
    one percent of gamma - 1 or of the bound; a family that serves no table with the worst channels'
    gamma keeps that gamma. If the sets change with gamma, a larger gamma may keep the bound, too.
    """
    central, most = problem.needs.central, problem.needs.gamma
    if central is None:
        return _option(problem, name, build)
    # A plan never states more than its local bound, except for rounding.
    low = min(most, _rounded_down(math.exp(min(central.epsilon, 700.0) * (1 - 1e-8))))
    best, high, gamma = None, math.inf, max(low, problem.sure.gamma)
    for turn in range(_ROUNDS):
        made = _option(replace(problem, needs=replace(problem.needs, gamma=gamma)), name, build)
        factor = 0.0
        if made.plan is not None and made.able:
            report = ShuffledReport.of(made.plan)
            # A study plan joins its owners' parts, which rounds the same bound in another order.
            stated = central_loss(report, problem.records, central.delta).epsilon * (1 + 1e-9)
            factor = central.epsilon / max(stated, _LOSSLESS)
        elif best is None:
            return made
        if factor >= 1:
            best, low = made, gamma
        else:
            high = gamma
        close = 1 <= factor <= _CLOSE or high - 1 <= _CLOSE * (low - 1)
        if low >= most or (close and best is not None):
            break
        # Near the solution, epsilon grows a little slower than gamma.
        step = 1 + (gamma - 1) * factor**_STEEPNESS
        gamma = _rounded_down(step) if step < most else most
        if turn >= _STEPS or not low < gamma < high:
            middle = 1 + math.sqrt(low - 1) * math.sqrt(min(high, most) - 1)
            gamma = low if close else _rounded_down(middle)
    return best or Option(name, None, UNPREDICTED, "No gamma keeps the central bound.")


def _rounded_down(gamma: float) -> float:
    """Return a gamma of five digits, which rounding errors of processors hardly change."""
    digits = 4 - math.floor(math.log10(max(gamma - 1, 1e-16)))
    return math.floor(gamma * 10.0**digits) / 10.0**digits


def _option(problem: Problem, name: str, build: Build) -> Option:
    try:
        plan = build(problem.needs)
    except (ChannelError, OptionError, PlanError, LimitExceeded) as error:
        return Option(name, None, UNPREDICTED, error.message)
    equal = _predict(problem, name, plan)
    choices = [b for b in plan.blocks if b.channel.choices]
    if not equal.able or name in {MIXED, SUBSETS} or not choices or _many(plan, problem.goal):
        return equal
    subsets = tuple(tuple(b.names[a] for a in c.axes) for b in choices for c in b.channel.choices)
    weights = best_weights(problem.needs, problem.goal, problem.records, subsets)
    weighted = _predict(problem, name, sampled(subsets, weights)(problem.needs))
    better = ties.exceeds(equal.prediction.score, weighted.prediction.score, tie=ties.FITTED_TIE)
    return weighted if better else equal


def _predict(problem: Problem, name: str, plan: Plan) -> Option:
    goal, records = problem.goal, problem.records
    pooled = by_pooling(plan, goal, records)
    moments = (
        replace(UNPREDICTED, missing=_MANY)
        if _many(plan, goal)
        else by_moments(plan, goal.thinned, records)
    )
    partly = not estimable_by_moments(plan, goal.wider)
    if partly and goal.searched:
        moments = replace(moments, score=math.inf, loss=math.inf, missing=_PARTLY)
    reason = ""
    if math.isinf(min(moments.score, pooled.score)):
        reason = f"By moments: {moments.missing}"
        reason += f" Pooled: {pooled.missing}" if pooled.missing else ""
    return Option(name, plan, moments, reason, pooled, partly, problem.needs.gamma)


def _many(plan: Plan, goal: Goal) -> bool:
    choices = max(len(b.channel.choices) for b in plan.blocks)
    return bool(choices) and (choices * len(goal.sets) > _LOOKS or goal.thinned is not goal)
