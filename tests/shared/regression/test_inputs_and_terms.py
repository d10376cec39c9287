"""What is refused, what is left out, and what is bounded before it is built."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from pramana_core.errors import (
    EstimationError,
    LimitExceeded,
    MissingColumn,
    OptionError,
    TableError,
    UnknownCategory,
)
from pramana_core.mixed import CategoricalColumn, MixedTable, NumericColumn
from pramana_core.regression.learning import learn_regression
from pramana_core.regression.options import RegressionOptions
from pramana_core.regression.records import Feature
from pramana_core.regression.terms import count_terms
from tests.shared.regression.tables import copies, store, table, values

POLYNOMIAL = RegressionOptions(model="polynomial", degree=3)


@pytest.mark.parametrize(
    ("target", "features", "error", "words"),
    [
        ("age", ["age", "income"], OptionError, "The target 'age' is among the features"),
        ("age", ["income", "income"], OptionError, "named twice: .'income'."),
        ("age", [], OptionError, "no column but the target"),
        ("level", None, TableError, "The target 'level' has categories"),
        ("wealth", None, MissingColumn, "no column 'wealth'"),
        ("age", ["wealth"], MissingColumn, "no column 'wealth'"),
    ],
)
def test_names_that_cannot_be_are_refused(target, features, error, words):
    with pytest.raises(error, match=words) as caught:
        learn_regression([store(50)], target, features)
    assert caught.value.where
    if error is not MissingColumn:
        assert caught.value.remedy or "features" in str(caught.value.where)


def test_a_target_that_never_varies_is_refused():
    with pytest.raises(EstimationError, match="'y' has the same value in every record"):
        learn_regression([table(x=range(9), y=[3] * 9)], "y")


@pytest.mark.parametrize("model", ["linear", "polynomial", "kernel"])
def test_features_that_never_vary_are_refused(model):
    with pytest.raises(EstimationError, match="Every feature has the same value"):
        learn_regression(
            [table(x=[3] * 60, y=range(60))], "y", options=RegressionOptions(model=model)
        )


@pytest.mark.parametrize(
    ("model", "records"), [("linear", 3), ("polynomial", 5), ("kernel", 49), ("tree", 39)]
)
def test_too_few_records_are_refused(model, records):
    with pytest.raises(EstimationError, match="too few"):
        learn_regression([store(records)], "spends", options=RegressionOptions(model=model))


def test_no_tables_and_copies_that_differ_are_refused():
    with pytest.raises(TableError, match="no tables"):
        learn_regression([], "y")
    first, second = copies(2, 50)
    for other in (second.project(("age", "spends")), second.rows(np.arange(40))):
        with pytest.raises(TableError, match="Copy 2 differs"):
            learn_regression([first, other], "spends")


def test_what_does_not_vary_or_is_told_by_others_is_left_out_and_named():
    people = store(60)
    age = values(people, "age")
    more = table(months=12 * age, one=[5] * 60, flag=age > 40)
    model = learn_regression([people.beside(more)], "spends")
    assert model.constant == ("one",)
    assert model.redundant == ("months",)
    terms = [c.term for c in model.coefficients]
    assert "months" not in terms
    assert "flag" in terms
    alone = learn_regression([people.beside(more).project(["age", "spends"])], "spends")
    np.testing.assert_allclose(
        learn_regression([people.beside(more)], "spends", ["months", "age"]).predict(
            people.beside(more)
        ),
        alone.predict(people),
        rtol=1e-9,
    )


def test_powers_that_others_tell_are_left_out_with_all_that_they_divide():
    x = np.linspace(-1, 1, 80)
    people = table(x=x, flag=x > 0, square=x**2, y=np.sin(3 * x))
    options = RegressionOptions(model="polynomial", degree=3)
    model = learn_regression([people], "y", options=options)
    # A flag is its own square; the column's square is told by the column `square`, and the cube,
    # whose expansion needs the square, is left out with it.
    assert {"flag^2", "flag^3", "x^2", "x^3"} <= set(model.redundant)
    assert [c.term for c in model.coefficients][1:] == [
        "x",
        "flag",
        "square",
        "square^2",
        "square^3",
    ]


@pytest.mark.parametrize("degree", [2, 4])
def test_terms_are_counted_without_being_made(degree):
    rng = np.random.default_rng(1)
    people = table(
        x=rng.normal(size=400), z=rng.normal(size=400), c=(rng.integers(0, 3, 400), "uvw"),
        d=(rng.integers(0, 2, 400), "st"), y=rng.normal(size=400),
    )  # fmt: skip
    options = RegressionOptions(model="polynomial", degree=degree)
    model = learn_regression([people], "y", options=options)
    features = [Feature("x"), Feature("z"), Feature("c", tuple("uvw")), Feature("d", tuple("st"))]
    made = len(model.coefficients) - 1 + len(model.redundant)
    assert made == count_terms(features, degree)
    assert model.redundant == ()


def test_too_many_terms_are_refused_before_they_are_built():
    rng = np.random.default_rng(1)
    people = MixedTable(tuple(NumericColumn(f"x{k}", rng.normal(size=50)) for k in range(200)), 50)
    tracemalloc.start()
    with pytest.raises(LimitExceeded, match=r"597 terms of 50 records; 500 terms") as caught:
        learn_regression([people], "x0", options=POLYNOMIAL)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 1_000_000
    assert caught.value.where == "degree"
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"model": "spline"}, "model must be one of .*'spline'"),
        ({"degree": 1}, "degree must be at least 2 and at most 6, not 1"),
        ({"degree": 9}, "degree must be"),
        ({"degree": 3}, "degree has no effect with the model 'linear'"),
        ({"max_depth": 0}, "max_depth must be"),
        ({"min_leaf": 2}, "min_leaf must be at least 5"),
        ({"confidence": 1.0}, "confidence must be"),
        ({"seed": -1}, "seed must be"),
    ],
)
def test_options_out_of_range_are_refused(change, words):
    with pytest.raises(OptionError, match=words):
        RegressionOptions(**change)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["linear", "kernel", "tree"])
def test_categories_are_known_by_their_labels_when_predicting(name):
    people = store(200)
    options = RegressionOptions(model=name)
    model = learn_regression([people], "spends", ["age", "level"], options)
    level = people["level"]
    turned = CategoricalColumn("level", 2 - level.codes, ("c", "b", "a"))
    other = MixedTable((turned, people["age"]), 200)
    np.testing.assert_array_equal(model.predict(other), model.predict(people))
    new = CategoricalColumn("level", np.full(200, 1), ("a", "z"))
    with pytest.raises(UnknownCategory, match="200 values in categories"):
        model.predict(MixedTable((new, people["age"]), 200))
    with pytest.raises(MissingColumn, match="'age'"):
        model.predict(people.project(["level"]))
    with pytest.raises(TableError, match="'age' has categories; the model knows it with num"):
        model.predict(
            MixedTable((CategoricalColumn("age", level.codes, level.categories), level), 200)
        )
