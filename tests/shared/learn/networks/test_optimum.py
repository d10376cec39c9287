"""The optimum over all orders: against every structure of four variables."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pytest

from pramana_core.learn.networks.searches import better_structure, families, ordered

NODES = "abcd"
Parents = dict[str, frozenset[str]]


@dataclass
class Bounded:
    """A value that is bounded first, as far above it as it was told."""

    value: float
    slack: float
    upper: float = float("inf")
    lower: float = float("-inf")

    def sharpen(self) -> None:
        if self.upper == float("inf"):
            self.upper = self.value + self.slack
        else:
            self.upper = self.lower = self.value


class Drawn:
    """A judge of scores drawn at random, that counts how many it had to tell exactly."""

    def __init__(self, seed: int):
        rng = np.random.default_rng(seed)
        self.scores = {
            (child, frozenset(given)): float(2 * rng.normal() - size)
            for child in NODES
            for size in range(4)
            for given in itertools.combinations([n for n in NODES if n != child], size)
        }
        self.slack = {key: float(rng.exponential()) for key in self.scores}
        self.made: list[Bounded] = []

    def rival(self, child: str, first: frozenset[str], second: frozenset[str]) -> Bounded:
        value = self.scores[child, first] - self.scores[child, second]
        self.made.append(Bounded(value, self.slack[child, first]))
        return self.made[-1]

    def total(self, parents: Parents) -> float:
        return sum(self.scores[family] for family in parents.items())


def structures(limit: int) -> list[Parents]:
    """All acyclic structures, by the order that each of them has."""
    found = {}
    for order in itertools.permutations(NODES):
        choices = [
            [
                frozenset(given)
                for size in range(min(limit, place) + 1)
                for given in itertools.combinations(order[:place], size)
            ]
            for place in range(len(order))
        ]
        for chosen in itertools.product(*choices):
            parents = dict(zip(order, chosen, strict=True))
            found[tuple(parents[n] for n in NODES)] = {n: parents[n] for n in NODES}
    return list(found.values())


def test_every_structure_is_compared_with():
    assert len(structures(3)) == 543


@pytest.mark.parametrize("limit", [1, 2, 3])
@pytest.mark.parametrize("seed", range(6))
def test_the_best_structure_is_found_or_known_to_be_there(seed: int, limit: int):
    every = structures(limit)
    judge = Drawn(seed)
    best = max(every, key=judge.total)
    for start in (every[0], every[len(every) // 2], dict.fromkeys(NODES, frozenset())):
        found = better_structure(judge, start, limit, lambda: None)
        if judge.total(best) > judge.total(start) + 1e-6:
            assert found == best
            assert ordered(found)
        else:
            assert found is None
    assert better_structure(judge, best, limit, lambda: None) is None


def test_only_what_could_win_is_told_exactly():
    judge = Drawn(1)
    best = max(structures(3), key=judge.total)
    judge.made.clear()
    assert better_structure(judge, best, 3, lambda: None) is None
    exact = sum(gain.lower == gain.upper for gain in judge.made)
    assert len(judge.made) == families(4, 3) == 32
    assert exact < 16
