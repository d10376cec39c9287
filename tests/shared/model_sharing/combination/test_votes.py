"""Votes of trees, and the pseudo-data of several owners' trees together."""

from __future__ import annotations

import numpy as np
import pytest

from pramana_core.domain import Variable
from pramana_core.errors import ModelError
from pramana_core.mixed import CategoricalColumn, MixedTable
from pramana_core.model_sharing.attributes import CategoricalAttribute, NumericAttribute, TreeSchema
from pramana_core.model_sharing.conditions import Interval, Values
from pramana_core.model_sharing.generating import GenerationOptions
from pramana_core.model_sharing.global_models.combining import (
    labelled_data,
    pooled_data,
)
from pramana_core.model_sharing.global_models.votes import VotesModel
from pramana_core.model_sharing.tree import Leaf, SharedTree, Split

COLOUR = CategoricalAttribute("colour", ("red", "green"))
SCHEMA = TreeSchema(Variable("class", ("a", "b")), (COLOUR,))
TABLE = MixedTable((CategoricalColumn("colour", [0, 1], COLOUR.categories),), 2)


def tree(red: Leaf, green: Leaf) -> SharedTree:
    return SharedTree(SCHEMA, Split("colour", ((Values((0,)), red), (Values((1,)), green))))


ONE = tree(Leaf(0, 3, 1), Leaf(1, 16, 0))
TWO = tree(Leaf(1, 30, 10), Leaf(0, 0, 0))


def test_votes_by_hand():
    """One record, spread evenly, is added to each leaf; of an empty one nothing else is known."""
    votes = VotesModel([ONE, TWO])
    red = (3.5 / 5 + 10.5 / 41) / 2
    green = (0.5 / 17 + 0.5) / 2
    wanted = [[red, 1 - red], [green, 1 - green]]
    assert votes.probabilities(TABLE) == pytest.approx(np.array(wanted))
    assert votes.predict(TABLE).tolist() == [1, 1]
    assert np.array_equal(VotesModel([ONE]).predict(TABLE), ONE.predict(TABLE))


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


def pooled(trees, rng, options=GenerationOptions()):  # noqa: B008 - frozen
    return pooled_data(trees, rng, options)


def codes(table, name="class"):
    column = table[name]
    assert isinstance(column, CategoricalColumn)
    return column.codes


def test_the_pseudo_data_of_all_are_in_one_schema():
    table = pooled(TREES, np.random.default_rng(0))
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


@pytest.mark.parametrize("method", ["pgen", "basegen"])
def test_the_likeliest_labels_are_what_is_voted(method):
    votes = VotesModel(TREES)
    options = GenerationOptions(method, records=400)
    table = labelled_data(votes, np.random.default_rng(2), options)
    assert table.records == 400
    assert np.array_equal(codes(table), votes.predict(table))


def test_what_cannot_be_is_refused():
    with pytest.raises(ModelError):
        pooled([], np.random.default_rng(0))
    bare = SharedTree(TREES[0].schema, Leaf(0, 0, 0))
    with pytest.raises(ModelError):
        pooled([bare, bare], np.random.default_rng(0), GenerationOptions(records=4))
    assert pooled([bare, bare], np.random.default_rng(0)).records == 0
