"""Local trees count their records exactly, by thresholds that are no record's value."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pramana_core.domain import Variable
from pramana_core.errors import EmptyTable, LimitExceeded, NotInstalled, OptionError, TableError
from pramana_core.mixed.table import CategoricalColumn, MixedTable, NumericColumn, numeric_table
from pramana_core.model_sharing.attributes import (
    CategoricalAttribute,
    NumericAttribute,
    TreeSchema,
)
from pramana_core.model_sharing.growing import growing
from pramana_core.model_sharing.growing import required as unrestricted
from pramana_core.model_sharing.growing.growing import GrowthOptions, grow_tree
from pramana_core.model_sharing.tree import (
    MOST_DEPTH,
    Interval,
    Leaf,
    SharedTree,
    Split,
    Values,
)
from tests.shared.model_sharing.random_trees import (
    labels,
    random_schema,
    random_table,
    random_tree,
)

NUMBERS = TreeSchema(Variable("t", ("no", "yes")), (NumericAttribute("x", -1e100, 1e100),))


def numbers(*values: float) -> MixedTable:
    return numeric_table(["x"], np.array(values)[:, None])


def counted(tree: SharedTree, table: MixedTable, classes: np.ndarray) -> np.ndarray:
    """The counts of the classes in each leaf, by the released conditions."""
    found = np.zeros((len(tree.leaves), tree.schema.classes))
    np.add.at(found, (tree.leaf_of(table), classes), 1)
    return found


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1))
def test_leaves_count_the_records_that_their_conditions_hold_of(seed: int):
    rng = np.random.default_rng(seed)
    schema = random_schema(rng)
    table = random_table(rng, schema, int(rng.integers(1, 60)))
    classes = rng.integers(0, schema.classes, table.records)
    tree = grow_tree(schema, table, classes, GrowthOptions(seed=seed))
    assert np.array_equal(tree.class_counts(), counted(tree, table, classes))
    # As far as it goes: what is not of one class does not differ.
    leaf = tree.leaf_of(table)
    for place in np.flatnonzero(np.count_nonzero(tree.class_counts(), axis=1) > 1):
        alike = table.rows(leaf == place)
        for column in alike.columns:
            values = column.codes if isinstance(column, CategoricalColumn) else column.values
            assert len(np.unique(values)) == 1


def test_what_a_tree_decides_is_learned_again():
    rng = np.random.default_rng(4)
    for _ in range(5):
        schema = random_schema(rng)
        truth = random_tree(rng, schema)
        table = random_table(rng, schema, 200)
        classes = truth.predict(table)
        assert np.array_equal(grow_tree(schema, table, classes).predict(table), classes)


@pytest.mark.parametrize(
    "values",
    [
        (1e15, 1e15 + 1, 1e15 + 2, 1e15 + 3),
        (1.0, 1 + 1e-12, 1 + 2e-12, 1 + 3e-12),
        (-1e100, -1e-100, 1e-100, 1e100),
        (16777216.0, 16777217.0, 16777218.0, 16777219.0),
    ],
)
def test_numbers_that_float32_takes_for_the_same_are_parted(values: tuple[float, ...]):
    table, classes = numbers(*values), np.array([0, 1, 0, 1])
    tree = grow_tree(NUMBERS, table, classes)
    assert np.array_equal(tree.predict(table), classes)
    assert [leaf.records for leaf in tree.leaves] == [1, 1, 1, 1]


def test_thresholds_are_the_shortest_numbers_between_neighbours():
    tree = grow_tree(NUMBERS, numbers(1.37, 2.91, 37.2, 48.6), np.array([0, 0, 1, 1]))
    assert tree.root == Split(
        "x", ((Interval(up_to=20.0), Leaf.of((2, 0))), (Interval(above=20.0), Leaf.of((0, 2))))
    )


def test_whole_numbers_have_whole_thresholds():
    schema = replace(NUMBERS, attributes=(NumericAttribute("x", 0, 90, whole=True),))
    tree = grow_tree(schema, numbers(3, 4, 37, 48), np.array([0, 1, 1, 0]))
    assert [p.conditions["x"] for p in tree.paths()] == [
        Interval(up_to=3.0),
        Interval(3.0, 40.0),
        Interval(above=40.0),
    ]


def categories(*codes: int) -> tuple[TreeSchema, MixedTable]:
    attribute = CategoricalAttribute("c", labels(4))
    table = MixedTable((CategoricalColumn("c", np.array(codes), labels(4)),), len(codes))
    return TreeSchema(Variable("t", labels(3)), (attribute,)), table


def test_questions_for_one_attribute_are_one_split():
    schema, table = categories(0, 0, 1, 1, 2, 2)
    tree = grow_tree(schema, table, np.array([0, 0, 1, 1, 2, 2]))
    assert isinstance(tree.root, Split)
    assert all(isinstance(below, Leaf) for _, below in tree.root.parts)
    conditions = [c.codes for c, _ in tree.root.parts if isinstance(c, Values)]
    assert sorted(code for codes in conditions for code in codes) == [0, 1, 2, 3]
    assert conditions == sorted(conditions)
    assert tree.predict(table).tolist() == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize("classes", [(1, 1, 1), (0, 1, 1)])
def test_of_one_class_or_of_constant_attributes_only_a_root_is_grown(classes: tuple[int, ...]):
    tree = grow_tree(NUMBERS, numbers(2, 2, 2), np.array(classes))
    counts = (classes.count(0), classes.count(1))
    assert tree.root == Leaf.of(counts)


def test_depth_and_leaves_are_as_asked():
    rng = np.random.default_rng(0)
    table, classes = numbers(*rng.random(300)), rng.integers(0, 2, 300)
    assert len(grow_tree(NUMBERS, table, classes, GrowthOptions(max_depth=2)).leaves) <= 4
    few = grow_tree(NUMBERS, table, classes, GrowthOptions("gini", min_leaf=20))
    assert min(leaf.records for leaf in few.leaves) >= 20


def test_the_same_seed_grows_the_same_tree():
    rng = np.random.default_rng(1)
    schema = random_schema(rng)
    table, classes = random_table(rng, schema, 80), rng.integers(0, schema.classes, 80)
    options = GrowthOptions(seed=-3)
    assert grow_tree(schema, table, classes, options) == grow_tree(schema, table, classes, options)


@pytest.mark.parametrize(
    ("options", "where"),
    [
        ({"criterion": "error"}, "criterion"),
        ({"min_leaf": 0}, "min_leaf"),
        ({"max_depth": 0}, "max_depth"),
        ({"chance": 0}, "chance"),
        ({"chance": 1.1}, "chance"),
        ({"max_depth": MOST_DEPTH + 1}, "max_depth"),
    ],
)
def test_options_out_of_their_range_are_refused(options: dict, where: str):
    with pytest.raises(OptionError) as error:
        GrowthOptions(**options)
    assert error.value.where == where


@pytest.mark.parametrize("classes", [[0, 1], [0, 1, 2], [0, -1, 1], [[0, 1, 1]]])
def test_each_record_needs_one_class(classes: list):
    with pytest.raises(TableError, match="a class from 0 to 1"):
        grow_tree(NUMBERS, numbers(1, 2, 3), np.array(classes))


def test_without_records_there_is_no_tree():
    with pytest.raises(EmptyTable):
        grow_tree(NUMBERS, numbers(), np.array([], dtype=int))


def test_without_scikit_learn_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(growing, "find_spec", lambda name: None)
    with pytest.raises(NotInstalled, match="pramana\\[models\\]"):
        grow_tree(NUMBERS, numbers(1, 2), np.array([0, 1]))


@pytest.mark.parametrize("limit", ["MOST_CELLS", "MOST_RANKS"])
def test_too_many_indicators_are_not_laid_out(limit: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(unrestricted, limit, 2)
    with pytest.raises(LimitExceeded):
        grow_tree(NUMBERS, numbers(1, 2, 3), np.array([0, 1, 0]))


def test_columns_that_the_schema_does_not_have_are_ignored():
    table = MixedTable((*numbers(1, 2).columns, NumericColumn("y", np.array([0.0, 1.0]))), 2)
    assert grow_tree(NUMBERS, table, np.array([0, 1])) == grow_tree(
        NUMBERS, numbers(1, 2), np.array([0, 1])
    )
