"""Searching for the structure whose links are worth most: along an order (K2), or without one.

Both take the move that gains most until none gains. A judge says what a move is worth. Moves are
looked at from the highest bound of their gain down; once the best gain found is above all bounds
left, no other can win, so that most tables are never maximized. One bound goes by what a few EM
steps gained (`null_bounds`): were it too low, a move could be passed over.

Gains of moves are each of a table of their own, so that moves could lead in a circle although each
gains. A structure's score is therefore what was gained on the way to it: to go back to a structure
that was met would lower the score, and is not done. So every search has a strictly increasing
score, and a limit of steps besides.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

from pramana_core.learn.common.options import Search
from pramana_core.learn.networks.moves import (
    CPDAG,
    LEAST_GAIN,
    Parents,
    SearchSpace,
    best,
    candidates,
    first_of,
    identity,
    settle_class,
)
from pramana_core.learn.networks.scores import Judge, value_of
from pramana_core.progress import Progress

Better = Callable[[Parents, Parents], float]
"""Returns how much better, in nats, one structure is than another."""

STEPS = 10
"""The most moves of one ascent, for each variable."""

ROUNDS = 5
"""The most rounds of one search: of classes and single structures, and over all variables."""


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
    judge: Judge, search: Search, nodes: Sequence[str], better: Better, on_step: Progress
) -> Parents:
    """Search without an order, and return the best structure met.

    Classes of structures are searched first: they leave open the directions that no records can
    tell. Where that ends, single structures are improved link by link and the classes searched
    again. Then each variable in turn loses all its links, and the search goes on from there: where
    variables nearly determine each other, links that stand for others can only go together.

    Args:
        judge: says what a move is worth.
        search: the limits.
        nodes: all variables.
        better: says how much better one structure is than another.
        on_step: called before each move with links and links expected.
    """
    reach = SearchSpace.of(search, nodes)
    empty = dict.fromkeys(nodes, frozenset[str]())
    peak = Peak(_settle(judge, empty, reach, better, on_step), better)
    unchanged = 0
    for name in itertools.chain.from_iterable(itertools.repeat(nodes, ROUNDS)):
        begin = _ascend(judge, _isolated(peak.structure, name), reach, on_step)
        raised = peak.rise(_settle(judge, begin, reach, better, on_step))
        unchanged = 0 if raised else unchanged + 1
        if unchanged == len(nodes):
            break
    return _pruned(judge, peak.structure)


@dataclass
class Peak:
    """The best structure so far. Its score is the sum of what was better each time it changed."""

    structure: Parents
    better: Better
    _met: set[frozenset[tuple[str, str]]] = field(default_factory=set)

    def rise(self, found: Parents) -> bool:
        """Take a structure that is better and new: one met before has a lower score."""
        self._met.add(identity(self.structure))
        if identity(found) in self._met or self.better(found, self.structure) <= LEAST_GAIN:
            return False
        self.structure = found
        return True


def _isolated(parents: Parents, name: str) -> Parents:
    """Return a structure without the links of one variable."""
    return {
        child: frozenset[str]() if child == name else given - {name}
        for child, given in parents.items()
    }


def _settle(
    judge: Judge, parents: Parents, reach: SearchSpace, better: Better, on_step: Progress
) -> Parents:
    """Search classes and single structures in turn while that leads to a better structure."""

    def settled(structure: Parents) -> Parents:
        cpdag = CPDAG.of(structure)
        return settle_class(judge, cpdag, reach.search.max_parents, on_step).member()

    peak = Peak(settled(parents), better)
    for _ in range(ROUNDS):
        improved = _ascend(judge, peak.structure, reach, on_step)
        if not any([peak.rise(improved), peak.rise(settled(improved))]):
            break
    return peak.structure


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


def _ascend(judge: Judge, parents: Parents, reach: SearchSpace, on_step: Progress) -> Parents:
    """Take the move that gains most until none gains, then drop links that are worth nothing."""
    path = [parents]
    for _ in range(STEPS * len(parents)):
        links = sum(map(len, path[-1].values()))

        def tick(links: int = links) -> None:
            on_step(links, max(2 * len(parents), links + 1))

        tick()
        found = best(list(candidates(judge, path[-1], reach)), LEAST_GAIN, tick)
        if found is None:
            break
        after = found[1].apply(path[-1])
        if after in path:
            circle = path[path.index(after) :]
            moved = {node for node in after if any(state[node] != after[node] for state in circle)}
            reach = replace(reach, children=reach.children - moved)
            path = [circle[first_of([_weakest(judge, state, moved) for state in circle])]]
        else:
            path.append(after)
    return _pruned(judge, path[-1]) if reach.search.refine else path[-1]


def _weakest(judge: Judge, parents: Parents, children: Collection[str]) -> float:
    """Return what the weakest link into some children is worth; 0 where there is none."""
    into = (gain for gain, (_, child) in _worths(judge, parents) if child in children)
    return min(into, default=0.0)


def _worths(judge: Judge, parents: Parents) -> Iterator[tuple[float, tuple[str, str]]]:
    for child in parents:
        for parent in sorted(parents[child]):
            gain = judge.gain(child, parents[child] - {parent}, parent)
            yield value_of(gain), (parent, child)


def _pruned(judge: Judge, parents: Parents) -> Parents:
    """Drop the weakest link while it is worth no more than its penalty."""
    while worths := list(_worths(judge, parents)):
        gain, link = worths[first_of([-gain for gain, _ in worths])]
        if gain > LEAST_GAIN:
            break
        parents = {**parents, link[1]: parents[link[1]] - {link[0]}}
    return parents
