"""Classes of structures: against all structures of four nodes, and exact distributions of five."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

from pramana_core.domain import Domain
from pramana_core.errors import StructureError
from pramana_core.learn.networks.equivalence import (
    CPDAG,
    LinkChange,
    deletions,
    insertions,
    settle_class,
)
from pramana_core.learn.networks.gains import FixedGain
from pramana_core.learn.networks.network import BayesNet
from pramana_core.learn.networks.structure import Structure

NODES = "abcd"
Parents = dict[str, frozenset[str]]
Links = frozenset[tuple[str, str]]


def links_of(parents: Parents) -> Links:
    return frozenset((parent, child) for child, given in parents.items() for parent in given)


def parents_of(links: Links, nodes: str = NODES) -> Parents:
    return {node: frozenset(p for p, child in links if child == node) for node in nodes}


def acyclic(parents: Parents) -> bool:
    left = dict(parents)
    while left:
        roots = [node for node, given in left.items() if not given & left.keys()]
        if not roots:
            return False
        for node in roots:
            del left[node]
    return True


def class_of(parents: Parents) -> tuple[frozenset[frozenset[str]], frozenset[object]]:
    """What equivalent structures share (Verma and Pearl): the links, and the bare colliders."""
    skeleton = frozenset(frozenset(link) for link in links_of(parents))
    colliders = frozenset(
        (frozenset(pair), child)
        for child, given in parents.items()
        for pair in itertools.combinations(given, 2)
        if frozenset(pair) not in skeleton
    )
    return skeleton, colliders


@cache
def classes() -> dict[object, list[Parents]]:
    """All structures of four nodes by class."""
    found = defaultdict(list)
    pairs = list(itertools.combinations(NODES, 2))
    for choice in itertools.product(range(3), repeat=len(pairs)):
        links = frozenset(
            (a, b) if way == 1 else (b, a) for (a, b), way in zip(pairs, choice, strict=True) if way
        )
        parents = parents_of(links)
        if acyclic(parents):
            found[class_of(parents)].append(parents)
    return dict(found)


def test_a_pattern_is_the_union_of_its_class():
    for members in classes().values():
        every = [links_of(parents) for parents in members]
        union = frozenset().union(*every)
        directed = {(a, b) for a, b in union if (b, a) not in union}
        open_pairs = {(a, b) for a, b in union if (b, a) in union}
        for parents in members:
            cpdag = CPDAG.of(parents)
            assert {(p, c) for c, given in cpdag.parents.items() for p in given} == directed
            assert {(n, o) for n, others in cpdag.neighbours.items() for o in others} == (
                open_pairs
            )
            for node in NODES:
                linked = {a for a, b in union if b == node} | {b for a, b in union if a == node}
                assert cpdag.adjacent(node) == linked


def test_the_member_of_a_pattern_is_in_its_class():
    for key, members in classes().items():
        member = CPDAG.of(members[0]).member()
        assert acyclic(member)
        assert class_of(member) == key


def test_a_graph_of_no_structure_is_refused():
    square = {"a": "bd", "b": "ac", "c": "bd", "d": "ac"}
    around = {node: frozenset(others) for node, others in square.items()}
    with pytest.raises(StructureError):
        CPDAG(dict.fromkeys(NODES, frozenset()), around).member()
    circle = {"a": frozenset("d"), "b": frozenset("a"), "c": frozenset("b"), "d": frozenset("c")}
    with pytest.raises(StructureError):
        CPDAG(circle, dict.fromkeys(NODES, frozenset())).member()


def reached(cpdag: CPDAG, changes) -> dict[object, list[LinkChange]]:
    found = defaultdict(list)
    for change in changes(cpdag, 3):
        found[class_of(change.apply(cpdag).member())].append(change)
    return found


@pytest.mark.parametrize("kind", ["insert", "delete"])
def test_changes_lead_to_every_class_one_link_away_and_to_no_other(kind: str):
    """Chickering's theorems 15 and 17, enumerated over the members of all classes.

    The link is judged by the parents that its child has in some member that it is put into, or
    taken from.
    """
    changes = insertions if kind == "insert" else deletions
    for members in classes().values():
        wanted: dict[object, set[tuple[str, str, frozenset[str]]]] = defaultdict(set)
        for parents in members:
            for parent, child in itertools.permutations(NODES, 2):
                if (parent in parents[child]) == (kind == "insert") or child in parents[parent]:
                    continue
                after = {**parents, child: parents[child] ^ {parent}}
                if acyclic(after):
                    given = parents[child] - {parent}
                    wanted[class_of(after)].add((parent, child, given))
        found = reached(CPDAG.of(members[0]), changes)
        assert found.keys() == wanted.keys()
        for key, made in found.items():
            for change in made:
                assert change.kind == kind
                assert (change.parent, change.child, change.given) in wanted[key]


def test_insertions_keep_within_the_limit():
    cpdag = CPDAG.of(parents_of(frozenset([("a", "d"), ("b", "d")])))
    into_d = [c for c in insertions(cpdag, 3) if c.child == "d"]
    assert into_d
    assert all(len(change.given) == 2 for change in into_d)
    assert not [c for c in insertions(cpdag, 2) if c.child == "d"]


# With an oracle -----------------------------------------------------------------------------------

FIVE = "abcde"


def random_network(seed: int) -> BayesNet:
    """Five binary nodes in a random order, each pair linked with probability one half."""
    rng = np.random.default_rng(seed)
    order = list(rng.permutation(list(FIVE)))
    parents = {
        node: [p for p in order[:place] if rng.random() < 0.5] for place, node in enumerate(order)
    }
    tables = {}
    for node, given in parents.items():
        first = rng.uniform(0.05, 0.95, size=[2] * len(given))
        tables[node] = np.stack([first, 1 - first], axis=-1)
    domain = Domain.of(**dict.fromkeys(FIVE, "01"))
    return BayesNet(domain, Structure.of({n: parents[n] for n in FIVE}), tables)


@dataclass(frozen=True)
class Oracle:
    """The BIC of so many records that they are distributed exactly as the network says."""

    network: BayesNet
    records: float = 1e12

    def entropy(self, names: frozenset[str]) -> float:
        table = self.network.marginal(sorted(names)) if names else np.ones(1)
        return -float((table * np.log(table)).sum())

    def gain(self, child, given, parent):
        information = (
            self.entropy(given | {child})
            + self.entropy(given | {parent})
            - self.entropy(given | {child, parent})
            - self.entropy(given)
        )
        # Below rounding no information is information.
        information = information if information > 1e-13 else 0.0
        return FixedGain(self.records * information - math.log(self.records) / 2 * 2 ** len(given))


def quiet(done: int, total: int) -> None:
    """Report steps to nobody."""


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_with_enough_records_the_true_class_is_found(seed: int):
    network = random_network(seed)
    true = {node: frozenset(given) for node, given in network.structure.families}
    empty = CPDAG.of(dict.fromkeys(FIVE, frozenset()))
    found = settle_class(Oracle(network), empty, 4, quiet)
    assert class_of(found.member()) == class_of(true)
    assert found == CPDAG.of(true)
