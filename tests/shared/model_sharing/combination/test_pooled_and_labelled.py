"""The pseudo-data of all trees together, as each labels its own or as all vote."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pramana_core.domain import Variable
from pramana_core.errors import ModelError, OptionError
from pramana_core.mixed.table import CategoricalColumn, NumericColumn
from pramana_core.model_sharing.attributes import (
    CategoricalAttribute,
    NumericAttribute,
    TreeSchema,
)
from pramana_core.model_sharing.combination.votes import (
    LabellingOptions,
    VoteOptions,
    VotesModel,
    labelled_chunks,
    pooled_chunks,
    together,
)
from pramana_core.model_sharing.generation_values import GenerationOptions
from pramana_core.model_sharing.tree import Interval, Leaf, SharedTree, Split, Values


def tree(categories: tuple[str, ...], classes: tuple[str, ...], more: int) -> SharedTree:
    colour = CategoricalAttribute("colour", categories)
    schema = TreeSchema(Variable("class", classes), (colour, NumericAttribute("size", 0, 10)))
    below = Split("colour", ((Values((0,)), Leaf(0, 6 * more, 0)), (Values((1,)), Leaf(1, 4, 2))))
    parts = ((Interval(up_to=4), below), (Interval(above=4), Leaf(1, 9 * more, more)))
    return SharedTree(schema, Split("size", parts))


TREES = [tree(("red", "green"), ("a", "b"), 1), tree(("blue", "red"), ("c", "a"), 3)]


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
    assert np.bincount(codes(table)[22:], minlength=3).tolist() == [31, 0, 23]
    assert not np.any(colour.codes[:22] == 2)
    assert not np.any(colour.codes[22:] == 1)


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
