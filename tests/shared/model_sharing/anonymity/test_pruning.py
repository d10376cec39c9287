"""Pruning: what is always so, and each way of merging on trees small enough to see."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pramana_core.domain import Variable
from pramana_core.errors import ModelError, OptionError, RequirementUnmet
from pramana_core.model_sharing.attributes import CategoricalAttribute, TreeSchema
from pramana_core.model_sharing.conditions import Interval, Values
from pramana_core.model_sharing.pruning import (
    PropagatedCounts,
    branch_of,
    join_by_hits,
    join_exactly,
    prune,
)
from pramana_core.model_sharing.requirements import Requirement, meets, released_form
from pramana_core.model_sharing.tree import Leaf, Node, SharedTree, Split
from tests.shared.model_sharing.anonymity.trees import by_age, by_city, leaf, tree, trees

REQUIREMENTS = st.builds(
    lambda k, cl, exact: Requirement(k, *cl, exact) if k or cl[0] else Requirement(k=2),
    st.none() | st.integers(1, 40),
    st.just((None, None)) | st.tuples(st.sampled_from([1.0, 2.0, 5.0, 20.0]), st.integers(2, 3)),
    st.booleans(),
)
COUNTS = st.sampled_from(["exact", "propagated"])


def fits(requirement: Requirement, counts: PropagatedCounts) -> bool:
    return counts == "exact" or requirement.c is None or not requirement.exact


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(trees(), REQUIREMENTS, COUNTS)
def test_what_is_pruned_meets_the_requirement_or_is_refused(
    grown: SharedTree, requirement: Requirement, counts: PropagatedCounts
):
    if not fits(requirement, counts):
        return
    try:
        pruned = prune(grown, requirement, counts)
    except RequirementUnmet:
        assert not meets(grown, requirement)
        return
    assert meets(pruned, requirement)
    assert isinstance(pruned.root, Split)
    assert len(pruned.leaves) >= 2
    assert pruned.records == pytest.approx(grown.records)
    if counts == "exact":
        assert np.array_equal(pruned.class_counts.sum(axis=0), grown.class_counts.sum(axis=0))
    if meets(grown, requirement):
        assert pruned == grown


MIXED = leaf(6, 4, 2)
MIXED_CITY = by_city(*[MIXED] * 5)


def parts_of(pruned: SharedTree) -> dict[tuple[int, ...], Node]:
    assert isinstance(pruned.root, Split)
    return {c.codes: one for c, one in pruned.root.parts if isinstance(c, Values)}


def test_the_fewest_are_those_that_suffice_and_lose_least():
    # With the class of its own, nothing is lost; with another, 12 hits or 9.
    grown = by_age(leaf(12, 0, 0), leaf(0, 9, 4), leaf(9, 4, 2), leaf(0, 12, 4))
    assert isinstance(grown.root, Split)
    side_by_side = prune(grown, Requirement(c=5, l=2))
    # Only what is beside an interval can be merged with it, though it loses 9 hits.
    assert isinstance(side_by_side.root, Split)
    assert [part for part, _ in side_by_side.root.parts] == [
        Interval(up_to=20), *(part for part, _ in grown.root.parts[2:]),
    ]  # fmt: skip
    work = tree(Split("work", tuple((Values((n,)), one) for n, one in enumerate(grown.leaves))))
    any_of = prune(work, Requirement(c=5, l=2))
    assert parts_of(any_of) == {
        (0, 2): leaf(21, 4, 2), (1,): leaf(0, 9, 4), (3,): leaf(0, 12, 4),
    }  # fmt: skip


def test_the_fewest_of_many_categories_are_found():
    """So many categories that not all sets of them are tried; k needs four of them."""
    names = tuple(f"c{n}" for n in range(60))
    schema = TreeSchema(Variable("y", ("a", "b")), (CategoricalAttribute("x", names),))
    leaves = [Leaf.of((3.0, 0.0) if n % 3 else (0.0, 3.0)) for n in range(60)]
    grown = SharedTree(
        schema, Split("x", tuple((Values((n,)), one) for n, one in enumerate(leaves)))
    )
    pruned = prune(grown, Requirement(k=10))
    assert meets(pruned, Requirement(k=10))
    assert len(pruned.leaves) == 15
    assert sum(leaf.hit for leaf in pruned.leaves) == 180


@pytest.mark.parametrize(
    ("grown", "asked", "error", "where"),
    [
        (MIXED_CITY, (Requirement(c=5, l=2), "propagated"), OptionError, "counts"),
        (MIXED_CITY, (Requirement(k=5), "guessed"), OptionError, "counts"),
        (MIXED_CITY, (Requirement(k=1000),), RequirementUnmet, "city"),
        (tree(MIXED), (Requirement(k=1),), RequirementUnmet, None),
    ],
)
def test_what_cannot_be_pruned_is_refused(grown: SharedTree, asked: Any, error: Any, where: str):
    with pytest.raises(error) as refused:
        prune(grown, *asked)
    assert refused.value.where == where


# Counts carried from the leaves to the root: equation (1), worked by hand, and exact ones.


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
    assert branch_of(tree(root).root, 3, join_by_hits).cut == Leaf(0, 20, 15)


def test_exact_counts_need_all_classes():
    with pytest.raises(ModelError):
        branch_of(by_city(*[Leaf(0, 5, 1)] * 5).root, 3, join_exactly)


# What leaves an owner: hits and misses, or distributions.


def test_hits_and_misses_tell_no_other_class():
    told = released_form(MIXED_CITY)
    assert set(told.leaves) == {Leaf(0, 6, 6)}
    assert all(one.distribution is None for one in told.leaves)
    assert [p.conditions for p in told.paths()] == [p.conditions for p in MIXED_CITY.paths()]


def test_distributions_are_told_if_there_are_some():
    assert released_form(MIXED_CITY, "distribution") == MIXED_CITY
    with pytest.raises(ModelError):
        released_form(by_city(*[Leaf(0, 6, 6)] * 5), "distribution")
    with pytest.raises(OptionError):
        released_form(MIXED_CITY, "records")
