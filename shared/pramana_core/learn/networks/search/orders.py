"""Moving one variable to another place in the order of a structure (Teyssier and Koller 2005).

Where what a variable says is nearly determined, a search link by link soon holds links that stand
for others, and every single change loses. To move a variable past others in the order, and let it
and them choose parents anew, changes several families at once; every place is tried and the best
taken, as in Andrews et al. 2023 (best order score search).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from pramana_core.learn.networks.search.choice import (
    LEAST_GAIN,
    ChoiceCandidate,
    Dropped,
    best,
    first_of,
)
from pramana_core.learn.networks.search.moves import Parents, identity
from pramana_core.learn.networks.search.scores import Judge

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
                    worth = Dropped(self.judge.gain(child, given - {old}, old))
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
