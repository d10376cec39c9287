"""Searching for the structure whose links are worth most: along an order (K2), or without one.

Both take the move that gains most until none gains. A judge says what a move is worth. Moves are
looked at from the highest bound of their gain down; once the best gain found is above all bounds
left, no other can win, so that most tables are never maximized. One bound goes by what a few EM
steps gained (`null_bounds`): were it too low, a move could be passed over.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from pramana_core.learn.networks.search.choice import (
    LEAST_GAIN,
    Parents,
    SearchSpace,
    best,
    candidates,
    first_of,
    identity,
)
from pramana_core.learn.networks.search.classes import CPDAG, settle_class
from pramana_core.learn.networks.search.optimum import (
    FAMILIES,
    Relocation,
    better_structure,
    families,
)
from pramana_core.learn.networks.search.scores import Judge, value_of
from pramana_core.learn.networks.structure import Search
from pramana_core.progress import Progress

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
