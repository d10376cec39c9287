"""Whether any structure at all could be better: the optimum over all orders, for few variables.

Families are bounded one by one, and the best structure that the bounds allow is found by dynamic
programming over sets of variables (Silander and Myllymäki 2006). Only its families are looked at
closer, until the bounds rule out every other structure or the best is known exactly.

Also here:

* Moving one variable to another place in the order of a structure (Teyssier and Koller 2005).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from pramana_core.learn.networks.search.choice import (
    LEAST_GAIN,
    ChoiceCandidate,
    Parents,
    Removal,
    best,
    first_of,
    identity,
)
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


# Moving one variable to another place in the order of a structure (Teyssier and Koller 2005).
#
# Where what a variable says is nearly determined, a search link by link soon holds links that stand
# for others, and every single change loses. To move a variable past others in the order, and let it
# and them choose parents anew, changes several families at once; every place is tried and the best
# taken, as in Andrews et al. 2023 (best order score search).

Family = frozenset[str]


@dataclass
class Relocation:
    """Tries other places for each variable; what was asked once is kept.

    Args:
        judge: says what links are worth.
        limit: the most parents of a variable.
        tick: called before each step; may raise to stop.
    """

    judge: Judge
    limit: int
    tick: Callable[[], None]
    _refined: dict[tuple[str, Family, Family], Family] = field(default_factory=dict)
    _contests: dict[tuple[str, Family, Family], float] = field(default_factory=dict)

    def improved(self, parents: Parents, enough: Callable[[], bool]) -> Parents:
        """Return the structure after variables were moved until no move gains.

        Args:
            parents: the structure to begin from.
            enough: asked before each variable; the search ends where it says so.
        """
        order, seen = ordered(parents), {identity(parents)}
        still = 0
        while still < len(order):
            for name in parents:
                if enough():
                    return parents
                self.tick()
                found = list(self._places(parents, order, name))
                gain, place, changed = found[first_of([gain for gain, _, _ in found])]
                after = {**parents, **changed}
                if gain > LEAST_GAIN and identity(after) not in seen:
                    # Gains are of tables of their own and could lead in a circle.
                    seen.add(identity(after))
                    order.remove(name)
                    order.insert(place, name)
                    parents, still = after, 0
                else:
                    still += 1
                    if still == len(order):
                        break
        return parents

    def narrowed(self, parents: Parents) -> Parents:
        """Return a structure in which variables with too many parents chose them anew."""
        order = ordered(parents)
        found = dict(parents)
        for place, name in enumerate(order):
            if len(parents[name]) > self.limit:
                found[name] = self._refine(name, frozenset(order[:place]), frozenset())
        return found

    def _places(
        self, parents: Parents, order: list[str], name: str
    ) -> Iterator[tuple[float, int, Parents]]:
        """Yield what each place gains, with the families that change; first the present one."""
        place = order.index(name)
        yield 0.0, place, {}
        own, others, passed = parents[name], 0.0, {}
        before = set(order[:place])
        for to in range(place - 1, -1, -1):
            other = order[to]
            before.discard(other)
            if other in own:
                own = self._refine(name, frozenset(before), own - {other})
            given = parents[other]
            if self._wanted(other, given, name):
                found = self._refine(other, frozenset(before | {name}), given)
                others += self._contest(other, found, given)
                passed[other] = found
            yield others + self._contest(name, own, parents[name]), to, {**passed, name: own}
        own, others, passed = parents[name], 0.0, {}
        before = set(order[:place])
        for to in range(place + 1, len(order)):
            other = order[to]
            given = parents[other]
            if name in given:
                found = self._refine(other, frozenset(before), given - {name})
                others += self._contest(other, found, given)
                passed[other] = found
            before.add(other)
            if self._wanted(name, own, other):
                own = self._refine(name, frozenset(before), own)
            yield others + self._contest(name, own, parents[name]), to, {**passed, name: own}

    def _wanted(self, child: str, given: Family, new: str) -> bool:
        """Whether a variable that has come before a child gains as its parent."""
        moves = list(self._moves(child, given, new))
        return best(moves, LEAST_GAIN, self.tick) is not None

    def _moves(self, child: str, given: Family, new: str) -> Iterator[ChoiceCandidate[Family]]:
        if len(given) < self.limit:
            yield ChoiceCandidate(given | {new}, self.judge.gain(child, given, new))
        for old in sorted(given):
            gain = self.judge.exchange(child, given, old, new)
            if gain is not None:
                yield ChoiceCandidate(given - {old} | {new}, gain)

    def _refine(self, child: str, before: Family, given: Family) -> Family:
        """Return the parents, of those before a child, that single changes lead to."""
        key = (child, before, given)
        if key not in self._refined:
            seen = {given}
            while True:
                moves = [
                    move
                    for new in sorted(before - given)
                    for move in self._moves(child, given, new)
                    if move.choice not in seen
                ]
                for old in sorted(given):
                    worth = Removal(self.judge.gain(child, given - {old}, old))
                    if given - {old} not in seen:
                        moves.append(ChoiceCandidate(given - {old}, worth))
                found = best(moves, LEAST_GAIN, self.tick)
                if found is None:
                    break
                given = found[1]
                seen.add(given)
            self._refined[key] = given
        return self._refined[key]

    def _contest(self, child: str, first: Family, second: Family) -> float:
        if first == second:
            return 0.0
        key = (child, first, second)
        if key not in self._contests:
            self._contests[key] = self.judge.contest(child, first, second)
        return self._contests[key]


def ordered(parents: Parents) -> list[str]:
    """Return the variables with parents before children, otherwise as they are listed."""
    left, found = dict(parents), list[str]()
    while left:
        name = next(name for name, given in left.items() if not given & left.keys())
        found.append(name)
        del left[name]
    return found
