"""What the threat model says that shared trees tell, each played against trees that are made."""

from __future__ import annotations

import numpy as np
import pytest

from pramana_core.domain import Variable
from pramana_core.errors import ModelError
from pramana_core.mixed import CategoricalColumn, MixedTable
from pramana_core.model_sharing.attributes import CategoricalAttribute, TreeSchema
from pramana_core.model_sharing.conditions import Values
from pramana_core.model_sharing.exchange.protection import promised
from pramana_core.model_sharing.global_models.votes import VotesModel
from pramana_core.model_sharing.growing import grow_tree
from pramana_core.model_sharing.requirements import Requirement, meets, released_form
from pramana_core.model_sharing.tree import Leaf, SharedTree, Split

WARD = CategoricalAttribute("ward", ("north", "south"))
SCHEMA = TreeSchema(Variable("ill", ("no", "flu", "asthma")), (WARD,))


def table_of(wards: np.ndarray) -> MixedTable:
    return MixedTable((CategoricalColumn("ward", wards, WARD.categories),), len(wards))


def clinic() -> tuple[np.ndarray, np.ndarray]:
    """75 patients of each ward: 45 of a class of its own, 15 of each other, shuffled."""
    order = np.random.default_rng(4).permutation(150)
    wards = np.repeat([0, 1], 75)[order]
    classes = np.repeat([0, 1, 2, 1, 0, 2], [45, 15, 15, 45, 15, 15])[order]
    return wards, classes


def left_with(wards: np.ndarray, classes: np.ndarray) -> SharedTree:
    asked = Requirement(k=20, c=3, l=2)
    return released_form(grow_tree(SCHEMA, table_of(wards), classes, requirement=asked))


def test_two_trees_that_differ_by_one_record_give_its_path_and_class_away():
    wards, classes = clinic()
    before = left_with(wards, classes)
    for record in range(len(wards)):
        after = left_with(np.delete(wards, record), np.delete(classes, record))
        lost = [
            (place, one.hit - two.hit, one.miss - two.miss)
            for place, (one, two) in enumerate(zip(before.leaves, after.leaves, strict=True))
            if one != two
        ]
        ((place, hit, miss),) = lost
        assert place == before.leaf_of(table_of(wards[[record]]))[0]
        of_the_class = classes[record] == before.leaves[place].label
        assert (hit, miss) == ((1, 0) if of_the_class else (0, 1))


def test_by_equal_votes_one_of_five_owners_has_a_fifth():
    """Whatever it sends."""
    honest = tree_of(Leaf(0, 40, 10), Leaf(1, 40, 10))
    liar = tree_of(Leaf(2, 1e6, 0), Leaf(2, 1e6, 0))
    people = table_of(np.array([0, 1]))
    alone = VotesModel([honest] * 4 + [honest]).probabilities(people)
    equal = VotesModel([honest] * 4 + [liar]).probabilities(people)
    assert np.abs(equal - alone).max() <= 1 / 5
    assert VotesModel([honest] * 4 + [liar]).predict(people).tolist() == [0, 1]


def test_what_hits_and_misses_cannot_show_cannot_be_checked():
    """A promise of exact diversity needs the counts of all classes; without them it is not made."""
    tree = tree_of(Leaf(0, 50, 30, (50, 15, 15)), Leaf(1, 50, 30, (15, 50, 15)))
    asked = Requirement(k=20, c=4, l=3)
    assert promised(tree, asked) == asked
    told = released_form(tree)
    with pytest.raises(ModelError):
        meets(told, asked)
    assert promised(told, asked) == asked.by_hits


def tree_of(north: Leaf, south: Leaf) -> SharedTree:
    return SharedTree(SCHEMA, Split("ward", ((Values((0,)), north), (Values((1,)), south))))


def test_k_alone_is_met_where_everybody_on_a_path_has_one_class():
    wards = np.repeat([0, 1], 50)
    asked = Requirement(k=50)
    tree = grow_tree(SCHEMA, table_of(wards), wards, requirement=asked)
    assert meets(tree, asked)
    assert all(leaf.miss == 0 for leaf in tree.leaves)
    assert not any(Requirement(c=1000, l=2).met_by(leaf) for leaf in tree.leaves)


def test_misses_of_one_class_meet_the_form_by_hits_and_not_the_exact_one():
    """Of 30 misses all are of one class: who can rule it out knows the class."""
    leaf = Leaf(0, 50, 30, (50, 30, 0))
    assert Requirement(c=4, l=3, exact=False).met_by(leaf)
    assert not Requirement(c=4, l=3).met_by(leaf)
