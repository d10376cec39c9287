"""Trees that grow with a requirement always meet it; without a way to, they are refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pramana_core.domain import Variable
from pramana_core.errors import RequirementUnmet
from pramana_core.mixed import CategoricalColumn, MixedTable
from pramana_core.model_sharing.attributes import CategoricalAttribute, TreeSchema
from pramana_core.model_sharing.growing import GrowthOptions, grow_tree
from pramana_core.model_sharing.requirements import Requirement, meets
from tests.shared.model_sharing.random_trees import labels, random_schema, random_table, random_tree

REQUIREMENTS = st.builds(
    lambda k, c, diversity, exact: Requirement(k, c if diversity else None, diversity, exact=exact),
    st.integers(1, 12),
    st.sampled_from([0.5, 1, 2, 5, 10]),
    st.sampled_from([None, 2, 3]),
    st.booleans(),
)


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1), REQUIREMENTS)
def test_a_tree_meets_what_it_was_grown_with(seed: int, requirement: Requirement):
    rng = np.random.default_rng(seed)
    schema = random_schema(rng, classes=int(rng.integers(3, 5)))
    table = random_table(rng, schema, int(rng.integers(5, 120)))
    classes = rng.integers(0, schema.classes, table.records)
    try:
        tree = grow_tree(schema, table, classes, requirement=requirement)
    except RequirementUnmet:
        return
    assert meets(tree, requirement)
    assert len(tree.leaves) >= 2
    counts = np.zeros((len(tree.leaves), schema.classes))
    np.add.at(counts, (tree.leaf_of(table), classes), 1)
    assert np.array_equal(tree.class_counts, counts)


def wards() -> tuple[TreeSchema, MixedTable, np.ndarray]:
    """Ward a has one class only; b and c have all, in different shares."""
    codes = np.repeat([0, 1, 2], 60)
    classes = np.concatenate([np.repeat(0, 60), np.repeat([0, 1, 2], 20), np.repeat([1, 2], 30)])
    schema = TreeSchema(Variable("t", labels(3)), (CategoricalAttribute("c", labels(3)),))
    return schema, MixedTable((CategoricalColumn("c", codes, labels(3)),), 180), classes


def test_a_part_of_one_class_is_mixed_with_another():
    schema, table, classes = wards()
    free = grow_tree(schema, table, classes)
    assert (60, 0, 0) in {leaf.distribution for leaf in free.leaves}
    tree = grow_tree(schema, table, classes, requirement=Requirement(c=5, l=2))
    assert {leaf.distribution for leaf in tree.leaves} == {(80, 20, 20), (0, 30, 30)}


@pytest.mark.parametrize(
    "requirement",
    [
        Requirement(k=181),
        Requirement(k=91),
        Requirement(c=0.5, l=3),
        Requirement(c=1.8, l=2, k=70),
    ],
)
def test_where_no_split_meets_it_it_is_refused(requirement: Requirement):
    with pytest.raises(RequirementUnmet) as error:
        grow_tree(*wards(), requirement=requirement)
    assert error.value.remedy


def test_growth_with_a_requirement_needs_no_scikit_learn_and_keeps_its_options():
    rng = np.random.default_rng(5)
    schema = random_schema(rng, classes=3)
    table = random_table(rng, schema, 400)
    classes = random_tree(rng, schema).predict(table)
    options = GrowthOptions(max_depth=2, min_leaf=30)
    tree = grow_tree(schema, table, classes, options, requirement=Requirement(k=2))
    assert tree == grow_tree(schema, table, classes, options, requirement=Requirement(k=2))
    assert len(tree.leaves) <= 4
    assert min(leaf.records for leaf in tree.leaves) >= 30


def test_what_chance_brings_is_not_split():
    rng = np.random.default_rng(8)
    schema, table, _ = wards()
    classes = rng.permutation(np.repeat([0, 1, 2], 60))
    with pytest.raises(RequirementUnmet):
        grow_tree(schema, table, classes, requirement=Requirement(k=1))
    # The negative control: the classes of the wards are no chance.
    assert grow_tree(*wards(), requirement=Requirement(k=1)).leaves
