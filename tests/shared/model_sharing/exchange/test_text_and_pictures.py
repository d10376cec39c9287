"""Conditions in words, and trees and models as text and pictures."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings

from pramana_core.model_sharing.conditions import Interval, Values
from pramana_core.model_sharing.exchange.drawing import MOST_DRAWN, draw_shared_tree
from pramana_core.model_sharing.exchange.text import write_model_text, write_shared_tree_text
from pramana_core.model_sharing.tree import Leaf, SharedTree, Split
from tests.shared.model_sharing.exchange.drawn_trees import SCHEMA, SHARED_TREES
from tests.shared.model_sharing.exchange.test_models import BY_COLOUR, HIGH, LOW, MODELS
from tests.shared.pictures.reading import texts


def test_a_tree_as_text():
    assert write_shared_tree_text(BY_COLOUR) == (
        "|--- colour = red or blue\n"
        "|   |--- size <= 2.5: a (3 of 4.1 records; b 1, c 0.1)\n"
        "|   |--- size > 2.5: b (5 of 6 records)\n"
        "|--- colour = green: b (5 of 6 records)\n"
    )
    assert write_shared_tree_text(BY_COLOUR, most_lines=2).endswith(
        "(The remaining lines are omitted; the JSON has them.)\n"
    )


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(SHARED_TREES)
def test_every_leaf_is_told_and_drawn(tree: SharedTree):
    said = write_shared_tree_text(tree)
    assert said.count("record") == len(tree.leaves)
    if len(tree.leaves) > MOST_DRAWN:
        return
    drawn = draw_shared_tree(tree).svg()
    found = texts(drawn)
    assert sum(" of " in words and "record" in words for words in found) == len(tree.leaves)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())
def test_every_model_has_text(model):
    assert "colour" in write_model_text(model)


def wide_tree(parts: int) -> SharedTree:
    ends = [-math.inf, *np.arange(parts - 1.0), math.inf]
    leaves = [(Interval(a, b), Leaf.of((1.0, 0, 0))) for a, b in pairwise(ends)]
    return SharedTree(SCHEMA, Split("age", tuple(leaves)))


def test_large_trees_are_cut_and_say_so():
    found = texts(draw_shared_tree(wide_tree(500)).svg())
    assert "441 more parts with 441 paths and 441 records omitted" in found
    deep = SharedTree(
        SCHEMA, Split("colour", tuple((Values((c,)), wide_tree(40).root) for c in range(3)))
    )
    found = texts(draw_shared_tree(deep).svg())
    assert found.count("40 paths omitted, 40 records") == 3
    assert "Splits below level 1 are omitted." in found


def test_names_cannot_leave_the_picture():
    asked = "<&> \N{SNOWMAN}"
    tree = SharedTree(SCHEMA, Split(asked, ((Values((0,)), LOW), (Values((1,)), HIGH))))
    drawn = draw_shared_tree(tree).svg()
    assert "<&>" not in drawn
    assert asked in texts(drawn)
