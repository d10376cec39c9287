"""Search for the structure with the highest score, along an order (K2) or without one.

Each step makes the move with the largest gain, until no move has a positive gain. Moves whose gains
have the highest upper bounds are evaluated first. No structure is visited twice.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field

from pramana_core.learn.common.options import Search
from pramana_core.learn.networks.equivalence import CPDAG, settle_class
from pramana_core.learn.networks.gains import LEAST_GAIN, best, first_of, value_of
from pramana_core.learn.networks.moves import candidates
from pramana_core.learn.networks.scores import Judge, Parents
from pramana_core.progress import Progress

Better = Callable[[Parents, Parents], float]
"""A function that returns the gain, in nats, of the first structure over the second."""

STEPS = 10
"""The maximum number of moves in one ascent, as a multiple of the number of variables."""

ROUNDS = 5
"""The maximum number of rounds, of alternating searches and over all variables."""


def k2(judge: Judge, search: Search, children: Collection[str], on_step: Progress) -> Parents:
    """Return the best parents of each child among the variables before it (Ma 5.5.1)."""
    order = search.order or ()
    parents = dict.fromkeys(order, frozenset[str]())
    wanted = [name for name in order if name in children]
    for done, child in enumerate(wanted):
        on_step(done, len(wanted))
        family = {name: frozenset[str]() for name in order[: order.index(child) + 1]}

        def within(_links: int, _expected: int, done: int = done) -> None:
            on_step(done, len(wanted))

        parents[child] = _ascend(judge, family, search, [child], within)[child]
    on_step(len(wanted), len(wanted))
    return parents


def climb(judge: Judge, search: Search, nodes: Sequence[str], on_step: Progress) -> Parents:
    """Search without an order, and return the best structure.

    Classes of equivalent structures and single structures are searched alternately. Then, for each
    variable in turn, all its links are removed and the search starts again, because some wrong
    links must be removed together. `on_step` is called before each move.
    """
    empty = dict.fromkeys(nodes, frozenset[str]())
    peak = Peak(_settle(judge, empty, search, on_step), judge.better)
    unchanged = 0
    for name in itertools.chain.from_iterable(itertools.repeat(nodes, ROUNDS)):
        begin = _ascend(judge, _isolated(peak.structure, name), search, nodes, on_step)
        raised = peak.rise(_settle(judge, begin, search, on_step))
        unchanged = 0 if raised else unchanged + 1
        if unchanged == len(nodes):
            break
    return _pruned(judge, peak.structure)


@dataclass
class Peak:
    """The best structure so far; `better` returns the gain of one structure over another."""

    structure: Parents
    better: Better
    _earlier: list[Parents] = field(default_factory=list)

    def rise(self, other: Parents) -> bool:
        """Accept a structure that is new and better; return whether it was accepted."""
        self._earlier.append(self.structure)
        if other in self._earlier or self.better(other, self.structure) <= LEAST_GAIN:
            return False
        self.structure = other
        return True


def _isolated(parents: Parents, name: str) -> Parents:
    return {
        child: frozenset[str]() if child == name else given - {name}
        for child, given in parents.items()
    }


def _settle(judge: Judge, parents: Parents, search: Search, on_step: Progress) -> Parents:
    def settled(structure: Parents) -> Parents:
        cpdag = CPDAG.of(structure)
        return settle_class(judge, cpdag, search.max_parents, on_step).member()

    peak = Peak(settled(parents), judge.better)
    for _ in range(ROUNDS):
        improved = _ascend(judge, peak.structure, search, tuple(parents), on_step)
        if not any([peak.rise(improved), peak.rise(settled(improved))]):
            break
    return peak.structure


def _ascend(
    judge: Judge, parents: Parents, search: Search, children: Collection[str], on_step: Progress
) -> Parents:
    path = [parents]
    for _ in range(STEPS * len(parents)):
        links = sum(map(len, path[-1].values()))

        def tick(links: int = links) -> None:
            on_step(links, max(2 * len(parents), links + 1))

        tick()
        move = best(list(candidates(judge, path[-1], search, children)), tick)
        if move is None:
            break
        after = move.apply(path[-1])
        if after in path:
            break
        path.append(after)
    return _pruned(judge, path[-1]) if search.refine else path[-1]


def _worths(judge: Judge, parents: Parents) -> Iterator[tuple[float, tuple[str, str]]]:
    for child in parents:
        for parent in sorted(parents[child]):
            gain = judge.gain(child, parents[child] - {parent}, parent)
            yield value_of(gain), (parent, child)


def _pruned(judge: Judge, parents: Parents) -> Parents:
    while worths := list(_worths(judge, parents)):
        gain, link = worths[first_of([-gain for gain, _ in worths])]
        if gain > LEAST_GAIN:
            break
        parents = {**parents, link[1]: parents[link[1]] - {link[0]}}
    return parents
