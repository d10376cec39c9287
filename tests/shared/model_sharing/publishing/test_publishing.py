"""Full-domain generalization: hierarchies by rule, what groups meet, and the search."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pramana_core.domain import Variable
from pramana_core.errors import DomainError, OptionError, RequirementUnmet, TableError
from pramana_core.mixed import CategoricalColumn, MixedTable, NumericColumn
from pramana_core.model_sharing.attributes import (
    CategoricalAttribute,
    NumericAttribute,
    Taxonomy,
    TreeSchema,
)
from pramana_core.model_sharing.requirements import (
    ANY,
    Cells,
    Groups,
    Hierarchy,
    Requirement,
    best_levels,
    generalized,
    hierarchies_of,
    hierarchy_of,
)
from pramana_core.model_sharing.tree import Leaf

COLOURS = CategoricalAttribute(
    "colour", ("red", "blue", "green"), Taxonomy((("warm",), ("cold",), ("cold",)))
)
SIZES = CategoricalAttribute("size", ("s", "m"))
SCHEMA = TreeSchema(Variable("class", ("no", "maybe", "yes")), (COLOURS, SIZES))


def records(colours, sizes):
    return MixedTable(
        (
            CategoricalColumn("colour", np.array(colours), COLOURS.categories),
            CategoricalColumn("size", np.array(sizes), SIZES.categories),
        ),
        len(colours),
    )


def test_categories_go_up_by_their_taxonomy_and_end_as_one():
    found = hierarchy_of(COLOURS)
    assert found.levels == (COLOURS.categories, ("warm", "cold", "cold"), (ANY,) * 3)
    assert hierarchy_of(SIZES).height == 1
    column = CategoricalColumn("colour", np.array([2, 0, 1]), COLOURS.categories)
    assert found.at(column, 1).codes.tolist() == [1, 0, 1]
    assert found.at(column, 1).categories == ("warm", "cold")
    assert found.at(column, 2).categories == (ANY,)


def test_numbers_go_up_by_intervals_that_grow_fourfold():
    found = hierarchy_of(NumericAttribute("age", 0, 64))
    assert [len(found.categories(level)) for level in range(found.height + 1)] == [32, 8, 2, 1]
    values = NumericColumn("age", np.array([-5.0, 2.0, 2.1, 32.0, 32.1, 99.0]))
    assert found.base(values).tolist() == [0, 0, 1, 15, 16, 31]
    assert found.at(values, 2).codes.tolist() == [0, 0, 0, 0, 1, 1]
    assert found.at(values, 2).categories == ("(0, 32]", "(32, 64]")


def test_a_hierarchy_must_end_as_one_and_never_part_what_is_one():
    with pytest.raises(DomainError, match="all the same at the last"):
        Hierarchy(SIZES, (("s", "m"),))
    with pytest.raises(DomainError, match="must stay one"):
        Hierarchy(SIZES, (("x", "x"), ("s", "m"), (ANY, ANY)))


def test_a_column_of_another_kind_is_refused():
    with pytest.raises(TableError, match="not of the kind"):
        hierarchy_of(SIZES).base(NumericColumn("size", np.array([1.0])))


def test_generalized_records_have_the_names_of_their_levels():
    hierarchies = hierarchies_of(SCHEMA)
    schema, table = generalized(
        SCHEMA, hierarchies, {"colour": 1, "size": 1}, records([0, 1, 2], [0, 1, 0])
    )
    assert [a.categories for a in schema.attributes] == [("warm", "cold"), (ANY,)]
    assert table["colour"].codes.tolist() == [0, 1, 1]


counts = st.lists(
    st.lists(st.integers(0, 6), min_size=3, max_size=3).filter(any), min_size=1, max_size=6
)


@given(counts, st.sampled_from([None, 2, 5]), st.sampled_from([None, 1, 2, 5]), st.integers(2, 3))
@settings(max_examples=40, deadline=None)
def test_groups_meet_what_their_leaves_meet(table, k, c, diverse):
    """A different method: each group as a leaf, judged by the requirement itself."""
    if k is None and c is None:
        return
    asked = Requirement(k, c, diverse if c is not None else None)
    leaves = [Leaf.of(tuple(map(float, row))) for row in table]
    assert Groups.of(np.array(table, dtype=float)).meet(asked) == all(map(asked.met_by, leaves))


def test_more_classes_than_there_are_is_met_by_nothing():
    assert not Groups.of(np.array([[5.0, 5.0]])).meet(Requirement(c=100, l=3))


def drawn(seed: int, size: int = 60):
    rng = np.random.default_rng(seed)
    table = records(rng.integers(0, 3, size), rng.integers(0, 2, size))
    classes = (table["colour"].codes + rng.integers(0, 2, size)) % 3
    return table, classes


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("asked", [Requirement(k=8), Requirement(c=3, l=2), Requirement(c=6, l=3)])
def test_the_search_finds_the_best_of_all_generalizations(seed, asked):
    """Against brute force over every combination of levels."""
    table, classes = drawn(seed)
    hierarchies = hierarchies_of(SCHEMA)
    cells = Cells.of(hierarchies, table, classes, 3)
    best = -1.0
    for levels in itertools.product(*(range(h.height + 1) for h in hierarchies)):
        names = {h.attribute.name: level for h, level in zip(hierarchies, levels, strict=True)}
        _, public = generalized(SCHEMA, hierarchies, names, table)
        groups: dict[tuple[int, ...], list[int]] = {}
        for row, code in zip(
            zip(*(c.codes.tolist() for c in public.columns), strict=True), classes, strict=True
        ):
            groups.setdefault(row, [0, 0, 0])[code] += 1
        leaves = [Leaf.of(tuple(map(float, group))) for group in groups.values()]
        if all(map(asked.met_by, leaves)):
            best = max(best, sum(leaf.hit for leaf in leaves))
    if best < 0:
        with pytest.raises(RequirementUnmet, match="nothing but the classes"):
            best_levels(cells, asked)
        return
    found = best_levels(cells, asked)
    assert found.groups.hits == best
    assert found.groups.meet(asked)


def test_a_requirement_of_no_size_is_still_refused_where_it_is_made():
    with pytest.raises(OptionError):
        Requirement()
