"""Every family side by side, the best of them, and the questions the other way round."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from pramana_core import ties
from pramana_core.design.bound import bound
from pramana_core.design.families import Build, Requirements, families, sampled
from pramana_core.design.goal import Goal
from pramana_core.design.mixed_sets import best_weights, by_pooling, mixed, same_sets
from pramana_core.design.predict import (
    NOTHING,
    Option,
    by_moments,
    told_by_moments,
)
from pramana_core.errors import ChannelError, LimitExceeded, OptionError, PlanError
from pramana_core.estimation.information import INFORMATION_CELLS
from pramana_core.marginals.counts import Tensor
from pramana_core.plan import Plan
from pramana_core.progress import StagedProgress


def unwatched(family: str, done: int, total: int) -> None:
    """Report progress to nobody."""


@dataclass(frozen=True)
class Problem:
    """A design to be made: what is demanded, what will be learned, from how many records."""

    needs: Requirements
    goal: Goal
    reference: Mapping[str, Tensor]
    records: int

    def __post_init__(self) -> None:
        if self.records < 1:
            raise OptionError(f"records must be at least 1, not {self.records}.", where="records")

    @property
    def tables(self) -> tuple[tuple[str, ...], ...]:
        """The tables that could be sampled among; none where the goal leaves some out.

        A plan that reports exactly the tables predicted would not tell those left out.
        """
        return () if self.goal.omitted else self.goal.sets


@dataclass(frozen=True)
class Comparison:
    """All options, the most accurate first; the last ones cannot do what is asked.

    Attributes:
        options: the options.
        problem: what they were compared for: the goal is less than was wanted where `unserved`.
        unserved: which tables are too large to be estimated from sampled sets, in words; "" where
            all are served.
    """

    options: tuple[Option, ...]
    problem: Problem
    unserved: str = ""

    @property
    def best(self) -> Option:
        """The option of smallest predicted error."""
        return self.options[0]


def builds(problem: Problem) -> dict[str, Build]:
    """Return every family of plans for a problem by name."""
    found = dict(families(problem.needs, problem.tables))
    if len(problem.needs.sensitive) > 1:
        found[MIXED] = mixed(problem.goal, problem.reference, problem.records)
    return found


MIXED = "sampled-mixed"
"""The family of sampled sets of different sizes."""


def compare(problem: Problem, progress: StagedProgress = unwatched) -> Comparison:
    """Predict every family's error for a problem.

    The best has the smallest loss (`PredictedErrors`), of equal ones that which is built first.

    Where tables are too large for sampled sets and no family serves all tables as well as the best
    for the others serves those, the others are the goal, and `Comparison.unserved` says so.

    Raises:
        OptionError: no family tells what is asked; the message says which interactions are wanted.
    """
    small = poolable(problem)
    if small is problem:
        return _compared(problem, progress)
    lesser = _compared(small, progress)
    try:
        whole = _compared(problem, progress)
    except OptionError:
        whole = None
    # A table that is left out tells nothing of an association.
    kept = math.fsum(problem.goal.shares[names] for names in small.goal.sets)
    lost = 1 - kept * (1 - lesser.best.prediction.loss)
    if whole is not None and not ties.exceeds(whole.best.prediction.loss, lost):
        return whole
    return replace(lesser, unserved=unserved(problem.goal, small.goal))


def poolable(problem: Problem) -> Problem:
    """Return the problem without tables too large for sampled sets.

    It is the problem itself where there are no such tables or no others of several variables, and
    where a structure is searched for, which takes every pair.
    """
    goal, domain = problem.goal, problem.needs.domain
    sets = tuple(s for s in goal.sets if domain.project(s).size <= INFORMATION_CELLS)
    few = goal.searched or max(map(len, sets), default=0) < 2
    if few or len(sets) == len(goal.sets):
        return problem
    weights = tuple(goal.shares[s] for s in sets) if goal.weights else ()
    omitted = goal.omitted + len(goal.sets) - len(sets)
    # Learners ask for the others, too: moments that do not tell them come last.
    wider = max(goal.wider, *map(len, goal.sets))
    small = replace(goal, sets=sets, weights=weights, omitted=omitted, wider=wider)
    return replace(problem, goal=small)


def unserved(wanted: Goal, served: Goal) -> str:
    """Say in words which tables a design does not serve; itemsets over them are made of pairs."""
    kept = set(served.sets)
    left = [len(names) for names in wanted.sets if names not in kept]
    return (
        f"No design serves all that is wanted: {len(left):,} of {len(wanted.sets):,} tables, of"
        f" {min(left)} variables or more, have more than {INFORMATION_CELLS:,} cells. This design"
        " is the best for the others; itemsets of three items and more that no record reports"
        " together are made of their pairs."
    )


def _compared(problem: Problem, progress: StagedProgress) -> Comparison:
    found = builds(problem)
    options = []
    for index, (name, build) in enumerate(found.items()):
        progress(name, index, len(found))
        options.append(bounded(option(problem, name, build), problem))
    progress("", len(found), len(found))
    finite = [o for o in options if math.isfinite(o.prediction.score)]
    # Losses may be of any size: those tie that differ by a small factor.
    losses = np.log([max(o.prediction.loss, _LOSSLESS) for o in finite])
    order = ties.ascending(losses, scale=1.0, tie=ties.FITTED_TIE)
    able = [finite[place] for place in order]
    unable = [o for o in options if not math.isfinite(o.prediction.score)]
    ordered = tuple(able + unable)
    if not able:
        raise OptionError(
            f"No family can estimate tables of up to {max(problem.goal.by_length())} variables with"
            f" interactions of {problem.goal.order} under these requirements. "
            + " ".join(f"{o.family}: {o.reason}" for o in ordered),
            remedy="Ask for shorter tables or a lower order of interaction, or allow more.",
        )
    return Comparison(ordered, problem)


def bounded(made: Option, problem: Problem) -> Option:
    """Return an option with its bound (`bound`), which `option` leaves out."""
    if made.plan is None:
        return made
    if _many(made.plan, problem.goal):
        return replace(made, bound=replace(NOTHING, missing=_MANY))
    goal = problem.goal.thinned
    given = (made.plan, goal, problem.reference, problem.records)
    return replace(made, bound=bound(*given, goal.order))


_LOSSLESS = 1e-15
"""A smaller loss is the rounding of one."""


def option(problem: Problem, name: str, build: Build) -> Option:
    """Predict one family's error; a sampled family also chooses its weights."""
    try:
        plan = build(problem.needs)
    except (ChannelError, OptionError, PlanError, LimitExceeded) as error:
        return Option(name, None, NOTHING, error.message)
    if unmet := problem.needs.unmet(plan):
        return Option(name, None, NOTHING, unmet)
    made = _predicted(problem, name, plan)
    choices = [b for b in plan.blocks if b.channel.choices]
    able = math.isfinite(made.prediction.score) and name != MIXED
    if not able or not choices or _many(plan, problem.goal):
        return made
    subsets = tuple(tuple(b.names[a] for a in c.axes) for b in choices for c in b.channel.choices)
    weights = best_weights(problem.needs, *_terms(problem), subsets)
    weighted = _predicted(problem, name, sampled(subsets, weights)(problem.needs))
    better = ties.exceeds(made.prediction.score, weighted.prediction.score, tie=ties.FITTED_TIE)
    return weighted if better else made


