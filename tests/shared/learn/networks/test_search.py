"""Choosing and searching: against exhaustive choice, a naive K2 and judges made by hand."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramana_core.channels import Identity, Symmetric
from pramana_core.domain import Domain
from pramana_core.errors import StructureError
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.learn.common.options import Scoring, Search
from pramana_core.learn.networks import searches
from pramana_core.learn.networks.gains import LEAST_GAIN, FixedGain, NetGain, best
from pramana_core.learn.networks.scores import PlainJudge, judge_of
from pramana_core.learn.networks.searches import Peak, climb, k2
from pramana_core.learn.networks.structure import Structure
from pramana_core.plan import Block, Plan
from tests.shared.learn.cases import Table


def quiet(done: int, total: int) -> None:
    """Report steps to nobody."""


# The best of several gains ------------------------------------------------------------------------


@dataclass
class Stepwise:
    """A gain whose bounds close on its value in given steps."""

    value: float
    slack: list[tuple[float, float]]

    @property
    def upper(self) -> float:
        return self.value + (self.slack[0][0] if self.slack else 0.0)

    @property
    def lower(self) -> float:
        return self.value - (self.slack[0][1] if self.slack else 0.0)

    def sharpen(self) -> None:
        self.slack.pop(0)


SLACK = st.floats(0, 50) | st.just(math.inf)
STEPS = st.lists(st.tuples(SLACK, SLACK), max_size=4).map(
    lambda steps: sorted(steps, key=lambda step: -step[0])
)
# Few values, so that there are ties.
VALUES = st.integers(-3, 12).map(float)
GAINS = st.builds(Stepwise, VALUES, STEPS)


@pytest.mark.slow
@given(st.lists(GAINS, max_size=8), st.sampled_from([1.0, LEAST_GAIN, -math.inf]))
def test_the_best_is_that_of_exact_values(gains: list[Stepwise], floor: float):
    """The largest value above the floor, the first of equals."""
    exact = [gain.value for gain in gains]
    found = best([(gain, i) for i, gain in enumerate(gains)], floor=floor)
    above = [value for value in exact if value > floor]
    if not above:
        assert found is None
    else:
        assert found == exact.index(max(above))


@given(GAINS, GAINS)
def test_a_net_gain_lies_within_its_bounds(dropped: Stepwise, added: Stepwise):
    net, exact = NetGain(dropped, added), added.value - dropped.value
    while net.lower < net.upper:
        assert net.lower <= exact <= net.upper
        net.sharpen()
    assert net.upper == exact


# Random data --------------------------------------------------------------------------------------


MIXED = Domain.of(a="xy", b="123", c="pq", d="01", e="uvw")


def random_marginals(
    seed: int, p: float, records: int = 4000, domain: Domain = MIXED
) -> EstimatedMarginals:
    """Records of a random network, each variable linked to up to two before it, randomized."""
    rng = np.random.default_rng(seed)
    names = list(domain.names)
    joint = np.ones(())
    for place, name in enumerate(names):
        parents = [int(i) for i in rng.permutation(place)[: rng.integers(0, 3)]]
        shape = [domain[n].size if i in parents else 1 for i, n in enumerate(names[:place])]
        rows = rng.dirichlet(np.full(domain[name].size, 0.6), size=shape)
        joint = joint[..., None] * rows
    seen = joint
    blocks = []
    for axis, variable in enumerate(domain):
        channel = Symmetric.from_probability(variable.size, p) if p else Identity(variable.size)
        blocks.append(Block((variable,), channel))
        seen = channel.apply(seen, axis)
    drawn = rng.multinomial(records, (seen / seen.sum()).ravel()).reshape(domain.shape)
    return EstimatedMarginals(Table(names, drawn), Plan(tuple(blocks)))


# Along an order -----------------------------------------------------------------------------------


def naive_k2(
    score: Callable[[str, frozenset[str]], float], order: Sequence[str], most: int
) -> dict[str, frozenset[str]]:
    """Cooper and Herskovits' procedure as it is usually written down."""
    found = {}
    for place, child in enumerate(order):
        parents: frozenset[str] = frozenset()
        old = score(child, parents)
        while len(parents) < most:
            left = [name for name in order[:place] if name not in parents]
            if not left:
                break
            new, parent = max(
                ((score(child, parents | {name}), name) for name in left), key=lambda pair: pair[0]
            )
            if new <= old:
                break
            parents, old = parents | {parent}, new
        found[child] = parents
    return found


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("most", [1, 2, 3])
def test_unrefined_it_is_k2(seed: int, most: int):
    marginals = random_marginals(seed, 0.0, records=800)
    order = tuple(np.random.default_rng(seed).permutation(MIXED.names))
    judge = PlainJudge(marginals, Scoring("bayesian"))
    found = k2(judge, Search(order, most, refine=False), order, quiet)
    assert found == naive_k2(judge.score, order, most)


