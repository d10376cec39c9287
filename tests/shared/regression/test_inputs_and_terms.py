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
from pramana_core.learn.common.options import RegressionOptions
from pramana_core.mixed import CategoricalColumn, MixedTable, NumericColumn
from pramana_core.regression.learning import learn_regression
from tests.shared.regression.tables import store, table, values

REFUSED = {
    "target among the features": (store(50), "age", ["age", "income"], OptionError, "features"),
    "feature twice": (store(50), "age", ["income", "income"], OptionError, "features"),
    "no feature": (store(50), "age", [], OptionError, "features"),
    "target of categories": (store(50), "level", None, TableError, "level"),
    "target that is missing": (store(50), "wealth", None, MissingColumn, "wealth"),
    "feature that is missing": (store(50), "age", ["wealth"], MissingColumn, "wealth"),
    "target without variation": (table(x=range(9), y=[3] * 9), "y", None, EstimationError, "y"),
    "features without variation": (
        table(x=[3] * 60, y=range(60)), "y", None, EstimationError, "features",
    ),
    "too few records": (store(3), "spends", None, EstimationError, "features"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_invalid_records_are_refused(name):
    people, target, features, error, where = REFUSED[name]
    with pytest.raises(error) as refused:
        learn_regression(people, target, features)
    assert refused.value.where == where


def test_constant_and_redundant_columns_are_left_out_and_named():
    people = store(60)
    age = values(people, "age")
    more = table(months=12 * age, one=[5] * 60, flag=age > 40)
    model = learn_regression(people.beside(more), "spends")
    assert model.constant == ("one",)
    assert model.redundant == ("months",)
    terms = [c.term for c in model.coefficients]
    assert "months" not in terms
    assert "flag" in terms
    alone = learn_regression(people.beside(more).project(["age", "spends"]), "spends")
    np.testing.assert_allclose(
        learn_regression(people.beside(more), "spends", ["months", "age"]).predict(
            people.beside(more)
        ),
        alone.predict(people),
        rtol=1e-9,
    )


def test_a_redundant_power_is_left_out_with_all_higher_ones():
    x = np.linspace(-1, 1, 80)
    people = table(x=x, flag=x > 0, square=x**2, y=np.sin(3 * x))
    options = RegressionOptions(degree=3)
    model = learn_regression(people, "y", options=options)
    # A flag is its own square, and the column `square` is the square of x; the cube, whose
    # expansion needs that square, is left out with it.
    assert {"flag^2", "flag^3", "x^2", "x^3"} <= set(model.redundant)
    assert [c.term for c in model.coefficients][1:] == [
        "x",
        "flag",
        "square",
        "square^2",
        "square^3",
    ]


def test_too_many_terms_are_refused_before_they_are_built():
    rng = np.random.default_rng(1)
    people = MixedTable(tuple(NumericColumn(f"x{k}", rng.normal(size=50)) for k in range(200)), 50)
    tracemalloc.start()
    with pytest.raises(LimitExceeded) as caught:
        learn_regression(people, "x0", options=RegressionOptions(degree=3))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 1_000_000
    assert caught.value.where == "degree"
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("name", "value"),
    [("degree", 0), ("degree", 9), ("confidence", 1.0), ("seed", -1)],
)
def test_options_out_of_range_are_refused(name, value):
    with pytest.raises(OptionError) as refused:
        RegressionOptions(**{name: value})
    assert refused.value.where == name


def test_records_to_predict_are_matched_by_names_and_labels():
    people = store(200)
    model = learn_regression(people, "spends", ["age", "level"])
    level = people["level"]
    turned = CategoricalColumn("level", 2 - level.codes, ("c", "b", "a"))
    other = MixedTable((turned, people["age"]), 200)
    np.testing.assert_array_equal(model.predict(other), model.predict(people))
    new = CategoricalColumn("level", np.full(200, 1), ("a", "z"))
    for error, where, rows in (
        (UnknownCategory, "level", MixedTable((new, people["age"]), 200)),
        (MissingColumn, "age", people.project(["level"])),
        (
            TableError, "age",
            MixedTable((CategoricalColumn("age", level.codes, level.categories), level), 200),
        ),
    ):  # fmt: skip
        with pytest.raises(error) as refused:
            model.predict(rows)
        assert refused.value.where == where