def _predicted(problem: Problem, name: str, plan: Plan) -> Option:
    thinned = (plan, problem.goal.thinned, problem.reference, problem.records)
    pooled = by_pooling(plan, *_terms(problem))
    many = _many(plan, problem.goal)
    moments = replace(NOTHING, missing=_MANY) if many else by_moments(*thinned)
    partly = not told_by_moments(plan, problem.goal.wider)
    if partly and problem.goal.searched:
        moments = replace(moments, score=math.inf, loss=math.inf, missing=_PARTLY)
    reason = ""
    if math.isinf(min(moments.score, pooled.score)):
        reason = f"By moments: {moments.missing}"
        reason += f" Pooled: {pooled.missing}" if pooled.missing else ""
    return Option(name, plan, moments, reason, pooled=pooled, partly=partly)


_MANY = "There are too many tables and sets to restrict the plan to each table; they are pooled."
_PARTLY = "The families of a structure are not all told together."


def _many(plan: Plan, goal: Goal) -> bool:
    """Whether sampled sets are too many to be restricted to each table by itself."""
    choices = max(len(b.channel.choices) for b in plan.blocks)
    return bool(choices) and (choices * len(goal.sets) > _LOOKS or goal.thinned is not goal)


_LOOKS = 200_000


def _terms(problem: Problem) -> tuple[Goal, Mapping[str, Tensor], int]:
    return problem.goal, problem.reference, problem.records


