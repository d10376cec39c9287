"""One schema for several owners' trees."""

from __future__ import annotations

import pytest

from pramana_core.domain import Variable
from pramana_core.errors import DomainError, ModelError
from pramana_core.mixed.table import CategoricalColumn, MixedTable, NumericColumn
from pramana_core.model_sharing.attributes import (
    Attribute,
    CategoricalAttribute,
    NumericAttribute,
    Taxonomy,
    TreeSchema,
)
from pramana_core.model_sharing.combination.schemas import common_schema, in_schema
from pramana_core.model_sharing.tree import Leaf, SharedTree, Split, Values

WARM = Taxonomy((("warm",), ("cold",)))


def tree(
    *attributes: Attribute, classes: tuple[str, ...] = ("a", "b"), target: str = "class"
) -> SharedTree:
    return SharedTree(TreeSchema(Variable(target, classes), attributes), Leaf(0, 3, 1))


def test_ranges_categories_and_classes_are_joined_in_the_order_they_occur():
    one = tree(
        NumericAttribute("size", 0, 5, whole=True),
        CategoricalAttribute("colour", ("red", "green")),
        classes=("b", "a"),
    )
    two = tree(
        CategoricalAttribute("colour", ("blue", "red")),
        NumericAttribute("size", -1, 4),
        classes=("c", "a"),
    )
    assert common_schema([one, two]) == TreeSchema(
        Variable("class", ("b", "a", "c")),
        (
            NumericAttribute("size", -1, 5, whole=False),
            CategoricalAttribute("colour", ("red", "green", "blue")),
        ),
    )
    assert common_schema([one, one]) == one.schema


@pytest.mark.parametrize(
    ("taxonomies", "kept"),
    [
        ((WARM, WARM), WARM),
        ((WARM, None), WARM),
        ((WARM, Taxonomy((("x",), ("y",)))), None),
        ((None, None), None),
    ],
)
def test_a_taxonomy_is_kept_where_all_agree(taxonomies, kept):
    trees = [tree(CategoricalAttribute("colour", ("red", "blue"), t)) for t in taxonomies]
    found = common_schema(trees)["colour"]
    assert isinstance(found, CategoricalAttribute)
    assert found.taxonomy == kept


def test_a_taxonomy_of_other_categories_is_dropped():
    one = tree(CategoricalAttribute("colour", ("red", "blue"), WARM))
    two = tree(CategoricalAttribute("colour", ("red", "green"), WARM))
    found = common_schema([one, two])["colour"]
    assert found == CategoricalAttribute("colour", ("red", "blue", "green"))


SIZE = NumericAttribute("size", 0, 5)


@pytest.mark.parametrize(
    ("trees", "told"),
    [
        ([], "at least one tree"),
        ([tree(SIZE), tree(SIZE, target="other")], "One tree tells 'class', another 'other'"),
        ([tree(SIZE), tree(SIZE, NumericAttribute("age", 0, 9))], r"\['age'\] are not in all"),
        ([tree(SIZE), tree(CategoricalAttribute("size", ("s", "l")))], "numbers in one tree"),
    ],
)
def test_trees_that_contradict_one_another_are_refused(trees, told):
    with pytest.raises(ModelError, match=told):
        common_schema(trees)


def test_classes_of_which_none_is_in_common_are_refused():
    english, german = tree(SIZE, classes=("yes", "no")), tree(SIZE, classes=("ja", "nein"))
    for trees in ([english, german], [english, german, english, german]):
        with pytest.raises(DomainError, match="no class of 'class' in common"):
            common_schema(trees)
    # The order does not matter, and what a third tree joins is joined.
    both = tree(SIZE, classes=("nein", "no"))
    for trees in ([english, german, both], [both, english, german]):
        assert common_schema(trees).classes == 4


def test_a_tree_in_a_wider_schema_says_the_same():
    colour = CategoricalAttribute("colour", ("red", "green"))
    parts = ((Values((0,)), Leaf.of((1.0, 4.0))), (Values((1,)), Leaf(0, 90, 2)))
    small = SharedTree(
        TreeSchema(Variable("class", ("a", "b")), (colour, SIZE)), Split("colour", parts)
    )
    other = tree(CategoricalAttribute("colour", ("blue", "green", "red")), SIZE, classes=("b", "c"))
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


def test_a_schema_that_lacks_something_of_a_tree_is_refused():
    small = tree(CategoricalAttribute("colour", ("red", "green")))
    narrow = tree(CategoricalAttribute("colour", ("red",))).schema
    with pytest.raises(ModelError, match=r"lacks the categories \['green'\]"):
        in_schema(small, narrow)