@pytest.mark.parametrize("refine", [True, False])
@pytest.mark.parametrize("name", ["likelihood", "bayesian"])
def test_orders_and_limits_are_kept_to(refine: bool, name: str):
    marginals = random_marginals(4, 0.1, records=50_000)
    order = ("c", "e", "a", "d", "b")
    judge = judge_of(marginals, Scoring(name))
    for most in (1, 2):
        steps: list[tuple[int, int]] = []
        found = k2(
            judge,
            Search(order, most, refine=refine),
            ["b", "a"],
            lambda *s, seen=steps: seen.append(s),
        )
        assert list(found) == list(order)
        for child, parents in found.items():
            assert len(parents) <= most
            assert all(order.index(parent) < order.index(child) for parent in parents)
        assert not found["c"]
        assert not found["e"]
        assert not found["d"]
        assert max(len(found["a"]), len(found["b"])) == most
        assert steps[0] == (0, 2)
        assert steps[-1] == (2, 2)
        assert steps == sorted(steps)


# Judges made by hand ------------------------------------------------------------------------------


@dataclass
class ByHand:
    """A judge of scores listed by child and parents; what is not listed costs `cost` a parent."""

    listed: dict[tuple[str, str], float]
    cost: float = 5.0
    exchanges: bool = True

    def score(self, child: str, parents: frozenset[str]) -> float:
        return self.listed.get((child, "".join(sorted(parents))), -self.cost * len(parents))

    def gain(self, child, given, parent):
        return FixedGain(self.score(child, given | {parent}) - self.score(child, given))

    def exchange(self, child, given, old, new):
        if not self.exchanges:
            return None
        return FixedGain(self.score(child, given - {old} | {new}) - self.score(child, given))

    def better(self, first, second):
        return sum(self.score(c, first[c]) - self.score(c, second[c]) for c in first)


def of_child(child: str, **scores: float) -> dict[tuple[str, str], float]:
    return {(child, parents): float(score) for parents, score in scores.items()}


STAND_IN = of_child("c", z=5, a=3, b=3, az=7, bz=6, ab=10, abz=9.5)
"""z stands for a and b: it is worth most alone, and nothing beside both."""


@pytest.mark.parametrize("exchanges", [True, False])
def test_refined_it_drops_or_exchanges_what_became_needless(exchanges: bool):
    """Where no table can tell of an exchange, a parent is added and the needless one dropped."""
    judge = ByHand(STAND_IN, exchanges=exchanges)
    order = ("z", "a", "b", "c")
    plain = k2(judge, Search(order, 3, refine=False), order, quiet)
    assert plain["c"] == frozenset("zab")
    refined = k2(judge, Search(order, 3), order, quiet)
    assert refined["c"] == frozenset("ab")
    # With room for two parents only an exchange leads on from z and a.
    narrow = k2(judge, Search(order, 2), order, quiet)
    assert narrow["c"] == frozenset("ab" if exchanges else "za")