def records_needed(made: Option, problem: Problem, target: float) -> int:
    """Return how many records an option needs for a relative standard error of `target`.

    Errors fall with the square root of the records.

    Raises:
        OptionError: the target is not positive, or no number of records reaches it.
    """
    _require_target(target)
    score = made.prediction.score
    if math.isinf(score):
        raise OptionError(
            f"{made.family} cannot reach this error with any number of records. {made.reason}",
            where="target",
            remedy="Choose another family, or demand something else.",
        )
    return ties.ceiling(problem.records * (score / target) ** 2)


def useful(made: Option) -> bool:
    """Whether a moderate association shows in the tables wanted, on average (`USEFUL`)."""
    return not ties.exceeds(USEFUL, made.prediction.kept)


def records_enough(made: Option, problem: Problem) -> int | None:
    """Return with how many records an option would be useful; None where no number is enough."""
    prediction = made.prediction

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
    return math.ceil(high * problem.records)


def not_useful(kept: float, enough: int | None) -> str:
    """Say in words that a design is not `useful`, and with how many records it would be."""
    more = (
        f"About {enough:,} records would be enough."
        if enough is not None
        else "No number of records would be enough."
    )
    return (
        f"Not useful at this number of records: on average {kept:.0%} of a moderate association"
        f" (Cohen's w of 0.3) is left in the tables wanted, the rest is noise; only much stronger"
        f" ones will show. {more}"
    )


def little_told(made: Option) -> tuple[str, ...]:
    """Return the variables of which no wanted table with others keeps `LITTLE` of an association.

    Their categories are many against gamma and the records.
    """
    best: dict[str, float] = {}
    for names, (_, noise) in made.prediction.noise.items():
        for name in names if len(names) > 1 else ():
            best[name] = max(best.get(name, 0.0), 1 / (1 + noise))
    return tuple(name for name, kept in best.items() if ties.exceeds(LITTLE, kept))


LITTLE = 0.1
"""Of a table that keeps less of a moderate association than this little is told."""

USEFUL = 0.2
"""Below this share of a moderate association that noise leaves, only strong ones can be seen."""


def strongest_privacy(problem: Problem, family: str, target: float) -> tuple[float, Option]:
    """Return the smallest share of the allowed epsilons at which a family reaches `target`.

    All requirements are scaled alike: a share of 0.5 halves every epsilon. The option is the one at
    that share (Ma's p* for a number of records).

    Raises:
        OptionError: the family is unknown, cannot do what is asked at all (the message says why),
            or misses the target even at the full epsilons (it says what is reached, and with how
            many records the target would be).
    """
    _require_target(target)
    known = builds(problem)
    if family not in known:
        raise OptionError(
            f"There is no family {family!r} here.",
            where="family",
            remedy=f"The families are {sorted(known)}.",
        )

    def at(share: float) -> Option:
        scaled = Problem(
            problem.needs.scaled(share), problem.goal, problem.reference, problem.records
        )
        return option(scaled, family, known[family])

    full = at(1.0)
    if family == MIXED and full.plan is not None:
        known[MIXED] = same_sets(full.plan)
    if ties.exceeds(full.prediction.score, target):
        many = records_needed(full, problem, target)
        raise OptionError(
            f"{family} does not reach an error of {target:.3g} with {problem.records:,} records at"
            f" the epsilons allowed. The nearest that can be reached is"
            f" {full.prediction.score:.3g}; {target:.3g} would take {many:,} records.",
            where="target",
            remedy="Allow a larger epsilon, ask for less, or gather more records.",
        )
    low, high, best = 0.0, 1.0, full
    while high - low > 1e-3 * high and high > _LEAST:
        middle = (low + high) / 2
        tried = at(middle)
        if not ties.exceeds(tried.prediction.score, target):
            high, best = middle, tried
        else:
            low = middle
    return high, best


_LEAST = 1e-6
"""No smaller share of the epsilons is looked for: nothing could be learned from its reports."""


def _require_target(target: float) -> None:
    if not (target > 0 and math.isfinite(target)):
        raise OptionError(
            f"The relative standard error must be positive, not {target}.",
            where="target",
            remedy="Give a positive number, such as 0.05 for five percent of the estimate.",
        )
