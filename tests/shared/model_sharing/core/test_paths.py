"""Paths that were sent become the tree they are of, or are refused, in bounded time."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pramana_core.domain import Variable
from pramana_core.errors import LimitExceeded, ModelError
from pramana_core.model_sharing import paths
from pramana_core.model_sharing.attributes import CategoricalAttribute, NumericAttribute, TreeSchema
from pramana_core.model_sharing.paths import codes_of, mask_of, tree_of
from pramana_core.model_sharing.tree import (
    MOST_DEPTH,
    Condition,
    Interval,
    Leaf,
    Path,
    SharedTree,
    Split,
    Values,
)
from tests.shared.model_sharing.random_trees import labels, random_schema, random_table, random_tree

SCHEMA = TreeSchema(
    Variable("t", ("no", "yes")),
    (
        NumericAttribute("x", 0, 9),
        NumericAttribute("y", 0, 9),
        CategoricalAttribute("c", ("a", "b", "d")),
    ),
)
LEAF = Leaf(0, 1, 0)


def path(**conditions: Condition) -> Path:
    return Path(conditions, LEAF)


LOW, HIGH = Interval(up_to=1.0), Interval(above=1.0)


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1))
def test_a_tree_comes_back_from_its_paths(seed: int):
    rng = np.random.default_rng(seed)
    schema = random_schema(rng)
    tree = random_tree(rng, schema)
    found = tree_of(schema, list(tree.paths()))
    assert list(found.paths()) == list(tree.paths())
    assert found.leaves == tree.leaves
    table = random_table(rng, schema, 50)
    assert np.array_equal(found.leaf_of(table), tree.leaf_of(table))
    assert np.array_equal(found.probabilities(table), tree.probabilities(table))


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1))
def test_whatever_the_order_of_the_paths_the_tree_predicts_the_same(seed: int):
    rng = np.random.default_rng(seed)
    schema = random_schema(rng)
    tree = random_tree(rng, schema)
    known = list(tree.paths())
    found = tree_of(schema, [known[place] for place in rng.permutation(len(known))])
    table = random_table(rng, schema, 50)
    assert np.array_equal(found.predict(table), tree.predict(table))
    assert sorted(map(repr, found.leaves)) == sorted(map(repr, tree.leaves))


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1))
def test_without_one_of_its_paths_or_with_one_twice_a_tree_is_refused(seed: int):
    rng = np.random.default_rng(seed)
    schema = random_schema(rng)
    known = list(random_tree(rng, schema).paths())
    place = int(rng.integers(len(known)))
    with pytest.raises(ModelError):
        tree_of(schema, known[:place] + known[place + 1 :])
    with pytest.raises(ModelError):
        tree_of(schema, [*known, known[place]])


def test_a_root_alone_is_a_tree():
    assert tree_of(SCHEMA, [path()]).root == LEAF


def test_parts_of_any_order_keep_it():
    tree = SharedTree(
        SCHEMA,
        Split(
            "x",
            (
                (Interval(1, 2), Leaf(0, 1, 0)),
                (Interval(up_to=1), Leaf(0, 2, 0)),
                (Interval(2), Leaf(1, 3, 0)),
            ),
        ),
    )
    assert tree_of(SCHEMA, list(tree.paths())).root == tree.root


PINWHEEL = [
    path(x=Interval(up_to=1), y=Interval(up_to=2)),
    path(x=Interval(above=1), y=Interval(up_to=1)),
    path(x=Interval(above=2), y=Interval(above=1)),
    path(x=Interval(up_to=2), y=Interval(above=2)),
    path(x=Interval(1, 2), y=Interval(1, 2)),
]


@pytest.mark.parametrize(
    ("given_paths", "message"),
    [
        ([], "at least one path"),
        (PINWHEEL, "not those of one tree"),
        ([path(), path()], "overlap"),
        ([path(x=LOW), path(x=Interval(above=0.5))], "overlap"),
        ([path(x=LOW), path(x=Interval(above=2.0))], "leave out a part"),
        ([path(x=LOW)], "leaves out a part"),
        ([path(x=LOW), path(x=Interval(1, 5))], "leave out a part"),
        ([path(c=Values((0,))), path(c=Values((1,)))], "leave out a part"),
        ([path(c=Values((0, 1))), path(c=Values((1, 2)))], "overlap"),
        ([path(x=LOW, y=LOW), path(x=HIGH)], "leaves out a part"),
        ([path(z=LOW), path()], "'z', no attribute"),
        ([path(c=LOW)], "by an interval"),
        ([path(x=Values((0,)))], "by categories"),
        ([path(c=Values((0, 3)))], "not listed"),
        ([Path({}, Leaf(2, 1, 0))], "class that is not listed"),
        ([Path({}, Leaf.of((3, 2, 1)))], "counts 3 classes"),
    ],
)
def test_what_is_no_tree_is_refused(given_paths: list[Path], message: str):
    with pytest.raises(ModelError, match=message) as error:
        tree_of(SCHEMA, given_paths)
    assert str(error.value.where).startswith("paths")


def chain(depth: int) -> list[Path]:
    """A tree that asks for two numbers in turn, so that it cannot be made flat."""
    known: dict[str, Condition] = {}
    found = []
    for place in range(depth):
        name = "xy"[place % 2]
        found.append(Path({**known, name: Interval(known_above(known, name), place + 1.0)}, LEAF))
        known = {**known, name: Interval(above=place + 1.0)}
    return [*found, Path(known, LEAF)]


def known_above(known: dict[str, Condition], name: str) -> float:
    condition = known.get(name, Interval())
    assert isinstance(condition, Interval)
    return condition.above


def test_the_deepest_tree_can_be_handled_and_a_deeper_one_is_refused():
    tree = tree_of(SCHEMA, chain(MOST_DEPTH))
    assert tree.depth == MOST_DEPTH
    assert tree == tree_of(SCHEMA, chain(MOST_DEPTH))
    assert hash(tree.root) == hash(tree.root)
    assert len(repr(tree)) > MOST_DEPTH
    with pytest.raises(LimitExceeded, match="deeper"):
        tree_of(SCHEMA, chain(MOST_DEPTH + 1))


def test_more_paths_than_the_limit_are_not_looked_at():
    with pytest.raises(LimitExceeded, match="at most"):
        tree_of(SCHEMA, [path()] * (paths.MOST_PATHS + 1))


def test_paths_over_too_many_attributes_are_not_laid_out(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(paths, "MOST_CELLS", 3)
    with pytest.raises(LimitExceeded, match="2 paths over 2 attributes"):
        tree_of(SCHEMA, [path(x=LOW, c=Values((0,))), path(x=HIGH)])


def test_sets_of_too_many_categories_are_not_laid_out(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(paths, "MOST_MASK_BYTES", 100)
    schema = replace(SCHEMA, attributes=(CategoricalAttribute("c", labels(1000)),))
    with pytest.raises(LimitExceeded, match="too many sets"):
        tree_of(schema, [path(c=Values((1,))), path(c=Values((999,)))])


def test_no_more_is_compared_than_the_limit(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(paths, "MOST_WORK", 10)
    with pytest.raises(LimitExceeded, match="reasonable time"):
        tree_of(SCHEMA, chain(5))


def grid(side: int) -> list[Path]:
    bounds = [-np.inf, *range(side - 1), np.inf]
    spans = [Interval(float(a), float(b)) for a, b in pairwise(bounds)]
    return [path(x=one, y=other) for one in spans for other in spans]


def slanted(number: int) -> list[Path]:
    """Sets of two categories, each overlapping the next: all hang together."""
    return [path(c=Values((place, place + 1))) for place in range(number - 1)]


def single(number: int) -> list[Path]:
    """One split into single categories, as many as an attribute may have here."""
    return [path(c=Values((place,))) for place in range(number)]


def shifted(number: int) -> list[Path]:
    """Intervals that each begin within the one before."""
    return [path(x=Interval(float(place), place + 1.5)) for place in range(number)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given_paths", "fine"),
    [
        pytest.param(grid(50), True, id="grid"),
        pytest.param(grid(50)[:-1], False, id="grid with a hole"),
        pytest.param(single(9_000), True, id="a split into single categories"),
        pytest.param(slanted(9_000), False, id="slanted sets"),
        pytest.param(shifted(20_000), False, id="shifted intervals"),
        pytest.param(chain(MOST_DEPTH)[:-1] * 200, False, id="deep and doubled"),
    ],
)
def test_many_paths_are_put_together_or_refused(given_paths: list[Path], fine: bool):
    schema = replace(SCHEMA, attributes=(*SCHEMA.attributes[:2], MANY))
    if fine:
        assert len(tree_of(schema, given_paths).leaves) == len(given_paths)
    else:
        with pytest.raises((ModelError, LimitExceeded)):
            tree_of(schema, given_paths)


MANY = CategoricalAttribute("c", labels(9_000))


@given(st.sets(st.integers(0, 300), min_size=1))
def test_codes_as_bits_and_back(codes: set[int]):
    mask = mask_of(sorted(codes))
    assert mask == sum(1 << code for code in codes)
    assert codes_of(mask) == tuple(sorted(codes))
