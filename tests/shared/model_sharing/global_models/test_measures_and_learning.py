"""Measures by hand, and the one way to learn."""

from __future__ import annotations

import math
from typing import get_args

import numpy as np
import pytest

from pramana_core.domain import Variable
from pramana_core.errors import EmptyTable, ModelError, OptionError, TableError, UnknownCategory
from pramana_core.mixed import CategoricalColumn, MixedTable, NumericColumn
from pramana_core.model_sharing.attributes import CategoricalAttribute, NumericAttribute, TreeSchema
from pramana_core.model_sharing.combine_options import GlobalName
from pramana_core.model_sharing.conditions import Interval, Values
from pramana_core.model_sharing.global_models.learning import learn_global
from pramana_core.model_sharing.global_models.measures import accuracy, class_match, path_match
from pramana_core.model_sharing.growing import GrowthOptions
from pramana_core.model_sharing.tree import Leaf, SharedTree, Split

COLOUR = CategoricalAttribute("colour", ("red", "green", "blue"))
SIZE = NumericAttribute("size", 0, 10)
SCHEMA = TreeSchema(Variable("class", ("no", "yes")), (COLOUR, SIZE))
TABLE = MixedTable(
    (
        CategoricalColumn("colour", [0, 0, 1, 1, 2, 2, 2, 2], COLOUR.categories),
        NumericColumn("size", [1, 9, 1, 9, 1, 2, 8, 9]),
    ),
    8,
)
NO, YES = Leaf(0, 5, 1), Leaf(1, 5, 1)


def by_size(threshold: float, low: Leaf, high: Leaf) -> Split:
    return Split("size", ((Interval(up_to=threshold), low), (Interval(above=threshold), high)))


def by_colour(red, green, blue) -> SharedTree:
    parts = tuple((Values((code,)), below) for code, below in enumerate((red, green, blue)))
    return SharedTree(SCHEMA, Split("colour", parts))


ONE = by_colour(NO, by_size(5, NO, YES), YES)
OTHER = by_colour(NO, by_size(5, YES, YES), by_size(4, NO, YES))


def test_accuracy_and_its_error_by_hand():
    # ONE says no no, no yes, yes yes yes yes.
    found = accuracy(ONE, TABLE, np.array([0, 1, 0, 1, 1, 1, 0, 1]))
    assert found.value == 6 / 8
    assert found.standard_error == pytest.approx(math.sqrt(0.75 * 0.25 / 8))


def test_class_match_by_hand():
    # OTHER says no no, yes yes, no no yes yes.
    found = class_match(ONE, OTHER, TABLE)
    assert found.value == 5 / 8
    assert class_match(ONE, ONE, TABLE).value == 1


def test_path_match_goes_by_names_and_ignores_the_order_of_questions():
    turned = TreeSchema(
        Variable("class", ("yes", "no")),
        (SIZE, CategoricalAttribute("colour", ("blue", "green", "red"))),
    )
    yes, no = Leaf(0, 5, 1), Leaf(1, 5, 1)
    one = SharedTree(
        SCHEMA, by_size(5, Split("colour", ((Values((1,)), NO), (Values((0, 2)), YES))), YES)
    )
    other = SharedTree(
        turned,
        Split(
            "colour",
            (
                (Values((1,)), Split("size", ((Interval(up_to=5), no), (Interval(above=5), yes)))),
                (
                    Values((0, 2)),
                    Split("size", ((Interval(up_to=5), yes), (Interval(above=5), yes))),
                ),
            ),
        ),
    )
    assert path_match(one, other) == 2 / 5


def test_measures_refuse_what_cannot_be_measured():
    none, model = TABLE.rows(np.zeros(8, dtype=bool)), ONE
    with pytest.raises(EmptyTable):
        accuracy(model, none, np.zeros(0, dtype=np.intp))
    with pytest.raises(EmptyTable):
        class_match(model, model, none)
    with pytest.raises(TableError):
        accuracy(model, TABLE, np.zeros(7, dtype=np.intp))
    other = TreeSchema(Variable("class", ("no", "maybe")), SCHEMA.attributes)
    with pytest.raises(ModelError):
        class_match(model, SharedTree(other, NO), TABLE)


@pytest.mark.parametrize("model", get_args(GlobalName))
def test_every_kind_is_learned_and_deterministic(model):
    rng = np.random.default_rng(3)
    chosen = rng.integers(0, 8, 200)
    table = TABLE.rows(chosen)
    classes = ONE.predict(table)
    options = GrowthOptions(seed=1)
    one, other = (learn_global(SCHEMA, table, classes, model, options) for _ in range(2))
    assert one == other
    assert one.kind == model
    assert accuracy(one, table, classes).value > 0.8
    shares = one.probabilities(table)
    assert shares.shape == (200, 2)
    assert shares.sum(axis=1) == pytest.approx(1)
    assert (shares.argmax(axis=1) == one.predict(table)).all()
    wrong = MixedTable(
        (CategoricalColumn("colour", [0], ("violet",)), NumericColumn("size", [1.0])), 1
    )
    with pytest.raises(UnknownCategory):
        one.predict(wrong)


def test_unknown_models_are_refused():
    with pytest.raises(OptionError):
        learn_global(SCHEMA, TABLE, np.zeros(8, dtype=np.intp), "neural")