ALIKE = of_child("c", e=9, a=5, b=5, ab=11, ae=8, be=8, abe=7) | of_child("e", a=4, b=4, ab=9)
"""e, which a and b determine, stands for both: no single move leads from it to them."""


@pytest.mark.parametrize("most", [1, 2])
def test_a_variable_that_stands_for_others_loses_its_links(most: int):
    """c's parents are a and b; from e no move gains, but from a structure without e it does."""
    found = climb(ByHand(ALIKE, exchanges=False), Search(max_parents=most), "abce", quiet)
    if most == 1:
        assert found["c"] == frozenset("e")
    else:
        assert found["c"] == frozenset("ab") == found["e"]


class Contrary:
    """A judge in whose eyes every change gains, whatever was changed before."""

    def __init__(self, seed: int, scale: float):
        self.rng = np.random.default_rng(seed)
        self.scale = scale

    def gain(self, child, given, parent):
        return FixedGain(self.scale * self.rng.normal())

    def exchange(self, child, given, old, new):
        return FixedGain(self.scale * abs(self.rng.normal()))

    def better(self, first, second):
        return 1.0


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("ordered", [True, False])
def test_a_search_ends_within_its_limit_of_steps_whatever_the_judge_says(seed: int, ordered: bool):
    """Gains that are new each time, and so large that they are rounding."""
    names = "abc"
    ascents = len(names) * searches.ROUNDS * (searches.ROUNDS + 1)
    most = 2 * ascents * searches.STEPS * len(names)
    for judge in (Contrary(seed, 1.0), Contrary(seed, 1e15)):
        steps: list[tuple[int, int]] = []
        search = Search(tuple(names) if ordered else None)
        if ordered:
            k2(judge, search, names, lambda *s, seen=steps: seen.append(s))
        else:
            climb(judge, search, names, lambda *s, seen=steps: seen.append(s))
        assert 0 < len(steps) <= most


def test_a_structure_that_was_met_is_not_taken_again():
    """Four structures, each better than the one before, in a circle: each is taken once."""
    circle = [{"a": frozenset("b" * bool(i & 1)), "c": frozenset("b" * (i >> 1))} for i in range(4)]
    following = {id(one): circle[(i + 1) % 4] for i, one in enumerate(circle)}
    peak = Peak(circle[0], lambda found, top: 1.0 if following[id(top)] is found else -1.0)
    taken = [peak.rise(following[id(peak.structure)]) for _ in range(10)]
    assert taken == [True] * 3 + [False] * 7


@pytest.mark.parametrize("seed", range(3))
def test_climbing_ends_at_a_peak(seed: int):
    """Every acyclic neighbour by one link, listed here, is worth no more."""
    marginals = random_marginals(seed, 0.0, records=2000)
    judge = PlainJudge(marginals, Scoring("bdeu"))
    names = MIXED.names
    found = climb(judge, Search(max_parents=2), names, quiet)

    def total(parents: dict[str, frozenset[str]]) -> float:
        return sum(judge.score(child, given) for child, given in parents.items())

    checked = 0
    for parent, child in itertools.permutations(names, 2):
        changes = [{child: found[child] ^ {parent}}]
        if parent in found[child]:
            turned = {child: found[child] - {parent}, parent: found[parent] | {child}}
            changes.append(turned)
        for change in changes:
            after = {**found, **change}
            try:
                Structure.of({name: sorted(given) for name, given in after.items()})
            except StructureError:
                continue
            if max(map(len, after.values())) <= 2:
                checked += 1
                assert total(after) <= total(found) + 1e-6
    assert checked >= 8


def test_a_search_can_be_stopped():
    def stop(done: int, _total: int) -> None:
        if done == 1:
            raise KeyboardInterrupt

    marginals = random_marginals(1, 0.1, records=50_000)
    judge = judge_of(marginals, Scoring())
    with pytest.raises(KeyboardInterrupt):
        k2(judge, Search(MIXED.names), MIXED.names, stop)
    with pytest.raises(KeyboardInterrupt):
        climb(judge, Search(), MIXED.names, stop)
