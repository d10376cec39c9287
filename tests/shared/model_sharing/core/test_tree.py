"""Trees, leaves and conditions refuse what cannot be, and predict by their conditions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pramana_core.domain import Variable
from pramana_core.errors import LimitExceeded, ModelError
from pramana_core.mixed import CategoricalColumn, MixedTable, NumericColumn
from pramana_core.model_sharing import tree as trees
from pramana_core.model_sharing.attributes import CategoricalAttribute, NumericAttribute, TreeSchema
from pramana_core.model_sharing.combine_options import MOST_DEPTH
from pramana_core.model_sharing.conditions import Interval, Values
from pramana_core.model_sharing.tree import Leaf, Node, SharedTree, Split
from tests.shared.model_sharing.random_trees import random_schema, random_table, random_tree

SCHEMA = TreeSchema(
    Variable("t", ("no", "yes")),
    (NumericAttribute("x", 0, 9), CategoricalAttribute("c", ("a", "b", "d"))),
)
NO, YES = Leaf(0, 8, 2), Leaf(1, 3, 1)
LOW, HIGH = Interval(up_to=4.0), Interval(above=4.0)


@pytest.mark.parametrize(
    ("label", "hit", "miss", "distribution"),
    [
        (0, -1, 2, None),
        (0, 1, -2, None),
        (0, math.nan, 0, None),
        (0, math.inf, 0, None),
        (0, 1e16, 0, None),
        (-1, 1, 0, None),
        (2, 1, 1, (1.0, 1.0)),
        (0, 2, 1, (1.0, 2.0)),
        (0, 2, 1, (2.0, 2.0)),
        (0, 1, 2, (1.0, 2.0)),
        (0, 3, 0, (4.0, -1.0)),
        (0, 3, 1, (3.0, math.nan)),
    ],
)
def test_a_leaf_of_counts_that_cannot_be_is_refused(
    label: int, hit: float, miss: float, distribution: tuple[float, ...] | None
):
    with pytest.raises(ModelError) as error:
        Leaf(label, hit, miss, distribution)
    assert error.value.where == "leaf"


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=6))
def test_a_leaf_of_counts_tells_hit_and_miss(counts: list[float]):
    leaf = Leaf.of(tuple(counts))
    assert leaf.hit == max(counts)
    assert counts.index(max(counts)) == leaf.label
    assert leaf.records == pytest.approx(sum(counts))
    assert leaf.classes(len(counts)).tolist() == counts


@pytest.mark.parametrize("codes", [(), (1, 1), (2, 1), (-1, 0)])
def test_categories_of_a_condition_ascend(codes: tuple[int, ...]):
    with pytest.raises(ModelError):
        Values(codes)


@pytest.mark.parametrize(("above", "up_to"), [(1, 1), (2, 1), (math.nan, 1), (1, math.nan)])
def test_an_interval_has_numbers(above: float, up_to: float):
    with pytest.raises(ModelError):
        Interval(above, up_to)


def test_an_interval_has_its_end_and_not_its_beginning():
    column = NumericColumn("x", np.array([1.0, 1.5, 2.0, 2.5]))
    assert Interval(1, 2).holds(column).tolist() == [False, True, True, False]
    with pytest.raises(ModelError):
        Values((0,)).holds(column)


def test_values_hold_of_their_codes():
    column = CategoricalColumn("c", np.array([0, 1, 2]), ("a", "b", "d"))
    assert Values((0, 2)).holds(column).tolist() == [True, False, True]
    with pytest.raises(ModelError):
        Interval().holds(column)


@pytest.mark.parametrize(
    "root",
    [
        Split("z", ((LOW, NO), (HIGH, YES))),
        Split("x", ((LOW, NO), (LOW, YES))),
        Split("x", ((LOW, NO), (Interval(above=5), YES))),
        Split("x", ((LOW, NO), (Interval(above=3), YES))),
        Split("x", ((LOW, NO), (Interval(4, 9), YES))),
        Split("x", ((LOW, NO), (Values((0,)), YES))),
        Split("x", ((Values((0,)), NO), (Values((1, 2)), YES))),
        Split("c", ((Values((0,)), NO), (Values((1,)), YES))),
        Split("c", ((Values((0, 1)), NO), (Values((1, 2)), YES))),
        Split("c", ((Values((0, 1)), NO), (Values((2, 3)), YES))),
        Split("x", ((LOW, Split("x", ((LOW, NO), (HIGH, YES)))), (HIGH, YES))),
        Leaf(2, 1, 0),
        Leaf.of((3, 2, 1)),
    ],
)
def test_a_tree_that_is_none_is_refused(root: Node):
    with pytest.raises(ModelError) as error:
        SharedTree(SCHEMA, root)
    assert error.value.where


def deep(levels: int) -> Node:
    node: Node = NO
    for place in range(levels, 0, -1):
        node = Split("x", ((Interval(place - 1, place), YES), (Interval(above=place), node)))
    return Split("x", ((Interval(up_to=0), YES), (Interval(above=0), node)))


def test_a_tree_too_deep_is_refused():
    assert SharedTree(SCHEMA, deep(MOST_DEPTH - 1)).depth == MOST_DEPTH
    with pytest.raises(LimitExceeded):
        SharedTree(SCHEMA, deep(MOST_DEPTH))


def test_a_tree_of_too_many_leaves_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(trees, "MOST_LEAVES", 5)
    with pytest.raises(LimitExceeded):
        SharedTree(SCHEMA, deep(9))


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1))
def test_each_record_is_on_the_one_path_whose_conditions_hold(seed: int):
    rng = np.random.default_rng(seed)
    schema = random_schema(rng)
    tree = random_tree(rng, schema)
    table = random_table(rng, schema, 40)
    found = tree.leaf_of(table)
    paths = list(tree.paths())
    assert tuple(path.leaf for path in paths) == tree.leaves
    for place, path in enumerate(paths):
        holds = np.ones(table.records, dtype=bool)
        for name, condition in path.conditions.items():
            holds &= condition.holds(table[name])
        assert np.array_equal(holds, found == place)
    assert tree.records == sum(leaf.records for leaf in tree.leaves)


def table(x: list[float], c: list[int]) -> MixedTable:
    return MixedTable(
        (NumericColumn("x", np.array(x)), CategoricalColumn("c", np.array(c), ("a", "b", "d"))),
        len(x),
    )


def test_probabilities_are_shares_of_counts_and_even_without_records():
    tree = SharedTree(SCHEMA, Split("x", ((LOW, NO), (HIGH, Leaf(0, 0, 0)))))
    found = tree.probabilities(table([1, 4, 4.1], [0, 1, 2]))
    assert found.tolist() == [[0.8, 0.2], [0.8, 0.2], [0.5, 0.5]]
    assert tree.predict(table([], [])).tolist() == []
