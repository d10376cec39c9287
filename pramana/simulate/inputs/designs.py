"""Plans that the designer makes for a demand on the whole record, family by family."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, cast

from shared.design import (
    Goal,
    Option,
    Problem,
    Requirements,
    builds,
    compare,
    goal,
    option,
    reference,
)
from shared.design.goal import CELLS
from shared.domain import Domain
from shared.errors import OptionError
from shared.estimation.estimated import Estimator
from shared.plan import Plan
from shared.progress import OnShare

Family = Literal[
    "auto", "independent", "gamma-diagonal", "ran-gd", "mask", "cut-and-paste", "sampled"
]
"""What `--design` takes; `auto` is the designer's choice among all."""

_BEGINS = {"ran-gd": "random-gamma-diagonal"}
"""How the designer's names of a family's plans begin, where not as ours."""


@dataclass(frozen=True)
class DesignedPlan:
    """A plan, the designer's name for it, and the estimator it predicts to err less."""

    name: str
    plan: Plan
    estimator: Estimator


def designed(
    domain: Domain,
    family: Family,
    gamma: float,
    wanted: Goal,
    records: int,
    on_step: OnShare = lambda _share: None,
) -> DesignedPlan:
    """Return the plan of a family that is predicted to err least at an amplification.

    The designer has not seen the data: every variable's reference distribution is uniform. Families
    that come in sizes (`cut-and-paste`, `sampled`) are represented by their best; if none tells all
    that is wanted, by the one that tells the most.

    Args:
        domain: the variables; all are sensitive.
        family: which plans to choose from.
        gamma: the largest amplification of the whole record, above 1.
        wanted: the tables whose errors matter.
        records: how many there will be.
        on_step: told the share of the work that is done.

    Raises:
        OptionError: gamma is not above 1, or no plan of the family can be made.
    """
    needs = Requirements(domain, dict.fromkeys(domain.names, gamma), gamma)
    problem = Problem(needs, wanted, reference(domain), records)
    if family == "auto":
        best = compare(problem, lambda _, done, total: on_step(done / total)).best
    else:
        best = _best_of(problem, family)
    if best.plan is None:
        raise OptionError(
            f"No plan of the family {family} can be made: {best.reason}",
            where="--design",
            remedy="Choose another family, or allow a larger --gamma.",
        )
    estimator = best.estimator if math.isfinite(best.prediction.score) else "moment"
    return DesignedPlan(best.family, best.plan, cast(Estimator, estimator))


def _best_of(problem: Problem, family: Family) -> Option:
    begins = _BEGINS.get(family, family)
    made = [
        option(problem, name, build)
        for name, build in builds(problem).items()
        if name.startswith(begins)
    ]
    if not made:
        raise OptionError(
            f"There is no plan of the family {family} for {len(problem.needs.domain)} variables.",
            where="--design",
            remedy="Choose another family, or auto.",
        )
    return min(made, key=_error)


def _error(made: Option) -> tuple[float, int]:
    return made.prediction.loss, -len(made.moments.by_length)


def for_itemsets(domain: Domain, minimum_support: float, longest: int | None = None) -> Goal:
    """Return the goal of mining: all sets of variables, as long as their tables can be predicted.

    Raises OptionError for a length that no itemset has.
    """
    length = len(domain) if longest is None else longest
    sizes = sorted(domain.shape, reverse=True)
    while length > 1 and math.prod(sizes[:length]) > CELLS:
        length -= 1
    return goal(domain, "itemsets", length=length, minimum_support=minimum_support)


def for_target(domain: Domain, target: str) -> Goal:
    """Return the goal of a classifier: the target with each attribute (see `shared.design.goal`).

    Raises UnknownVariable.
    """
    return goal(domain, "classifier", target=target)
