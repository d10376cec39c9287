"""Whether any structure at all could be better: the optimum over all orders, for few variables.

Families are bounded one by one, and the best structure that the bounds allow is found by dynamic
programming over sets of variables (Silander and Myllymäki 2006). Only its families are looked at
closer, until the bounds rule out every other structure or the best is known exactly.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np

from pramana_core.learn.networks.search.choice import LEAST_GAIN, first_of
from pramana_core.learn.networks.search.moves import Parents
from pramana_core.learn.networks.search.scores import Gain, Judge
from pramana_core.marginals.counts import Tensor

FAMILIES = 1_000
"""With more sets of parents than this the optimum is not looked for."""

CLOSER = 64
"""After so many exact comparisons of families, which noise makes costly, the question is left."""


def families(variables: int, limit: int) -> int:
    """Return how many pairs there are of a variable and at most `limit` parents."""
    return variables * sum(math.comb(variables - 1, size) for size in range(limit + 1))


def better_structure(
    judge: Judge, parents: Parents, limit: int, tick: Callable[[], None]
) -> Parents | None:
    """Return the best structure if its families are worth more than those of `parents`.

    None if no structure is better; {} if that would take more than `CLOSER` exact comparisons.

    Each family is compared with that of the same child in `parents` (`Judge.rival`).

    Args:
        judge: says what sets of parents are worth.
        parents: a structure.
        limit: the most parents of a variable.
        tick: called before each step; may raise to stop.
    """
    names = list(parents)
    gains = [_gains(judge, names, parents, place, limit) for place in range(len(names))]
    for gain in itertools.chain.from_iterable(of_child.values() for of_child in gains):
        if gain.upper == math.inf:
            tick()
            gain.sharpen()
    closer = 0
    while closer <= CLOSER:
        worth, chosen = _best([_bounds(of_child, len(names)) for of_child in gains])
        if worth <= LEAST_GAIN:
            return None
        open_ones = [
            gain
            for of_child, given in zip(gains, chosen, strict=True)
            if (gain := of_child[given]).lower < gain.upper
        ]
        if not open_ones:
            return {
                name: frozenset(n for place, n in enumerate(names) if given >> place & 1)
                for name, given in zip(names, chosen, strict=True)
            }
        for gain in open_ones:
            tick()
            gain.sharpen()
        closer += len(open_ones)
    return {}


def _gains(
    judge: Judge, names: list[str], parents: Parents, child: int, limit: int
) -> dict[int, Gain]:
    """Return what each set of parents gains on a child's own, by the bits of their places."""
    others = [place for place in range(len(names)) if place != child]
    found: dict[int, Gain] = {}
    for size in range(limit + 1):
        for places in itertools.combinations(others, size):
            given = frozenset(names[place] for place in places)
            bits = sum(1 << place for place in places)
            found[bits] = judge.rival(names[child], given, parents[names[child]])
    return found


def _bounds(gains: dict[int, Gain], variables: int) -> tuple[Tensor, np.ndarray]:
    """Return, for each set of variables, the highest bound of parents within it, and which.

    Of equal ones it is the set of fewest parents, as they are listed.
    """
    bound = np.full(1 << variables, -math.inf)
    which = np.zeros(1 << variables, dtype=np.int64)
    place_of = np.full(1 << variables, len(gains), dtype=np.int64)
    for place, (bits, gain) in enumerate(gains.items()):
        bound[bits], which[bits], place_of[bits] = gain.upper, bits, place
    sets = np.arange(1 << variables)
    for place in range(variables):
        more = sets[sets >> place & 1 == 1]
        fewer = more ^ (1 << place)
        higher = bound[fewer] > bound[more] + LEAST_GAIN
        equal = bound[fewer] >= bound[more] - LEAST_GAIN
        taken = higher | (equal & (place_of[which[fewer]] < place_of[which[more]]))
        bound[more] = np.maximum(bound[fewer], bound[more])
        which[more] = np.where(taken, which[fewer], which[more])
    return bound, which


def _best(bounds: list[tuple[Tensor, np.ndarray]]) -> tuple[float, list[int]]:
    """Return the highest sum of bounds of an acyclic structure, with the parents of each."""
    variables = len(bounds)
    worth = np.zeros(1 << variables)
    last = np.zeros(1 << variables, dtype=np.int64)
    for members in range(1, 1 << variables):
        places = [place for place in range(variables) if members >> place & 1]
        sums = [worth[members ^ 1 << p] + bounds[p][0][members ^ 1 << p] for p in places]
        worth[members], last[members] = max(sums), places[first_of(sums)]
    chosen, members = [0] * variables, (1 << variables) - 1
    while members:
        place = int(last[members])
        members ^= 1 << place
        chosen[place] = int(bounds[place][1][members])
    return float(worth[-1]), chosen
