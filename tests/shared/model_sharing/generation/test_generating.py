"""Pseudo-data are on the paths that give them, in the numbers that the paths count."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

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
    _shuffled,
    generate,
    generate_chunks,
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


def same(one: MixedTable, other: MixedTable) -> bool:
    return one.names == other.names and all(
        np.array_equal(
            a.codes if isinstance(a, CategoricalColumn) else a.values,
            b.codes if isinstance(b, CategoricalColumn) else b.values,
        )
        for a, b in zip(one.columns, other.columns, strict=True)
    )


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


@settings(max_examples=25, deadline=None)
@given(trees(), WAYS, st.integers(1, 40), st.sampled_from(["pgen", "basegen"]))
def test_records_are_the_same_whatever_the_size_of_chunks(tree, options, per_chunk, method):
    options = replace(options, method=method)
    at_once = generate(tree, np.random.default_rng(5), options)
    chunks = list(generate_chunks(tree, np.random.default_rng(5), options, per_chunk))
    start = 0
    for chunk in chunks:
        assert chunk.records <= per_chunk
        assert same(chunk, at_once.rows(np.arange(start, start + chunk.records)))
        start += chunk.records
    assert start == at_once.records


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
    rng = np.random.default_rng(3)
    order = _shuffled(4, rng)
    assert sorted(order.tolist()) == [0, 1, 2, 3]
    first = [int(_shuffled(4, rng)[0]) for _ in range(2000)]
    assert_distribution(np.bincount(first, minlength=4), np.full(4, 500.0))
    shuffled = generate(TREE, rng, GenerationOptions())
    assert any(one > two for one, two in pairwise(TREE.leaf_of(shuffled).tolist()))


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
