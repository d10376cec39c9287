"""The plan of a simulation: one strength for all variables, or a design for the whole record."""

from __future__ import annotations

import itertools
import math
from typing import Any, cast

from pramana_core.channels import CONDITION_LIMIT, Symmetric
from pramana_core.design import (
    Design,
    Goal,
    Option,
    Problem,
    Requirements,
    builds,
    find_design,
    goal,
    option,
    poolable,
    unserved,
)
from pramana_core.design.goal import CELLS
from pramana_core.domain import Domain
from pramana_core.errors import OptionError
from pramana_core.estimation.estimated import Estimator
from pramana_core.plan import Block, Plan
from pramana_core.progress import OnShare
from pramana_core.ties import first_smallest

_NAMED = {"ran-gd": "random-gamma-diagonal"}
"""The designer's name of a family, where it is not ours."""

Owners = tuple[tuple[str, tuple[str, ...]], ...]
"""The owners' names and variables, in the order of a study plan."""


def owners_of(domain: Domain, asked: str) -> Owners:
    """Return the owners of the columns, as `--owners` says.

    Args:
        domain: the columns.
        asked: a number of owners, who get the columns in order, or each owner's columns with commas
            between, owners separated by semicolons.

    Raises OptionError, UnknownVariable.
    """
    names = domain.names
    if asked.strip().isdigit():
        count = int(asked)
        ends = [round(len(names) * i / max(count, 1)) for i in range(count + 1)]
        held = [names[low:high] for low, high in itertools.pairwise(ends)]
    else:
        held = [tuple(n.strip() for n in own.split(",") if n.strip()) for own in asked.split(";")]
    named = list(itertools.chain(*held))
    for name in named:
        domain.axis(name)
    if len(held) < 2 or not all(held) or sorted(named) != sorted(names):
        raise OptionError(
            f"--owners {asked!r} does not give each of {len(names)} columns to one of several"
            " owners.",
            where="--owners",
            remedy='Give a number of owners, or the columns of each: "a,b; c,d".',
        )
    return tuple((f"owner-{i}", own) for i, own in enumerate(held, 1))


def designed(
    domain: Domain,
    family: str,
    gamma: float,
    wanted: Goal,
    records: int,
    on_step: OnShare = lambda _share: None,
    owners: Owners = (),
) -> Design:
    """Return the design of a family that is predicted to serve best at an amplification.

    Nothing of the data is used. Families that come in sizes (`cut-and-paste`, `sampled`) are
    represented by their best; if none tells all that is wanted, by the one that tells the most.

    Args:
        domain: the variables, owner by owner; all are sensitive.
        family: the plans to choose from; `auto` for all.
        gamma: the largest amplification of the whole record, over all owners, above 1.
        wanted: the tables whose errors matter.
        records: their number.
        on_step: is called with the share of the work that is done.
        owners: the owners of the variables, where there are several.

    Raises OptionError.
    """
    needs = Requirements(domain, gamma, owners=owners)
    problem = Problem(needs, wanted, records)
    if family == "auto":
        return find_design(problem, progress=lambda _, done, total: on_step(done / total))
    best, small = _best_of(problem, family), poolable(problem)
    if not best.able and small is not problem:
        best = _best_of(small, family)
        found = Design(small, (best,), best, unserved(wanted, small.goal))
    else:
        found = Design(problem, (best,), best)
    if best.plan is None:
        raise OptionError(
            f"No plan of the family {family} can be made: {best.reason}",
            where="--design",
            remedy="Choose another family, or allow a larger --gamma.",
        )
    return found


def estimator_of(design: Design) -> Estimator:
    """Return the estimator that is predicted to err less; by moments where neither is predicted."""
    return cast(Estimator, design.chosen.estimator if design.chosen.able else "moment")


def described(design: Design) -> dict[str, Any]:
    """Return what a simulation says of its design, as JSON."""
    said = design.as_dict()
    kept = ("useful", "kept_of_moderate_association", "records_enough", "unserved")
    study = design.study_plan
    return {
        "design": design.chosen.family,
        **{name: said[name] for name in kept},
        "study_plan": None if study is None else study.digest,
    }


def _best_of(problem: Problem, family: str) -> Option:
    wanted = _NAMED.get(family, family)
    made = [
        option(problem, name, build)
        for name, build in builds(problem).items()
        if name == wanted or name.startswith(f"{wanted}-")
    ]
    if not made and problem.needs.owners:
        raise OptionError(
            f"The family {family} cannot be shared by several owners: only sampled sets can.",
            where="--design",
            remedy="Choose sampled or auto, or leave out --owners.",
        )
    if not made:
        raise OptionError(
            f"There is no plan of the family {family} for {len(problem.needs.domain)} variables.",
            where="--design",
            remedy=f"Choose auto, or one of {', '.join(builds(problem))}.",
        )
    # Of plans that are equally good the first of those that tell the longest tables.
    made.sort(key=lambda one: -len(one.moments.by_length))
    return made[first_smallest([one.prediction.loss for one in made])]


def for_itemsets(domain: Domain, minimum_support: float, longest: int | None = None) -> Goal:
    """Return the goal of mining: all sets of variables, as long as their tables can be predicted.

    Raises OptionError for a length that no itemset has.
    """
    length = len(domain) if longest is None else longest
    sizes = sorted(domain.shape, reverse=True)
    while length > 1 and math.prod(sizes[:length]) > CELLS:
        length -= 1
    return goal(domain, "itemsets", length=length, minimum_support=minimum_support)


def symmetric(domain: Domain, p: float) -> Plan:
    """Return the plan that replaces each variable's category with probability `p`.

    The new category is any of the K - 1 others, each with probability p / (K - 1): the channel
    `symmetric` of a site file, and for K = 2 Ma's binary symmetric randomization (Ma 2.1).

    Raises OptionError.
    """
    if not 0 <= p <= 1:
        raise OptionError(
            f"p must be between 0 and 1, not {p:g}.",
            where="--p",
            remedy="At (K - 1) / K the reports on a variable of K categories say nothing.",
        )
    blocks = tuple(Block((v,), Symmetric.from_probability(v.size, p)) for v in domain)
    silent = [b for b in blocks if b.channel.condition_number > CONDITION_LIMIT]
    if silent:
        size = silent[0].variables[0].size
        raise OptionError(
            f"With p = {p:g} the reports on {', '.join(b.name for b in silent)} say nothing:"
            f" each of {size} categories is reported equally often.",
            where="--p",
            remedy=f"Give a p below {size - 1}/{size} = {(size - 1) / size:g}.",
        )
    return Plan(blocks)
