"""Forests as trees of our own."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from pramana_core.domain import Variable
from pramana_core.errors import EmptyTable, ModelError
from pramana_core.mixed.table import CategoricalColumn, MixedTable, NumericColumn
from pramana_core.model_sharing.attributes import (
    CategoricalAttribute,
    NumericAttribute,
    TreeSchema,
)
from pramana_core.model_sharing.global_models.learning import GlobalOptions, grow_forest
from pramana_core.model_sharing.global_models.model import ForestModel

SCHEMA = TreeSchema(
    Variable("class", ("a", "b", "c", "never")),
    (CategoricalAttribute("colour", ("red", "green", "blue")), NumericAttribute("size", 0, 100)),
)


def records(number: int, seed: int = 0) -> tuple[MixedTable, np.ndarray]:
    rng = np.random.default_rng(seed)
    colour, size = rng.integers(0, 3, number), rng.integers(0, 100, number)
    classes = (colour + (size > 40) + rng.integers(0, 2, number)) % 3
    return MixedTable(
        (
            CategoricalColumn("colour", colour, ("red", "green", "blue")),
            NumericColumn("size", size),
        ),
        number,
    ), classes


def test_it_predicts_as_scikit_learn_with_the_same_columns():
    table, classes = records(500)
    options = GlobalOptions(trees=13, most_leaves=40, seed=5)
    model = grow_forest(SCHEMA, table, classes, options)
    # All whole numbers from 0 to 99 occur, so that ranks are the numbers themselves.
    assert len(np.unique(table["size"].values)) == 100
    colour = table["colour"].codes
    matrix = np.column_stack([*(colour == code for code in range(3)), table["size"].values])
    theirs = RandomForestClassifier(13, max_leaf_nodes=40, random_state=5).fit(matrix, classes)
    for tree, grown, sample in zip(
        model.trees, theirs.estimators_, theirs.estimators_samples_, strict=True
    ):
        # Between the numbers of its own sample a threshold may lie anywhere.
        found = tree.probabilities(table.rows(sample))
        assert found[:, :3] == pytest.approx(grown.predict_proba(matrix[sample]), abs=1e-12)
        assert (found[:, 3] == 0).all()
        assert len(tree.leaves) <= 40
    assert (model.predict(table) == theirs.predict(matrix)).mean() > 0.95


def test_progress_is_told_and_can_stop_the_work():
    table, classes = records(50)
    told = []
    grow_forest(SCHEMA, table, classes, GlobalOptions(trees=25), lambda *now: told.append(now))
    assert told == [(0, 25), (10, 25), (20, 25), (25, 25)]

    def stop(done: int, total: int) -> None:
        if done:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        grow_forest(SCHEMA, table, classes, GlobalOptions(trees=25), stop)


def test_large_and_close_numbers_are_told_apart():
    """scikit-learn by itself would round them to one number, or refuse them."""
    schema = TreeSchema(Variable("class", ("a", "b")), (NumericAttribute("size", -1e100, 1e100),))
    for low, high in [(1e15, 1e15 + 1), (-1e99, 1e99), (1.0, np.nextafter(1.0, 2))]:
        table = MixedTable((NumericColumn("size", np.repeat([low, high], 20)),), 40)
        model = grow_forest(schema, table, np.repeat([0, 1], 20), GlobalOptions(trees=9))
        assert (model.predict(table) == np.repeat([0, 1], 20)).all()


def test_one_class_columns_that_do_not_vary_and_no_records():
    table, classes = records(30)
    options = GlobalOptions(trees=3)
    model = grow_forest(SCHEMA, table, np.full(30, 3), options)
    assert (model.probabilities(table) == [0, 0, 0, 1]).all()
    still = table.rows(np.zeros(30, dtype=np.intp))
    assert all(len(t.leaves) == 1 for t in grow_forest(SCHEMA, still, classes, options).trees)
    with pytest.raises(EmptyTable):
        grow_forest(SCHEMA, table.rows(np.zeros(30, dtype=bool)), classes[:0], options)


def test_forests_that_cannot_be_are_refused():
    table, classes = records(30)
    tree = grow_forest(SCHEMA, table, classes, GlobalOptions(trees=1)).trees[0]
    other = TreeSchema(SCHEMA.target, (SCHEMA["size"],))
    stump = grow_forest(other, table, classes, GlobalOptions(trees=1)).trees[0]
    for trees in ((), (tree, stump)):
        with pytest.raises(ModelError):
            ForestModel(trees)
