"""Counts carried from the leaves to the root: equation (1), worked by hand, and exact ones."""

import numpy as np
import pytest

from pramana_core.domain import Variable
from pramana_core.errors import ModelError
from pramana_core.model_sharing.attributes import CategoricalAttribute, TreeSchema
from pramana_core.model_sharing.merging import branches_of, join_by_hits, join_exactly
from pramana_core.model_sharing.tree import Leaf, SharedTree, Split, Values
from tests.shared.model_sharing.anonymity.trees import by_city, leaf, tree


def test_equation_1_by_hand():
    """The path of figure 2, 14 hits and 6 misses of three classes, and two beside it.

    Class 1: 14 + 5 hits and half of 2 misses, 20; class 2: 8 and half of 6, 11; class 3: 3 + 1.
    """
    root = Split(
        "work",
        (
            (Values((0,)), Leaf(0, 14, 6)),
            (Values((1,)), Leaf(1, 8, 2)),
            (Values((2, 3)), Leaf(0, 5, 0)),
        ),
    )
    assert branches_of(tree(root), join_by_hits)[0].cut == Leaf(0, 20, 15)


def test_equation_1_spreads_anew_at_each_level():
    """What is below has (20, 15), told as hits and misses: its misses are spread again.

    Beside 30 hits of class 3: class 1 has 20 + 0, class 2 7.5, class 3 30 + 7.5.
    """
    below = Split(
        "work",
        (
            (Values((0,)), Leaf(0, 14, 6)),
            (Values((1,)), Leaf(1, 8, 2)),
            (Values((2, 3)), Leaf(0, 5, 0)),
        ),
    )
    root = Split("city", ((Values((0, 1)), below), (Values((2, 3, 4)), Leaf(2, 30, 0))))
    assert branches_of(tree(root), join_by_hits)[0].cut == Leaf(2, 37.5, 27.5)


def test_equation_1_may_tell_a_class_that_is_not_the_most_frequent():
    """Misses that are all of one class are taken for half of another."""
    grown = by_city(*[leaf(10, 9, 0)] * 2, *[leaf(0, 0, 4)] * 3)
    exact = branches_of(grown, join_exactly)[0].cut
    assert exact.distribution == (20, 18, 12)
    # Class 3 is told 12 + 9 records, which it does not have.
    assert branches_of(grown, join_by_hits)[0].cut == Leaf(2, 21, 29)


def test_of_a_tie_the_first_class_is_told_though_thirds_are_rounded():
    """Classes 2 and 3 both have 77 / 3: 19 and (12 + 8) / 3, or 14 + 7 and 14 / 3."""
    schema = TreeSchema(
        Variable("ill", ("a", "b", "c", "d")), (CategoricalAttribute("ward", ("x", "y", "z")),)
    )
    parts = (Leaf(2, 14, 12), Leaf(2, 7, 8), Leaf(1, 19, 14))
    root = Split("ward", tuple((Values((code,)), part) for code, part in enumerate(parts)))
    cut = branches_of(SharedTree(schema, root), join_by_hits)[0].cut
    assert cut.label == 1
    assert cut.hit == pytest.approx(77 / 3)


def test_exact_counts_are_the_sums():
    grown = by_city(leaf(1, 2, 3), leaf(4, 0, 0), leaf(0, 0, 7), leaf(0, 1, 0), leaf(2, 2, 2))
    root = branches_of(grown, join_exactly)[0]
    assert root.cut == Leaf.of((7.0, 5.0, 12.0))
    assert np.array_equal(root.counts, [7, 5, 12])
    assert root.leaves == 5
    assert root.hits == 3 + 4 + 7 + 1 + 2


def test_exact_counts_need_all_classes():
    with pytest.raises(ModelError, match="hits and misses only"):
        branches_of(by_city(*[Leaf(0, 5, 1)] * 5), join_exactly)
