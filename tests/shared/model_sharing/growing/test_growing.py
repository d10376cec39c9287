"""Local trees count their records exactly, by thresholds that are no record's value."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pramana_core.domain import Variable
from pramana_core.errors import LimitExceeded, NotInstalled, TableError
from pramana_core.mixed import CategoricalColumn, MixedTable, numeric_table
from pramana_core.model_sharing import growing
from pramana_core.model_sharing.attributes import CategoricalAttribute, NumericAttribute, TreeSchema
from pramana_core.model_sharing.conditions import Interval, Values
from pramana_core.model_sharing.growing import GrowthOptions, expected_errors, grow_tree, simplified
from pramana_core.model_sharing.offers import between
from pramana_core.model_sharing.tree import Leaf, Node, SharedTree, Split
from tests.shared.model_sharing.random_trees import labels, random_schema, random_table

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
    assert np.array_equal(tree.class_counts, counted(tree, table, classes))
    # As far as it goes: what is not of one class does not differ.
    leaf = tree.leaf_of(table)
    for place in np.flatnonzero(np.count_nonzero(tree.class_counts, axis=1) > 1):
        alike = table.rows(leaf == place)
        for column in alike.columns:
            values = column.codes if isinstance(column, CategoricalColumn) else column.values
            assert len(np.unique(values)) == 1


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


def test_depth_and_leaves_are_as_asked():
    rng = np.random.default_rng(0)
    table, classes = numbers(*rng.random(300)), rng.integers(0, 2, 300)
    assert len(grow_tree(NUMBERS, table, classes, GrowthOptions(max_depth=2)).leaves) <= 4
    few = grow_tree(NUMBERS, table, classes, GrowthOptions(min_leaf=20))
    assert min(leaf.records for leaf in few.leaves) >= 20


@pytest.mark.parametrize("classes", [[0, 1], [0, 1, 2], [0, -1, 1], [[0, 1, 1]]])
def test_each_record_needs_one_class(classes: list):
    with pytest.raises(TableError):
        grow_tree(NUMBERS, numbers(1, 2, 3), np.array(classes))


def test_without_scikit_learn_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(growing, "find_spec", lambda name: None)
    with pytest.raises(NotInstalled):
        grow_tree(NUMBERS, numbers(1, 2), np.array([0, 1]))


@pytest.mark.parametrize("limit", ["MOST_CELLS", "MOST_RANKS"])
def test_too_many_indicators_are_not_laid_out(limit: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(growing, limit, 2)
    with pytest.raises(LimitExceeded):
        grow_tree(NUMBERS, numbers(1, 2, 3), np.array([0, 1, 0]))


# C4.5's pruning: its limits by their definition, what it cuts, and that noise alone is cut.


@pytest.mark.parametrize(("wrong", "records"), [(0, 1), (0, 6), (1, 16), (3, 10), (40, 90)])
def test_expected_errors_are_the_upper_limit_of_their_rate(wrong, records):
    """With that rate, so few errors or fewer have exactly the chance that was asked for."""
    found = expected_errors(np.array([wrong, records - wrong], dtype=float))
    assert stats.binom.cdf(wrong, records, found / records) == pytest.approx(0.25)
    assert found > wrong


def question(one: Node, other: Node) -> Split:
    return Split("a", ((Values((0,)), one), (Values((1,)), other)))


def test_a_subtree_is_replaced_if_its_leaves_are_expected_to_err_as_often():
    """Quinlan's leaves of 6, 9 and 1 records: 3.273 errors; one leaf of 16, 1 wrong: 2.512."""
    inner = question(Leaf.of([9.0, 0.0]), Leaf.of([0.0, 1.0]))
    cut = simplified(question(Leaf.of([6.0, 0.0]), inner))
    assert cut == Leaf.of([15.0, 1.0])
    kept = question(Leaf.of([60.0, 0.0]), Leaf.of([0.0, 60.0]))
    assert simplified(kept) == kept


# Thresholds lie between their neighbours, are short, and are not a record's own value.


@given(st.integers(0, 10**6), st.integers(1, 10**5))
def test_no_shorter_number_lies_between(left: int, width: int):
    """Against all whole numbers between, counted."""
    found = int(between(float(left), float(left + width), whole=True))
    among = np.arange(left + (width > 1), left + width)

    def zeros(number: int) -> int:
        return 7 if number == 0 else len(str(number)) - len(str(number).rstrip("0"))

    best = max(power for power in range(8) if np.any(among % 10**power == 0))
    assert min(zeros(found), 7) == min(best, 7)


def test_thresholds_are_the_shortest_numbers_between_neighbours():
    tree = grow_tree(NUMBERS, numbers(1.37, 2.91, 37.2, 48.6), np.array([0, 0, 1, 1]))
    assert tree.root == Split(
        "x", ((Interval(up_to=20.0), Leaf.of((2, 0))), (Interval(above=20.0), Leaf.of((0, 2))))
    )
