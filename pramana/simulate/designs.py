"""The plan of a simulation: one strength for all, a plan as releases carry it, or a design.

The designer makes plans for a demand on the whole record, family by family.
"""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any, cast

import numpy as np
from pydantic import ValidationError

from pramana_core.channels import CONDITION_LIMIT, Symmetric, Transition
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
from pramana_core.errors import OptionError, PlanError, SingularChannel
from pramana_core.estimation.estimated import Estimator
from pramana_core.plan import Block, Plan
from pramana_core.progress import OnShare
from pramana_core.ties import first_smallest
from pramana_core.wire.channels import PlanMessage

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

    Raises:
        OptionError: too many owners, or columns that are unknown, left out or there twice.
    """
    names = domain.names
    if asked.strip().isdigit():
        count = int(asked)
        if not 1 < count <= len(names):
            raise OptionError(
                f"{len(names)} columns cannot be dealt out to {count} owners.",
                where="--owners",
                remedy=f"Give 2 to {len(names)} owners, or the columns of each.",
            )
        ends = [round(len(names) * i / count) for i in range(count + 1)]
        held = [names[low:high] for low, high in itertools.pairwise(ends)]
    else:
        held = [tuple(n.strip() for n in own.split(",") if n.strip()) for own in asked.split(";")]
        for name in itertools.chain(*held):
            domain.axis(name)
        named = list(itertools.chain(*held))
        left = [name for name in names if name not in named]
        twice = [name for name in names if named.count(name) > 1]
        if left or twice or len(held) < 2 or not all(held):
            words = (
                f"left out: {left}"
                if left
                else f"given twice: {twice}"
                if twice
                else "one owner alone has all"
                if len(held) < 2
                else "some owner has none"
            )
            raise OptionError(
                f"--owners must give each column to one of several owners; {words}.",
                where="--owners",
                remedy='Separate columns by commas and owners by semicolons: "a,b; c,d".',
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
        family: which plans to choose from; `auto` is the designer's choice among all.
        gamma: the largest amplification of the whole record, over all owners, above 1.
        wanted: the tables whose errors matter.
        records: how many there will be.
        on_step: told the share of the work that is done.
        owners: who holds which variables, where one does not hold all.

    Raises:
        OptionError: gamma is not above 1, or no plan of the family can be made.
    """
    needs = Requirements(domain, dict.fromkeys(domain.names, gamma), gamma, owners)
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

    Raises:
        OptionError: `p` is not a probability, or (K - 1) / K for one of the variables: then every
            report is equally probable whatever the truth.
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


def read_plan(path: Path) -> Plan:
    """Read a plan from the JSON that releases carry (`GET /v1/releases/{id}`, member `plan`).

    Raises:
        OptionError: the file cannot be read, or is not such JSON.
        PlanError, ChannelError, DomainError: it is, but describes no plan.
    """
    try:
        return PlanMessage.model_validate_json(path.read_bytes()).to_plan()
    except OSError as error:
        raise OptionError(
            f"The plan {path} cannot be read: {error.strerror}.", where="--channels"
        ) from None
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "the document"
        raise OptionError(
            f"{path} is not a plan: {place}: {first['msg']}.",
            where="--channels",
            remedy='Give a JSON document {"blocks": [...]} as releases carry it.',
        ) from None


def fitting(plan: Plan, domain: Domain, estimator: str = "moment") -> Plan:
    """Return the blocks of a plan that randomize the variables of a domain.

    Blocks of other variables are left out.

    Args:
        plan: what owners would do.
        domain: the variables simulated.
        estimator: moments need the inverse of every channel; likelihood (`ml`) only reports that
            depend on each variable.

    Raises:
        PlanError: the plan lacks a variable, has other categories for one, or randomizes one
            together with a variable that is not simulated.
        SingularChannel: a channel from which the estimator can learn nothing.
    """
    missing = [name for name in domain.names if name not in plan.domain]
    if missing:
        raise PlanError(
            f"The plan does not say what is done to {', '.join(missing)}.",
            where="--channels",
            remedy=f"Its variables are {list(plan.domain.names)}; those of the records are"
            f" {list(domain.names)}.",
        )
    blocks = tuple(b for b in plan.blocks if any(name in domain for name in b.names))
    for block in blocks:
        _require_fit(block, domain)
        _require_reported(block)
        if estimator == "moment":
            _require_inverse(block)
    return Plan(blocks)


def _require_fit(block: Block, domain: Domain) -> None:
    outside = [name for name in block.names if name not in domain]
    if outside:
        raise PlanError(
            f"The plan randomizes {block.name} together, and {', '.join(outside)} is not among the"
            " variables of the records.",
            where="--channels",
            remedy="Simulate all variables of the block.",
        )
    for variable in block.variables:
        if variable.categories != domain[variable.name].categories:
            raise PlanError(
                f"The plan lists {variable.name} with the categories {list(variable.categories)};"
                f" the records have {list(domain[variable.name].categories)}.",
                where="--channels",
                remedy="Both must list the same categories in the same order.",
            )


def _require_inverse(block: Block) -> None:
    if not block.channel.condition_number <= CONDITION_LIMIT:
        raise SingularChannel(
            f"The channel of {block.name} has no inverse: no moments can be estimated from it.",
            where="--channels",
            remedy="Try --estimator ml, which needs none: it serves blocks of which each record"
            " reports a part.",
        )


def _require_reported(block: Block) -> None:
    silent = [name for name in block.names if _silent(block.restrict([name]))]
    if silent:
        raise SingularChannel(
            f"The plan never reports {', '.join(silent)}: whatever the truth, the reports are"
            " alike.",
            where="--channels",
            remedy="Leave these variables out of the simulation, or give them a channel that"
            " reports them.",
        )


def _silent(channel: Transition | None) -> bool:
    """Whether a channel's reports do not depend on the truth."""
    if channel is None or channel.condition_number <= CONDITION_LIMIT:
        return False
    matrix = channel.matrix()
    return bool(np.ptp(matrix, axis=0).max() < 1 / CONDITION_LIMIT)
