"""Predicted errors of tables that are pooled over all reports, from information on interactions.

A channel that keeps a record with probability w gives information w^2 about each contrast of its
variables. A cell's variance is a sum over interactions within its table (Cramer-Rao bound).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence

from pramana_core.channels import CONDITION_LIMIT, RESOLUTION, Transition
from pramana_core.design.goal import Goal
from pramana_core.design.predict import PredictedErrors, cells_of, summary
from pramana_core.domain import Domain
from pramana_core.errors import SingularChannel
from pramana_core.estimation.information import INFORMATION_CELLS
from pramana_core.plan import Block, Plan

Names = frozenset[str]
Kept = tuple[tuple[Names, float], ...]
"""The groups of variables that a report keeps together, each with the probability that it does."""


def by_pooling(plan: Plan, goal: Goal, records: int) -> PredictedErrors:
    """Return the predicted errors of tables pooled over all reports of some of their variables.

    The prediction, like the estimator, ignores interactions of more than `goal.order` variables.
    """
    missing = ""
    variances: dict[tuple[str, ...], float] = {}
    inside = {names: within(names, goal.order) for names in goal.sets}
    try:
        information = _information_about(
            plan, set(itertools.chain.from_iterable(inside.values())), goal.order
        )
    except SingularChannel as error:
        return summary(goal, plan.domain, {}, error.message)
    for names, interactions in inside.items():
        cells = cells_of(plan.domain, names)
        if cells > INFORMATION_CELLS:
            missing = (
                missing or f"The table of {list(names)} has {cells:,} cells, too many to pool."
            )
            continue
        missed = next((one for one in interactions if not information[one]), None)
        if missed is not None:
            missing = missing or f"No reports show the interaction of {sorted(missed)}."
            continue
        each = (contrasts(plan.domain, one) / information[one] for one in interactions)
        variances[names] = math.fsum(each) / records
    return summary(goal, plan.domain, variances, missing)


def kept_of(names: Sequence[str], channel: Transition) -> Kept:
    """Return the groups of variables that a channel keeps together. Raises SingularChannel."""
    if channel.is_identity:
        return ((frozenset(names), 1.0),)
    if channel.factors:
        return tuple(
            kept for places, own in channel.factors for kept in kept_of(names[places], own)
        )
    if channel.tags and channel.estimate_noise is not None:
        # The share of the information about a contrast of equally frequent cells.
        c, d = channel.estimate_noise
        return ((frozenset(names), 1 / math.sqrt(c + channel.shape[0] * d)),)
    if channel.mixture is not None and channel.condition_number > CONDITION_LIMIT:
        raise SingularChannel(f"The reports reveal (almost) nothing about {list(names)}.")
    if channel.mixture is None:
        raise SingularChannel(
            f"The channel of {list(names)} does not keep or lose records as a whole, so its tables"
            " cannot be pooled."
        )
    return ((frozenset(names), channel.mixture[0]),)


def information_of(kept: Kept, interaction: Names) -> float:
    """Return the Fisher information in one report about a contrast of an interaction."""
    return math.prod(w * w for names, w in kept if names & interaction)


def within(names: Sequence[str], order: int) -> list[Names]:
    """Return the interactions within some variables, of at most `order` variables each."""
    return [
        frozenset(one)
        for size in range(1, min(order, len(names)) + 1)
        for one in itertools.combinations(names, size)
    ]


def contrasts(domain: Domain, interaction: Names) -> int:
    """Return the number of contrasts of an interaction."""
    return math.prod(domain[name].size - 1 for name in interaction)


def _information_about(
    plan: Plan, interactions: Collection[Names], order: int
) -> dict[Names, float]:
    place = {name: i for i, block in enumerate(plan.blocks) for name in block.names}
    split = {one: _split(one, place) for one in interactions}
    inside: list[set[Names]] = [set() for _ in plan.blocks]
    for parts in split.values():
        for i, part in parts:
            inside[i].add(part)
    by_block = [
        _of_block(block, own, order) if own else {}
        for block, own in zip(plan.blocks, inside, strict=True)
    ]
    return {
        one: math.prod(by_block[i].get(part, 0.0) for i, part in parts)
        for one, parts in split.items()
    }


def _split(one: Names, place: Mapping[str, int]) -> list[tuple[int, Names]]:
    blocks = {place[name] for name in one}
    return [(i, frozenset(n for n in one if place[n] == i)) for i in blocks]


def _of_block(block: Block, wanted: set[Names], order: int) -> dict[Names, float]:
    information = dict.fromkeys(wanted, 0.0)
    parts = [
        (tuple(block.names[a] for a in c.axes), c.channel, c.weight / RESOLUTION)
        for c in block.channel.choices
    ] or [(block.names, block.channel, 1.0)]
    known = frozenset().union(*wanted)
    for names, channel, share in parts:
        if channel.tags and not block.channel.choices:
            raise SingularChannel(f"The reports of {list(names)} in subsets are not pooled.")
        kept = kept_of(names, channel)
        for one in within([n for n in names if n in known], order):
            if one in information:
                information[one] += share * information_of(kept, one)
    return information
