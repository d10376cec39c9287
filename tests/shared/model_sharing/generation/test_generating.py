"""Pseudo-data are on the paths that give them, in the numbers that the paths count."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pramana_core.domain import Variable
from pramana_core.errors import ModelError, OptionError
from pramana_core.mixed import CategoricalColumn, MixedTable, NumericColumn
from pramana_core.model_sharing.attributes import CategoricalAttribute, NumericAttribute, TreeSchema
from pramana_core.model_sharing.conditions import Interval, Values
from pramana_core.model_sharing.generating import (
    GenerationOptions,
    generate,
)
from pramana_core.model_sharing.tree import Leaf, SharedTree, Split
from tests.shared.model_sharing.random_trees import trees

COLOUR = CategoricalAttribute("colour", ("red", "green", "blue"))
SIZE = NumericAttribute("size", 0, 10)
SCHEMA = TreeSchema(Variable("class", ("a", "b", "c")), (COLOUR, SIZE))
SMALL = Split("colour", ((Values((0,)), Leaf(0, 9, 3)), (Values((1, 2)), Leaf(1, 4, 0))))
TREE = SharedTree(
    SCHEMA, Split("size", ((Interval(up_to=4), SMALL), (Interval(above=4), Leaf(2, 20, 4))))
)
WAYS = st.builds(GenerationOptions, estimated=st.booleans())


def codes(table: MixedTable, name: str = "class") -> np.ndarray:
    column = table[name]
    assert isinstance(column, CategoricalColumn)
    return column.codes


@settings(max_examples=60, deadline=None)
@given(trees(), WAYS)
def test_proposition_1(tree, options):
    """Each record is on a path, hit + miss on each, hit of them in its class, for whole counts."""
    table = generate(tree, np.random.default_rng(1), options)
    at, drawn = tree.leaf_of(table), codes(table)
    for place, leaf in enumerate(tree.leaves):
        here = drawn[at == place]
        assert len(here) == leaf.records
        assert np.count_nonzero(here == leaf.label) == leaf.hit
        if leaf.distribution is not None:
            assert np.bincount(here, minlength=tree.schema.classes).tolist() == list(
                leaf.distribution
            )


@settings(max_examples=40, deadline=None)
@given(trees())
def test_basegen_labels_as_the_tree_predicts(tree):
    options = GenerationOptions(method="basegen", records=50)
    table = generate(tree, np.random.default_rng(2), options)
    assert np.array_equal(codes(table), tree.predict(table))
    for attribute in tree.schema.attributes:
        if isinstance(attribute, NumericAttribute):
            column = table[attribute.name]
            assert isinstance(column, NumericColumn)
            assert ((column.values >= attribute.low) & (column.values <= attribute.high)).all()


def test_values_within_a_path_are_uniform(assert_distribution):
    options = GenerationOptions(records=60_000)
    table = generate(TREE, np.random.default_rng(8), options)
    at, colour = TREE.leaf_of(table), codes(table, "colour")
    size = table["size"]
    assert isinstance(size, NumericColumn)
    absent = np.bincount(colour[at == 2], minlength=3)
    within = np.histogram(size.values[at == 2], np.linspace(4, 10, 13))[0]
    assert_distribution(absent, np.full(3, 12_000))
    assert_distribution(within, np.full(12, 3_000))
    with pytest.raises(AssertionError, match="chi-square"):
        assert_distribution(within, np.linspace(0.8, 1.2, 12) * 3_000)


def test_shuffling_hides_the_paths(assert_distribution):
    """The first record is of each leaf as often as all records are."""
    rng = np.random.default_rng(3)
    found = [TREE.leaf_of(generate(TREE, rng, GenerationOptions())) for _ in range(1000)]
    shares = np.bincount(found[0], minlength=len(TREE.leaves)) / len(found[0])
    first = np.bincount([int(leaves[0]) for leaves in found], minlength=len(TREE.leaves))
    assert_distribution(first, shares * len(found))


def test_a_tree_of_nothing_gives_nothing():
    empty = SharedTree(SCHEMA, Leaf(0, 0, 0))
    table = generate(empty, np.random.default_rng(0))
    assert table.records == 0
    assert table.names == ("colour", "size", "class")
    with pytest.raises(ModelError):
        generate(empty, np.random.default_rng(0), GenerationOptions(records=5))
    some = generate(empty, np.random.default_rng(0), GenerationOptions("basegen", records=5))
    assert some.records == 5


@pytest.mark.parametrize(
    ("name", "value"),
    [("method", "lpgen"), ("records", 0), ("scale", 0), ("scale", math.nan), ("scale", math.inf)],
)
def test_options_out_of_range_are_refused(name, value):
    with pytest.raises(OptionError) as refused:
        GenerationOptions(**{name: value})
    assert refused.value.where == name
