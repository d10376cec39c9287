"""Naive Bayes on records of numbers and categories."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.naive_bayes import CategoricalNB, GaussianNB

from pramana_core.domain import Variable
from pramana_core.errors import ModelError
from pramana_core.mixed import CategoricalColumn, MixedTable, NumericColumn
from pramana_core.model_sharing.attributes import CategoricalAttribute, NumericAttribute, TreeSchema
from pramana_core.model_sharing.global_models.naive_bayes import (
    CategoryShares,
    NaiveBayesModel,
    Normal,
    learn_naive_bayes,
)

COLOUR = CategoricalAttribute("colour", ("red", "green", "blue"))
SHAPE = CategoricalAttribute("shape", ("round", "square"))
SIZE = NumericAttribute("size", -10, 10)
WEIGHT = NumericAttribute("weight", 0, 1000)
TARGET = Variable("class", ("a", "b", "c"))
MIXED = TreeSchema(TARGET, (COLOUR, SIZE, SHAPE, WEIGHT))


def records(number: int, seed: int = 0) -> tuple[MixedTable, np.ndarray]:
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, 3, number)
    return MixedTable(
        (
            CategoricalColumn(
                "colour", (classes + rng.integers(0, 2, number)) % 3, COLOUR.categories
            ),
            NumericColumn("size", rng.normal(classes, 1 + classes)),
            CategoricalColumn(
                "shape", rng.integers(0, 2, number) | (classes == 2), SHAPE.categories
            ),
            NumericColumn("weight", rng.gamma(2, 50 * (1 + classes))),
        ),
        number,
    ), classes


def test_categories_are_as_scikit_learn_has_them():
    schema = TreeSchema(TARGET, (COLOUR, SHAPE))
    table, classes = records(400)
    model = learn_naive_bayes(schema, table, classes)
    matrix = np.column_stack([table["colour"].codes, table["shape"].codes])
    theirs = CategoricalNB(min_categories=[3, 2]).fit(matrix, classes)
    assert model.probabilities(table) == pytest.approx(theirs.predict_proba(matrix), abs=1e-12)
    assert (model.predict(table) == theirs.predict(matrix)).all()


def test_numbers_are_as_scikit_learn_has_them():
    schema = TreeSchema(TARGET, (SIZE, WEIGHT))
    table, classes = records(400)
    model = learn_naive_bayes(schema, table, classes)
    matrix = np.column_stack([table["size"].values, table["weight"].values])
    theirs = GaussianNB().fit(matrix, classes)
    assert model.probabilities(table) == pytest.approx(theirs.predict_proba(matrix), abs=1e-12)
    assert (model.predict(table) == theirs.predict(matrix)).all()


def test_a_class_without_records_is_never_predicted():
    table, classes = records(200)
    model = learn_naive_bayes(MIXED, table, np.where(classes == 2, 0, classes))
    found = model.probabilities(table)
    assert (found[:, 2] == 0).all()
    assert found.sum(axis=1) == pytest.approx(1)


def test_numbers_beyond_all_densities_leave_the_prior():
    table, classes = records(30)
    model = learn_naive_bayes(TreeSchema(TARGET, (SIZE,)), table, classes)
    narrow = NaiveBayesModel(model.schema, model.prior, (Normal((0, 0, 0), (1e-100,) * 3),))
    far = MixedTable((NumericColumn("size", [1e100, -1e100]),), 2)
    for one in (model, narrow):
        found = one.probabilities(far)
        assert np.isfinite(found).all()
        assert found.sum(axis=1) == pytest.approx(1)


@pytest.mark.parametrize(
    ("prior", "density"),
    [
        ((0.5, 0.5), Normal((0, 0, 0), (1, 1, 1))),
        ((0.5, 0.6, -0.1), Normal((0, 0, 0), (1, 1, 1))),
        ((0.2, 0.2, 0.2), Normal((0, 0, 0), (1, 1, 1))),
        ((0.5, 0.5, 0.0), Normal((0, 0), (1, 1))),
        ((0.5, 0.5, 0.0), Normal((0, 0, 1e101), (1, 1, 1))),
        ((0.5, 0.5, 0.0), Normal((0, 0, 0), (1, 1, 0))),
        ((0.5, 0.5, 0.0), Normal((0, 0, 0), (1, 1, math.inf))),
        ((0.5, 0.5, 0.0), CategoryShares(((0.5, 0.5),) * 3)),
    ],
)
def test_numbers_that_cannot_be_are_refused(prior, density):
    schema = TreeSchema(TARGET, (SIZE,))
    assert NaiveBayesModel(schema, (0.5, 0.5, 0.0), (Normal((0, 0, 0), (1, 1, 1)),))
    with pytest.raises(ModelError):
        NaiveBayesModel(schema, prior, (density,))
