"""Searching for the structure whose links are worth most: along an order (K2), or without one.

Both take the move that gains most until none gains. A judge says what a move is worth. Moves are
looked at from the highest bound of their gain down; once the best gain found is above all bounds
left, no other can win, so that most tables are never maximized. One bound goes by what a few EM
steps gained (`null_bounds`): were it too low, a move could be passed over.

Also here:

* Whether any structure at all could be better: the optimum over all orders, for few variables.
* Moving one variable to another place in the order of a structure (Teyssier and Koller 2005).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from pramana_core.learn.networks.moves import (
    CPDAG,
    LEAST_GAIN,
    ChoiceCandidate,
    Parents,
    Removal,
    SearchSpace,
    best,
    candidates,
    first_of,
    identity,
    settle_class,
)
from pramana_core.learn.networks.scores import Gain, Judge, value_of
from pramana_core.learn.networks.structure import Search
from pramana_core.marginals.counts import Tensor
from pramana_core.progress import Progress

# Whether any structure at all could be better: the optimum over all orders, for few variables.
#
# Families are bounded one by one, and the best structure that the bounds allow is found by dynamic
# programming over sets of variables (Silander and Myllymäki 2006). Only its families are looked at
# closer, until the bounds rule out every other structure or the best is known exactly.


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


# Searching for the structure whose links are worth most: along an order (K2), or without one.


Better = Callable[[Parents, Parents], float]
"""Returns how much better, in nats, one structure is than another."""

REORDERING = 3
"""Orders are tried for so many times the effort that the search link by link took."""


def k2(judge: Judge, search: Search, children: Collection[str], on_step: Progress) -> Parents:
    """Give each child the parents worth most among those before it in the order (Ma 5.5.1).

    Args:
        judge: says what a link is worth.
        search: the limits, and the order of all variables.
        children: those that get parents.
        on_step: called before each move with children done.
    """
    order = search.order or ()
    found = dict.fromkeys(order, frozenset[str]())
    wanted = [name for name in order if name in children]
    for done, child in enumerate(wanted):
        on_step(done, len(wanted))
        family = {name: frozenset[str]() for name in order[: order.index(child) + 1]}
        reach = SearchSpace.of(search, [child])

        def within(_links: int, _expected: int, done: int = done) -> None:
            on_step(done, len(wanted))

        found[child] = _ascend(judge, family, reach, within)[child]
    on_step(len(wanted), len(wanted))
    return found


def climb(
    judge: Judge,
    search: Search,
    nodes: Sequence[str],
    better: Better,
    on_step: Progress,
    *,
    exact: bool,
) -> Parents:
    """Search without an order, and return the best structure met.

    Classes of structures are searched first: they leave open the directions that nothing tells.
    Where that ends, single structures are improved link by link and the classes searched again,
    until nothing changes. From there it goes on downhill for a while (tabu), never back.

    Args:
        judge: says what a move is worth.
        search: the limits.
        nodes: all variables.
        better: says how much better one structure is than another: the gains on the way from one
            to the other can be of different tables and need not add up.
        on_step: called before each move with steps done and expected.
        exact: whether the records were not randomized.
    """
    reach = SearchSpace.of(search, nodes)
    effort = _Effort(on_step)
    top = _settle(judge, dict.fromkeys(nodes, frozenset[str]()), reach, better, effort)
    many = families(len(nodes), search.max_parents) > FAMILIES
    if exact and (many or not search.tabu):
        # Among fewer the optimum over all orders is looked for below. Under noise no link stands
        # for another nearly as well, and every comparison would be a maximization.
        top = _reordered(judge, top, reach, better, effort)
    while search.tabu:
        found = _rival(judge, top, reach, better, effort)
        if found is None:
            break
        found = found or _wandered(judge, top, reach, better, effort)
        if not found:
            break
        top = found
    return _pruned(judge, top)


@dataclass
class _Effort:
    """Passes on the progress, and counts how often that was told: once for each gain sharpened."""

    on_step: Progress
    spent: int = 0

    def __call__(self, done: int, expected: int) -> None:
        self.spent += 1
        self.on_step(done, expected)


def _reordered(
    judge: Judge, top: Parents, reach: SearchSpace, better: Better, effort: _Effort
) -> Parents:
    """Move variables to other places in the order, and search link by link again.

    Begun from the best structure so far, and from the class that is found if a variable may have a
    parent more: where links stand for others, room for them all shows which can go. All of it may
    take `REORDERING` times the effort that led here, to stay in proportion where gains are costly.
    """
    allowed = effort.spent * (1 + REORDERING)
    limit = reach.search.max_parents

    def tick() -> None:
        effort(*_steps(top, 0, reach.search.tabu))

    def enough() -> bool:
        return effort.spent > allowed

    relocation = Relocation(judge, limit, tick)

    def settled(begin: Parents) -> Parents:
        moved = relocation.improved(begin, enough)
        if moved == begin:
            return begin
        found = _settle(judge, moved, reach, better, effort)
        return found if better(found, moved) > LEAST_GAIN else moved

    empty = CPDAG.of({name: frozenset() for name in top})
    for roomy in (False, True):
        begin = top
        if roomy:
            if enough():
                break
            class_found = settle_class(judge, empty, limit + 1, effort).member()
            if max(map(len, class_found.values())) <= limit:
                break
            begin = relocation.narrowed(class_found)
        found = settled(begin)
        while better(found, top) > LEAST_GAIN:
            top = found
            found = settled(top)
    return top


def _rival(
    judge: Judge, top: Parents, reach: SearchSpace, better: Better, effort: _Effort
) -> Parents | None:
    """Return a better structure than the best found; none ({}) was found, or there is none."""
    limit = reach.search.max_parents
    if families(len(top), limit) > FAMILIES:
        return {}

    def tick() -> None:
        effort(*_steps(top, 0, reach.search.tabu))

    found = better_structure(judge, top, limit, tick)
    if not found:
        return found
    settled = _settle(judge, found, reach, better, effort)
    found = settled if better(settled, found) > LEAST_GAIN else found
    return found if better(found, top) > LEAST_GAIN else {}


def _wandered(
    judge: Judge, top: Parents, reach: SearchSpace, better: Better, effort: _Effort
) -> Parents:
    """Go on from the best structure, never back, until a better one comes ({}: none came)."""
    current, seen = top, {identity(top)}
    for since in range(reach.search.tabu):
        steps = _steps(current, since, reach.search.tabu)

        def tick(steps: tuple[int, int] = steps) -> None:
            effort(*steps)

        tick()
        found = best(list(candidates(judge, current, reach, seen)), -math.inf, tick)
        if found is None:
            break
        current = found[1].apply(current)
        met, seen = seen, seen | {identity(current)}
        if better(current, top) > LEAST_GAIN:
            settled = _settle(judge, current, reach, better, effort)
            # The move itself may have led to a peak; what was met before it would be no progress.
            if identity(settled) not in met and better(settled, top) > LEAST_GAIN:
                return settled
    return {}


def _settle(
    judge: Judge, parents: Parents, reach: SearchSpace, better: Better, on_step: Progress
) -> Parents:
    """Search classes and single structures in turn until a class comes back; keep the best."""
    limit = reach.search.max_parents
    found = settle_class(judge, CPDAG.of(parents), limit, on_step)
    top = found.member()
    met: list[CPDAG] = []
    while found not in met:
        met.append(found)
        improved = _ascend(judge, found.member(), reach, on_step)
        found = settle_class(judge, CPDAG.of(improved), limit, on_step)
        for structure in (improved, found.member()):
            if better(structure, top) > LEAST_GAIN:
                top = structure
    return top


def by_families(judge: Judge) -> Better:
    """Return what compares structures by the families in which they differ.

    Each comparison is made on one table of all the parents concerned.
    """

    def better(first: Parents, second: Parents) -> float:
        return sum(
            judge.contest(child, given, second[child])
            for child, given in first.items()
            if given != second[child]
        )

    return better


def _steps(parents: Parents, since: int, tabu: int) -> tuple[int, int]:
    """Return the steps done and expected: a link a node is what is expected at first."""
    links = sum(map(len, parents.values()))
    return links + since, max(2 * len(parents), links + 1) + tabu


def _ascend(judge: Judge, parents: Parents, reach: SearchSpace, on_step: Progress) -> Parents:
    """Take the move that gains most until none gains, then drop links that are worth nothing.

    Gains of moves are of tables of their own, so moves may lead in a circle. Then that state of the
    circle is kept whose weakest link is worth most, and what moved in the circle stays so.
    """
    path = [parents]
    while True:
        steps = _steps(path[-1], 0, reach.search.tabu)

        def tick(steps: tuple[int, int] = steps) -> None:
            on_step(*steps)

        tick()
        found = best(list(candidates(judge, path[-1], reach)), LEAST_GAIN, tick)
        if found is None:
            return _pruned(judge, path[-1]) if reach.search.refine else path[-1]
        after = found[1].apply(path[-1])
        if after in path:
            circle = path[path.index(after) :]
            moved = {node for node in after if any(state[node] != after[node] for state in circle)}
            reach = replace(reach, children=reach.children - moved)
            path = [circle[first_of([_weakest(judge, state, moved) for state in circle])]]
        else:
            path.append(after)


def _weakest(judge: Judge, parents: Parents, children: Collection[str]) -> float:
    """Return what the weakest link into some children is worth; 0 where there is none."""
    return min((gain for gain, _ in _worths(judge, parents, children)), default=0.0)


def _worths(
    judge: Judge, parents: Parents, children: Collection[str]
) -> Iterator[tuple[float, tuple[str, str]]]:
    for child in parents:
        if child in children:
            for parent in sorted(parents[child]):
                gain = judge.gain(child, parents[child] - {parent}, parent)
                yield value_of(gain), (parent, child)


def _pruned(judge: Judge, parents: Parents) -> Parents:
    """Drop the weakest link while it is worth no more than its penalty."""
    while worths := list(_worths(judge, parents, parents)):
        gain, link = worths[first_of([-gain for gain, _ in worths])]
        if gain > LEAST_GAIN:
            break
        parents = {**parents, link[1]: parents[link[1]] - {link[0]}}
    return parents
