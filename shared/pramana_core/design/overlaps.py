"""What overlapping reports tell of each interaction, and the errors of tables pooled over them.

A symmetric channel over K cells keeps a record with some probability w and else says nothing, and
so it does of any of its variables alone. Where all categories are equally likely, its report has
the Fisher information w^2 about each orthonormal contrast of each interaction of its variables, and
the interactions are told apart. So the information about the interaction of some variables is a sum
over the sets that hold them, and the variance of a table's cell is a sum over the interactions
within the table (the bound of Cramer and Rao, which generalized least squares over all reports
reach): nothing costs more than the tables that are asked for. Where categories are not equally
likely, the information is computed for each table by itself (`bound`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from pramana_core.channels import RESOLUTION, Transition
from pramana_core.design.bound import least_squares
from pramana_core.design.goal import Goal
from pramana_core.design.predict import PredictedErrors, summary
from pramana_core.errors import SingularChannel
from pramana_core.estimation.core.curvature import INFORMATION_CELLS
from pramana_core.marginals.counts import Tensor
from pramana_core.plan import Block, Plan

Names = frozenset[str]
Kept = tuple[tuple[Names, float], ...]
"""Of a report: which variables are kept or lost together, and the probability that they are."""

_EQUAL = 1e-12


def kept_of(names: Sequence[str], channel: Transition) -> Kept:
    """Return which of a channel's variables are kept together, and how often.

    Raises:
        SingularChannel: the channel does not keep or lose them.
    """
    if channel.is_identity:
        return ((frozenset(names), 1.0),)
    if channel.factors:
        return tuple(
            kept for places, own in channel.factors for kept in kept_of(names[places], own)
        )
    if channel.mixture is None:
        raise SingularChannel(
            f"The reports of {list(names)} do not keep a record or lose it: tables are not pooled."
        )
    return ((frozenset(names), channel.mixture[0]),)


def information_of(kept: Kept, interaction: Names) -> float:
    """Return the Fisher information of one report about a contrast, uniform distributions."""
    return math.prod(w * w for names, w in kept if names & interaction)


def held_by(plan: Plan, interactions: Collection[Names], order: int) -> dict[Names, float]:
    """Return the Fisher information of one record's reports about each interaction's contrasts.

    Raises:
        SingularChannel: a channel that does not keep or lose its variables.
    """
    place = {name: i for i, block in enumerate(plan.blocks) for name in block.names}
    split = {one: _split(one, place) for one in interactions}
    inside: list[set[Names]] = [set() for _ in plan.blocks]
    for parts in split.values():
        for i, part in parts:
            inside[i].add(part)
    told = [
        _of_block(block, own, order) if own else {}
        for block, own in zip(plan.blocks, inside, strict=True)
    ]
    return {
        one: math.prod(told[i].get(part, 0.0) for i, part in parts) for one, parts in split.items()
    }


def _split(one: Names, place: Mapping[str, int]) -> list[tuple[int, Names]]:
    blocks = {place[name] for name in one}
    return [(i, frozenset(n for n in one if place[n] == i)) for i in blocks]


def _of_block(block: Block, wanted: set[Names], order: int) -> dict[Names, float]:
    found = dict.fromkeys(wanted, 0.0)
    parts = [
        (tuple(block.names[a] for a in c.axes), c.channel, c.weight / RESOLUTION)
        for c in block.channel.choices
    ] or [(block.names, block.channel, 1.0)]
    known = frozenset().union(*wanted)
    for names, channel, share in parts:
        kept = kept_of(names, channel)
        for one in within([n for n in names if n in known], order):
            if one in found:
                found[one] += share * information_of(kept, one)
    return found


def within(names: Sequence[str], order: int) -> list[Names]:
    """Return the interactions of up to `order` of some variables."""
    return [
        frozenset(one)
        for size in range(1, min(order, len(names)) + 1)
        for one in itertools.combinations(names, size)
    ]


def contrasts(reference: Mapping[str, Tensor], interaction: Names) -> int:
    """Return the number of contrasts of an interaction."""
    return math.prod(len(reference[name]) - 1 for name in interaction)


def by_pooling(
    plan: Plan, goal: Goal, reference: Mapping[str, Tensor], records: int
) -> PredictedErrors:
    """Predict the errors of tables pooled over all reports that hold some of their variables.

    Interactions of at most `goal.order` variables are supposed, as the estimator supposes them;
    it errs less where tables are shrunk. Tables of variables that are not uniform are computed one
    by one, at most `goal.thinned` of them.
    """
    uniform = {name for name, shares in reference.items() if np.ptp(shares) <= _EQUAL}
    plain = all(name in uniform for names in goal.sets for name in names)
    asked = goal if plain else goal.thinned
    missing = ""
    squares: dict[tuple[str, ...], Tensor] = {}
    inside = {names: within(names, goal.order) for names in asked.sets}
    try:
        told = held_by(plan, set(itertools.chain.from_iterable(inside.values())), goal.order)
    except SingularChannel as error:
        return summary(asked, reference, {}, error.message)
    for names, interactions in inside.items():
        cells = math.prod(len(reference[name]) for name in names)
        if cells > INFORMATION_CELLS:
            missing = missing or f"Of {list(names)} there are {cells:,} cells, too many to pool."
            continue
        untold = next((one for one in interactions if not told[one]), None)
        if untold is not None:
            missing = missing or f"No reports tell the interaction of {sorted(untold)}."
            continue
        square = math.fsum(contrasts(reference, one) / told[one] for one in interactions) / records
        squares[names] = np.broadcast_to(square, (cells,))
        if not uniform.issuperset(names):
            alone = Goal((names,), goal.order, goal.minimum_support)
            exact, _ = least_squares(_only(plan, names), alone, reference, records, goal.order)
            # Where there are too many cells for a matrix they are taken as equally likely.
            squares |= exact
    return summary(asked, reference, squares, missing)


def _only(plan: Plan, names: Sequence[str]) -> Plan:
    """Return the plan of some variables alone."""
    blocks = []
    for block in plan.blocks:
        inside = tuple(v for v in block.variables if v.name in names)
        channel = block.restrict([v.name for v in inside]) if inside else None
        if channel is not None:
            blocks.append(Block(inside, channel))
    return Plan(tuple(blocks))
