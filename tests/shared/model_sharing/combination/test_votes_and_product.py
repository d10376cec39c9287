"""Trees combined as they are: votes, and one tree that says the same."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pramana_core.domain import Variable
from pramana_core.errors import LimitExceeded, ModelError, OptionError, UnknownCategory
from pramana_core.mixed import CategoricalColumn, MixedTable, NumericColumn
from pramana_core.model_sharing.attributes import CategoricalAttribute, NumericAttribute, TreeSchema
from pramana_core.model_sharing.generating import GenerationOptions, generate
from pramana_core.model_sharing.global_models.votes import (
    LabellingOptions,
    VoteOptions,
    VotesModel,
    labelled_chunks,
    pooled_chunks,
    product_tree,
    together,
)
from pramana_core.model_sharing.tree import Interval, Leaf, SharedTree, Split, Values
from tests.shared.model_sharing.random_trees import random_schema, random_tree

COLOUR = CategoricalAttribute("colour", ("red", "green"))
SCHEMA = TreeSchema(Variable("class", ("a", "b")), (COLOUR,))
TABLE = MixedTable((CategoricalColumn("colour", [0, 1], COLOUR.categories),), 2)
VOTES = st.builds(
    VoteOptions,
    weights=st.sampled_from(["equal", "records", "leaves"]),
    smoothing=st.sampled_from([0.0, 1.0, 4.5]),
)


def tree(red: Leaf, green: Leaf) -> SharedTree:
    return SharedTree(SCHEMA, Split("colour", ((Values((0,)), red), (Values((1,)), green))))


ONE = tree(Leaf(0, 3, 1), Leaf(1, 16, 0))
TWO = tree(Leaf(1, 30, 10), Leaf(0, 0, 0))


@pytest.mark.parametrize(
    ("weights", "smoothing", "red", "green"),
    [
        ("equal", 0, [0.5, 0.5], [0, 1]),  # an empty leaf says nothing
        ("records", 0, [(20 * 0.75 + 40 * 0.25) / 60, (20 * 0.25 + 40 * 0.75) / 60], [0, 1]),
        ("leaves", 0, [13 / 44, 31 / 44], [0, 1]),
        ("equal", 4, [(5 / 8 + 12 / 44) / 2, (3 / 8 + 32 / 44) / 2], [(0.1 + 0.5) / 2, 0.7]),
        ("leaves", 2, [15 / 48, 33 / 48], [2 / 20, 18 / 20]),
    ],
)
def test_votes_by_hand(weights, smoothing, red, green):
    votes = VotesModel([ONE, TWO], VoteOptions(weights, smoothing))
    assert votes.probabilities(TABLE) == pytest.approx(np.array([red, green]))
    assert votes.predict(TABLE).tolist() == [int(red[1] > red[0]), 1]


def test_trees_that_say_nothing_leave_every_class_alike():
    empty = SharedTree(SCHEMA, Leaf(1, 0, 0))
    assert (
        VotesModel([empty], VoteOptions(smoothing=0)).probabilities(TABLE).tolist()
        == [[0.5, 0.5]] * 2
    )


def test_one_tree_votes_as_it_predicts():
    assert np.array_equal(VotesModel([ONE]).predict(TABLE), ONE.predict(TABLE))
    assert VotesModel([ONE], VoteOptions(smoothing=0)).probabilities(TABLE) == pytest.approx(
        ONE.probabilities(TABLE)
    )


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.integers(0, 1 << 32), st.integers(1, 4), VOTES)
def test_the_product_says_what_the_votes_say(seed, owners, options):
    rng = np.random.default_rng(seed)
    schema = random_schema(rng, wild=True)
    votes = VotesModel([random_tree(rng, schema, 3, told=0.5) for _ in range(owners)], options)
    product = product_tree(votes)
    # Records of each of its leaves, so that none is left out, and records of anywhere.
    even = SharedTree(schema, product.root)
    everywhere = generate(even, rng, GenerationOptions("basegen", records=200))
    for tree in votes.trees:
        if tree.records:
            assert_same(product, votes, generate(tree, rng))
    assert_same(product, votes, everywhere)


def assert_same(product, votes, table):
    attributes = table.project(votes.schema.names)
    assert np.array_equal(product.predict(attributes), votes.predict(attributes))
    np.testing.assert_allclose(
        product.probabilities(attributes), votes.probabilities(attributes), atol=1e-9
    )


def test_the_product_counts_all_records_spread_evenly():
    """Two trees of one attribute of four categories, whose leaves overlap."""
    four = CategoricalAttribute("colour", ("red", "green", "blue", "white"))
    schema = TreeSchema(Variable("class", ("a", "b")), (four,))
    one = SharedTree(
        schema,
        Split("colour", ((Values((0, 1, 2)), Leaf(0, 30, 0)), (Values((3,)), Leaf(1, 8, 0)))),
    )
    two = SharedTree(
        schema, Split("colour", ((Values((0,)), Leaf(1, 6, 0)), (Values((1, 2, 3)), Leaf(0, 9, 3))))
    )
    product = product_tree(VotesModel([one, two], VoteOptions(smoothing=0)))
    found = {
        c.codes: leaf for p in product.paths() for c, leaf in [(p.conditions["colour"], p.leaf)]
    }
    assert {codes: leaf.records for codes, leaf in found.items()} == pytest.approx(
        {(0,): 10 + 6, (1, 2): 20 + 8, (3,): 8 + 4}
    )
    assert found[(1, 2)].distribution == pytest.approx((28 * 1.75 / 2, 28 * 0.25 / 2))
    assert product.records == pytest.approx(one.records + two.records)


def test_a_product_of_too_many_leaves_is_refused():
    votes = VotesModel([ONE, TWO])
    assert len(product_tree(votes, most_leaves=2).leaves) == 2
    with pytest.raises(LimitExceeded, match="product of 2 trees has more than 1 leaves"):
        product_tree(votes, most_leaves=1)


def test_a_category_that_no_tree_knows_is_refused():
    strange = MixedTable((CategoricalColumn("colour", [0], ("violet",)),), 1)
    with pytest.raises(UnknownCategory, match="do"):
        VotesModel([ONE, TWO]).predict(strange)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"weights": "volume"}, "weights must be one of equal, records, leaves"),
        ({"smoothing": -1}, "smoothing must be at least 0, not -1"),
        ({"smoothing": float("nan")}, "smoothing must be a finite number at least 0"),
    ],
)
def test_options_out_of_range_are_refused(wrong, told):
    with pytest.raises(OptionError, match=told):
        VoteOptions(**wrong)


# The pseudo-data of all trees together, as each labels its own or as all vote.


def sized_tree(categories: tuple[str, ...], classes: tuple[str, ...], more: int) -> SharedTree:
    colour = CategoricalAttribute("colour", categories)
    schema = TreeSchema(Variable("class", classes), (colour, NumericAttribute("size", 0, 10)))
    others = Values(tuple(range(1, len(categories))))
    below = Split("colour", ((Values((0,)), Leaf(0, 6 * more, 0)), (others, Leaf(1, 4, 2))))
    parts = ((Interval(up_to=4), below), (Interval(above=4), Leaf(1, 9 * more, more)))
    return SharedTree(schema, Split("size", parts))


TREES = [
    sized_tree(("red", "green"), ("a", "b"), 1),
    sized_tree(("blue", "red", "green"), ("c", "a", "b"), 3),
]


def pooled(*asked):
    return together(list(pooled_chunks(*asked)))


def labelled(*asked):
    return together(list(labelled_chunks(*asked)))


def codes(table, name="class"):
    column = table[name]
    assert isinstance(column, CategoricalColumn)
    return column.codes


def test_the_pseudo_data_of_all_are_in_one_schema():
    table = pooled(TREES, np.random.default_rng(0), GenerationOptions(shuffle=False))
    assert table.records == 22 + 54
    target, colour = table["class"], table["colour"]
    assert isinstance(target, CategoricalColumn)
    assert isinstance(colour, CategoricalColumn)
    assert target.categories == ("a", "b", "c")
    assert colour.categories == ("red", "green", "blue")
    # Each tree draws from what its owner declared, and counts its own classes.
    assert np.bincount(codes(table)[:22], minlength=3).tolist() == [9, 13, 0]
    assert np.bincount(codes(table)[22:], minlength=3)[0] == 31
    assert not np.any(colour.codes[:22] == 2)
    assert np.any(colour.codes[22:] == 2)


@pytest.mark.parametrize("records", [1, 3, 761])
def test_a_number_of_records_is_of_all_trees(records):
    assert pooled(TREES, np.random.default_rng(0), GenerationOptions(records=records)).records == (
        records
    )


@pytest.mark.parametrize("per_chunk", [1, 20, 1000])
def test_chunks_hold_the_same_records(per_chunk):
    votes = VotesModel(TREES)
    options = LabellingOptions(labels="drawn")
    for whole, chunks in (
        (
            pooled(TREES, np.random.default_rng(1)),
            pooled_chunks(TREES, np.random.default_rng(1), None, per_chunk),
        ),
        (
            labelled(votes, np.random.default_rng(1), options),
            labelled_chunks(votes, np.random.default_rng(1), options, per_chunk),
        ),
    ):
        parts = list(chunks)
        assert max(part.records for part in parts) <= per_chunk
        found = together(parts)
        assert np.array_equal(codes(found), codes(whole))
        sizes = found["size"], whole["size"]
        assert all(isinstance(size, NumericColumn) for size in sizes)
        assert np.array_equal(sizes[0].values, sizes[1].values)


@pytest.mark.parametrize("method", ["pgen", "basegen"])
def test_the_likeliest_labels_are_what_is_voted(method):
    votes = VotesModel(TREES)
    options = LabellingOptions(GenerationOptions(method, records=400))
    table = labelled(votes, np.random.default_rng(2), options)
    assert table.records == 400
    assert np.array_equal(codes(table), votes.predict(table))


def test_drawn_labels_follow_the_votes(assert_distribution):
    votes = VotesModel(TREES, VoteOptions(smoothing=5))
    drawn = LabellingOptions(GenerationOptions(records=30_000), "drawn")
    table = labelled(votes, np.random.default_rng(3), drawn)
    wanted = votes.probabilities(table)
    assert_distribution(np.bincount(codes(table), minlength=3), wanted.sum(axis=0))
    first = wanted[:, 0] < 0.5
    found = np.bincount(codes(table)[first], minlength=3)
    assert_distribution(found, wanted[first].sum(axis=0))
    likeliest = labelled(votes, np.random.default_rng(3), replace(drawn, labels="likeliest"))
    with pytest.raises(AssertionError):
        assert_distribution(np.bincount(codes(likeliest), minlength=3), wanted.sum(axis=0))


def test_what_cannot_be_is_refused():
    with pytest.raises(OptionError, match="labels must be one of likeliest, drawn, not 'best'"):
        LabellingOptions(labels="best")
    with pytest.raises(ModelError, match="no tables"):
        together([])
    with pytest.raises(ModelError, match="at least one tree"):
        pooled([], np.random.default_rng(0))
    bare = SharedTree(TREES[0].schema, Leaf(0, 0, 0))
    with pytest.raises(ModelError, match="counts no records"):
        pooled([bare, bare], np.random.default_rng(0), GenerationOptions(records=4))
    assert pooled([bare, bare], np.random.default_rng(0)).records == 0
