"""Plans of simulations: one strength for all variables, or a design for the whole record."""

from __future__ import annotations

import itertools
import math
from typing import Any, cast

from pramana_core.channels import CONDITION_LIMIT, Symmetric
from pramana_core.design import Design, Goal, Problem, Requirements, find_design, goal
from pramana_core.design.goal import CELLS
from pramana_core.domain import Domain
from pramana_core.errors import OptionError
from pramana_core.estimation.estimated import Estimator
from pramana_core.plan import Block, Plan
from pramana_core.privacy import CentralLoss
from pramana_core.progress import OnShare

Owners = tuple[tuple[str, tuple[str, ...]], ...]
"""The owners' names and variables, in the order of a study plan."""


def owners_of(domain: Domain, option: str) -> Owners:
    """Return the owners of the columns, as the option `--owners` states them.

    The option is a number of owners, who get the columns in order, or the columns of each owner,
    with commas between columns and semicolons between owners. Raises OptionError, UnknownVariable.
    """
    names = domain.names
    if option.strip().isdigit():
        count = int(option)
        ends = [round(len(names) * i / max(count, 1)) for i in range(count + 1)]
        columns = [names[low:high] for low, high in itertools.pairwise(ends)]
    else:
        columns = [
            tuple(n.strip() for n in own.split(",") if n.strip()) for own in option.split(";")
        ]
    named = list(itertools.chain(*columns))
    for name in named:
        domain.axis(name)
    if len(columns) < 2 or not all(columns) or sorted(named) != sorted(names):
        raise OptionError(
            f"--owners {option!r} must assign each of the {len(names)} columns to exactly one of"
            " two or more owners.",
            where="--owners",
            remedy='Pass a number of owners, or the columns of each: "a,b; c,d".',
        )
    return tuple((f"owner-{i}", own) for i, own in enumerate(columns, 1))


def designed(
    domain: Domain,
    family: str,
    gamma: float,
    wanted: Goal,
    records: int,
    on_step: OnShare = lambda _share: None,
    owners: Owners = (),
    central: CentralLoss | None = None,
) -> Design:
    """Return the best design of a family, or of all families for `auto`.

    All variables are sensitive; `gamma` bounds the amplification of a whole record over all owners,
    and `central` the central bound of the reports. Raises OptionError.
    """
    needs = Requirements(domain, gamma, owners=owners, central=central)
    named = None if family == "auto" else family
    problem = Problem(needs, wanted, records)
    return find_design(problem, named, lambda _, done, total: on_step(done / total))


def estimator_of(design: Design) -> Estimator:
    """Return the estimator with the smaller predicted error, or `moment` without predictions."""
    return cast(Estimator, design.chosen.estimator if design.chosen.able else "moment")


def described(design: Design) -> dict[str, Any]:
    """Return the design's part of a simulation's JSON."""
    document = design.as_dict()
    kept = ("useful", "kept_of_moderate_association", "records_enough", "unserved")
    study = design.study_plan
    return {
        "design": design.chosen.family,
        **{name: document[name] for name in kept},
        "study_plan": None if study is None else study.digest,
    }


def for_itemsets(domain: Domain, minimum_support: float, longest: int | None = None) -> Goal:
    """Return a design's goal for mining: all sets of variables whose errors can be predicted.

    Raises OptionError for an impossible length.
    """
    length = len(domain) if longest is None else longest
    sizes = sorted(domain.shape, reverse=True)
    while length > 1 and math.prod(sizes[:length]) > CELLS:
        length -= 1
    return goal(domain, "itemsets", length=length, minimum_support=minimum_support)


def symmetric(domain: Domain, p: float) -> Plan:
    """Return the plan that replaces each variable's category with probability `p`.

    Each of the K - 1 other categories replaces it with probability p / (K - 1). This is the channel
    `symmetric` of a site file and, for K = 2, Ma's binary symmetric randomization (Ma 2.1).

    Raises OptionError.
    """
    if not 0 <= p <= 1:
        raise OptionError(
            f"p must be between 0 and 1, not {p:g}.",
            where="--p",
            remedy="With p = (K - 1) / K, reports on K categories contain no information.",
        )
    blocks = tuple(Block((v,), Symmetric.from_probability(v.size, p)) for v in domain)
    silent = [b for b in blocks if b.channel.condition_number > CONDITION_LIMIT]
    if silent:
        size = silent[0].variables[0].size
        raise OptionError(
            f"With p = {p:g} the reports on {', '.join(b.name for b in silent)} contain no"
            f" information: each of {size} categories is reported equally often.",
            where="--p",
            remedy=f"Pass a p below {size - 1}/{size} = {(size - 1) / size:g}.",
        )
    return Plan(blocks)
