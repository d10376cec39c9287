"""From several owners' trees to one model."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest

from pramana_core.domain import Variable
from pramana_core.errors import DomainError, LimitExceeded, ModelError, OptionError
from pramana_core.learn.common.distributions import stream
from pramana_core.mixed import CategoricalColumn, MixedTable, NumericColumn
from pramana_core.model_sharing.attributes import (
    Attribute,
    CategoricalAttribute,
    NumericAttribute,
    TreeSchema,
)
from pramana_core.model_sharing.combine_options import CombineOptions, GlobalName, Method
from pramana_core.model_sharing.conditions import Interval, Values
from pramana_core.model_sharing.global_models.combining import combine, pseudo_data
from pramana_core.model_sharing.global_models.common_schema import (
    common_schema,
    in_schema,
    units_warning,
)
from pramana_core.model_sharing.global_models.measures import accuracy
from pramana_core.model_sharing.global_models.votes import VotesModel
from pramana_core.model_sharing.tree import Leaf, SharedTree, Split

COLOUR = CategoricalAttribute("colour", ("red", "green", "blue"))
SIZE = NumericAttribute("size", 0, 10)
SCHEMA = TreeSchema(Variable("class", ("a", "b", "c")), (COLOUR, SIZE))


def tree_of_leaves(
    schema: TreeSchema = SCHEMA, threshold: float = 5, more: float = 1
) -> SharedTree:
    leaves = [Leaf.of(tuple(more * n for n in c)) for c in ((90, 6, 4), (2, 80, 10), (0, 5, 60))]
    by_colour = Split("colour", ((Values((0,)), leaves[0]), (Values((1, 2)), leaves[1])))
    low, high = Interval(up_to=threshold), Interval(above=threshold)
    return SharedTree(schema, Split("size", ((low, by_colour), (high, leaves[2]))))


def grid() -> MixedTable:
    colour, size = np.divmod(np.arange(33), 11)
    return MixedTable(
        (CategoricalColumn("colour", colour, COLOUR.categories), NumericColumn("size", size)), 33
    )


@pytest.mark.slow
@pytest.mark.parametrize("method", get_args(Method))
@pytest.mark.parametrize("model", get_args(GlobalName))
def test_every_method_gives_every_model(method, model):
    trees = [tree_of_leaves(), tree_of_leaves(threshold=6), tree_of_leaves(more=2)]
    options = CombineOptions(
        method=method,
        model=model if method != "votes" else "tree",
        seed=2,
    )
    one, other = combine(trees, options), combine(trees, options)
    assert one == other
    assert one.model.schema == SCHEMA
    classes = trees[0].predict(grid())
    least = 0.5 if model == "conjunctive" and options.draws else 0.8
    assert accuracy(one.model, grid(), classes).value > least
    assert one.records == 4 * 257
    assert one.pseudo_records == (4 * 257 if options.draws else 0)
    assert one.owners == ("owner 1", "owner 2", "owner 3")


def test_pseudo_data_are_the_records_that_are_learned_from():
    trees = [tree_of_leaves(), tree_of_leaves(threshold=7)]
    options = CombineOptions(seed=5)
    found = pseudo_data(trees, options, stream(5))
    assert found.records == combine(trees, options).pseudo_records


def test_what_cannot_be_combined_is_refused():
    with pytest.raises(ModelError):
        combine([])
    other = TreeSchema(SCHEMA.target, (COLOUR,))
    with pytest.raises(ModelError):
        combine([tree_of_leaves(), SharedTree(other, Leaf(0, 1, 0))])
    with pytest.raises(ModelError):
        VotesModel(())
    with pytest.raises(OptionError):
        combine([tree_of_leaves()], owners=["a", "b"])
    with pytest.raises(OptionError):
        pseudo_data([tree_of_leaves()], CombineOptions(method="votes"), stream(0))
    with pytest.raises(LimitExceeded):
        combine([tree_of_leaves(more=1e5)])
    few = CombineOptions(pseudo_records=100)
    assert combine([tree_of_leaves(more=1e5)], few).pseudo_records == 100
    for wrong in ({"method": "magic"}, {"model": "magic"}, {"seed": -1}, {"scale": 0.0}):
        with pytest.raises(OptionError):
            CombineOptions(**wrong)


def doubtful(more: float = 1) -> SharedTree:
    """Return a tree of which no leaf is sure: 8 of 10 are of its class, or 6 of 10."""
    leaves = [Leaf.of(tuple(more * n for n in c)) for c in ((80, 10, 10), (20, 120, 60))]
    low, high = Interval(up_to=5), Interval(above=5)
    return SharedTree(SCHEMA, Split("size", ((low, leaves[0]), (high, leaves[1]))))


@pytest.mark.parametrize("scale", [1, 5])
@pytest.mark.parametrize("model", ["tree", "conjunctive"])
@pytest.mark.parametrize("method", ["labelled", "pgen"])
def test_a_model_is_as_sure_as_the_trees_and_counts_their_people(method, model, scale):
    """Not as sure as pseudo-records that are all of one class, however many of them are drawn."""
    pytest.importorskip("sklearn")
    trees = [doubtful(), doubtful(2)]
    depth = {} if model == "conjunctive" else {"max_depth": 1}
    options = CombineOptions(method=method, model=model, scale=scale, **depth)
    made = combine(trees, options)
    told = made.model.probabilities(grid())
    known = VotesModel(tuple(trees)).probabilities(grid())
    if model == "tree":
        # Pseudo-records near a threshold may lie on its other side, and pgen draws classes.
        assert np.abs(told - known).mean() < 0.03
    assert told.max() < 0.85
    if model == "tree":
        assert made.model.records == pytest.approx(900)
    if model == "conjunctive":
        assert sum(made.model.covered) + sum(made.model.others) == pytest.approx(900)
    assert "count the people" in made.notes[0]


# One schema for several owners' trees.


def tree(
    *attributes: Attribute, classes: tuple[str, ...] = ("a", "b"), target: str = "class"
) -> SharedTree:
    return SharedTree(TreeSchema(Variable(target, classes), attributes), Leaf(0, 3, 1))


def test_ranges_categories_and_classes_are_joined_in_the_order_they_occur():
    one = tree(
        NumericAttribute("size", 0, 5, whole=True),
        CategoricalAttribute("colour", ("red", "green", "grey")),
        classes=("b", "a", "x"),
    )
    two = tree(
        CategoricalAttribute("colour", ("blue", "red", "green")),
        NumericAttribute("size", -1, 4),
        classes=("c", "a", "b"),
    )
    assert common_schema([one, two]) == TreeSchema(
        Variable("class", ("b", "a", "x", "c")),
        (
            NumericAttribute("size", -1, 5, whole=False),
            CategoricalAttribute("colour", ("red", "green", "grey", "blue")),
        ),
    )
    assert common_schema([one, one]) == one.schema


WIDE_SIZE = NumericAttribute("size", 0, 5)

CODED_ALIKE = [
    [("low", "high"), ("low", "high")],
    [("high", "low"), ("low", "high")],  # in another order
    [("low", "high"), ("low",)],  # a value that does not occur
    [("0", "1", "2"), ("1", "2", "3")],  # rare values at both ends
    [("a",), ("b",), ("a", "b", "c")],
]
CODED_DIFFERENTLY = [
    [("low", "high"), ("LOW", "HIGH")],
    [("low", "high", "unknown"), ("Low", "High", "unknown")],
    [("0", "1"), ("1", "2")],
    [("True", "False"), ("1", "0")],
    [("m", "f"), ("m", "f"), ("m", "w")],
    [("1", "2", "3", "4", "5"), ("1.0", "2.0")],
]


def coded(labels):
    """Return a tree of each owner whose class, or whose attribute, has these labels."""
    yield [tree(WIDE_SIZE, classes=(*own,)) for own in labels if len(own) > 1]
    yield [tree(CategoricalAttribute("risk", own), WIDE_SIZE) for own in labels]


@pytest.mark.parametrize("labels", CODED_ALIKE)
def test_owners_who_miss_a_rare_category_are_combined(labels):
    of_class, of_attribute = map(common_schema, coded(labels))
    every = {label for own in labels for label in own}
    assert set(of_attribute["risk"].categories) == every
    assert set(of_class.target.categories) == every


@pytest.mark.parametrize("labels", CODED_DIFFERENTLY)
def test_owners_who_code_a_variable_differently_are_refused(labels):
    names = [f"clinic-{place}" for place in range(len(labels))]
    for trees, where in zip(coded(labels), ("class", "risk"), strict=True):
        for order in (1, -1):
            with pytest.raises(DomainError) as refused:
                common_schema(trees[::order], names[::order])
            assert refused.value.where == where
            # The owners and the labels are named.
            assert sum(name in str(refused.value) for name in names) == 2
            assert str(labels[-1][0]) in str(refused.value)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((40, 120), (88, 265)),  # kilograms, pounds
        ((17, 45), (12_000, 32_000)),  # body mass index from metres, from inches
        ((0, 95), (0, 1_140)),  # years, months
        ((0, 1), (1, 2)),  # codes
        ((2.2, 25), (40, 450)),  # glucose in mmol/l, in mg/dl
        ((35, 41), (95, 106)),  # Celsius, Fahrenheit
    ],
)
def test_other_units_are_noticed(one, other):
    assert units_warning("x", {"south": other, "north": one}) is not None
    warned = units_warning("x", {"north": one, "west": one, "south": other})
    assert warned is not None
    assert "north" in warned
    assert "south" in warned
    assert units_warning("x", {"north": one, "west": one}) is None


@pytest.mark.parametrize(
    ("trees", "where"),
    [
        ([], "trees"),
        ([tree(WIDE_SIZE), tree(WIDE_SIZE, target="other")], "other"),
        ([tree(WIDE_SIZE), tree(WIDE_SIZE, NumericAttribute("age", 0, 9))], "age"),
        ([tree(WIDE_SIZE), tree(CategoricalAttribute("size", ("s", "l")))], "size"),
    ],
)
def test_trees_that_contradict_one_another_are_refused(trees, where):
    with pytest.raises(ModelError) as refused:
        common_schema(trees)
    assert refused.value.where == where


def test_a_tree_in_a_wider_schema_says_the_same():
    colour = CategoricalAttribute("colour", ("red", "green"))
    parts = ((Values((0,)), Leaf.of((1.0, 4.0))), (Values((1,)), Leaf(0, 90, 2)))
    small = SharedTree(
        TreeSchema(Variable("class", ("a", "b")), (colour, WIDE_SIZE)), Split("colour", parts)
    )
    other = tree(
        CategoricalAttribute("colour", ("blue", "green", "red")), WIDE_SIZE, classes=("b", "c", "a")
    )
    schema = common_schema([other, small])
    wide = in_schema(small, schema)
    assert wide.schema.target.categories == ("b", "c", "a")
    assert [leaf.classes(3).tolist() for leaf in wide.leaves] == [[4, 0, 1], [1, 1, 90]]
    everything = MixedTable(
        (
            CategoricalColumn("colour", [2, 1, 0], ("blue", "green", "red")),
            NumericColumn("size", [1, 1, 1]),
        ),
        3,
    )
    # What it does not know, blue, is where most of its records are.
    assert wide.predict(everything).tolist() == [0, 2, 2]
    assert in_schema(wide, schema) is wide
