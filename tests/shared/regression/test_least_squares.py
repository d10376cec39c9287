"""Coefficients, errors and diagnostics against independent formulas."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from pramana_core.errors import EstimationError
from pramana_core.learn.common.options import RegressionOptions
from pramana_core.mixed import MixedTable, NumericColumn
from pramana_core.regression.learning import learn_regression
from tests.shared.regression.tables import raw, store, table, values


def by_hand(x, y):
    """Least squares by the pseudo-inverse of the raw columns: weights, covariance, HC3, s2."""
    inverse = np.linalg.pinv(x, rcond=1e-18)
    weights = inverse @ y
    residuals = y - x @ weights
    s2 = residuals @ residuals / (len(y) - x.shape[1])
    leverage = np.einsum("ij,ji->i", x, inverse)
    robust = inverse @ np.diag((residuals / (1 - leverage)) ** 2) @ inverse.T
    return weights, s2 * inverse @ inverse.T, robust, residuals


def test_coefficients_errors_and_diagnostics_are_those_of_closed_formulas():
    people = store()
    model = learn_regression(people, "spends")
    x, y = raw(people), values(people, "spends")
    weights, covariance, robust, residuals = by_hand(x, y)
    n, k = x.shape
    found = model.coefficients
    assert [one.term for one in found] == ["(intercept)", "age", "level=b", "level=c", "income"]
    # The raw columns are far from each other in size: their own pseudo-inverse has lost digits.
    np.testing.assert_allclose([one.estimate for one in found], weights, rtol=1e-7)
    np.testing.assert_allclose([one.se for one in found], covariance.diagonal() ** 0.5, rtol=1e-6)
    np.testing.assert_allclose(
        [one.se_robust for one in found], robust.diagonal() ** 0.5, rtol=1e-6
    )
    diagnostics = model.diagnostics
    # Student's intervals and tests of each coefficient alone.
    t, freedom = weights / covariance.diagonal() ** 0.5, n - k
    np.testing.assert_allclose([one.t for one in found], t, rtol=1e-6)
    np.testing.assert_allclose([one.p for one in found], 2 * stats.t.sf(abs(t), freedom), atol=1e-9)
    half = stats.t.ppf(0.975, freedom) * covariance.diagonal() ** 0.5
    np.testing.assert_allclose([one.interval[1] for one in found], weights + half, rtol=1e-6)
    rss, tss = residuals @ residuals, np.square(y - y.mean()).sum()
    assert diagnostics.r2 == pytest.approx(1 - rss / tss)
    assert diagnostics.residual_sd == pytest.approx((rss / (n - k)) ** 0.5)


def test_a_polynomial_is_least_squares_on_powers_in_the_columns_units():
    rng = np.random.default_rng(4)
    x, z, c = rng.normal(3, 1, 300), rng.normal(-2, 2, 300), rng.integers(0, 2, 300)
    y = rng.normal(size=300) + x**2 - z**3 - 3 * c
    people = table(x=x, z=z, c=(c, ["no", "yes"]), y=y)
    model = learn_regression(people, "y", options=RegressionOptions(degree=3))
    terms = [one.term for one in model.coefficients]
    assert terms == ["(intercept)", "x", "z", "c=yes", "x^2", "z^2", "x^3", "z^3"]
    matrix = np.column_stack([np.ones(300), x, z, c, x**2, z**2, x**3, z**3])
    wanted, covariance, robust, *_ = by_hand(matrix, y)
    np.testing.assert_allclose([one.estimate for one in model.coefficients], wanted, atol=1e-8)
    np.testing.assert_allclose(
        [one.se for one in model.coefficients], covariance.diagonal() ** 0.5, rtol=1e-6
    )
    np.testing.assert_allclose(
        [one.se_robust for one in model.coefficients], robust.diagonal() ** 0.5, rtol=1e-6
    )
    np.testing.assert_allclose(model.predict(people), matrix @ wanted, atol=1e-8)


def test_a_polynomial_far_from_zero_keeps_its_digits():
    """Raw powers of years would be told by each other; standardized ones are not."""
    year = np.linspace(1950, 2020, 141)
    people = table(year=year, y=((year - 1985) / 10) ** 4)
    options = RegressionOptions(degree=4)
    model = learn_regression(people, "y", options=options)
    assert model.redundant == ()
    np.testing.assert_allclose(model.predict(people), values(people, "y"), atol=1e-9)


def test_the_score_is_of_predictions_by_fits_to_the_others():
    people = store(100)
    model = learn_regression(people, "spends", ["age"])
    order = np.random.Generator(np.random.PCG64((0, 2))).permutation(100)
    x, y = raw(people, ["age"]), values(people, "spends")
    missed = np.empty(100)
    for fold in np.array_split(order, 5):
        inside = np.setdiff1d(np.arange(100), fold)
        line = stats.linregress(x[inside, 1], y[inside])
        missed[fold] = y[fold] - line.intercept - line.slope * x[fold, 1]
    assert model.score.r2 == pytest.approx(1 - np.mean(missed**2) / np.var(y))
    assert model.score.rmse == pytest.approx(np.mean(missed**2) ** 0.5)
    assert model.score.folds == 5
    # Its error by leaving records out one by one of the ratio.
    around = (y - y.mean()) ** 2
    jack = [1 - np.delete(missed**2, i).mean() / np.delete(around, i).mean() for i in range(100)]
    assert model.score.se == pytest.approx(np.std(jack) * 99**0.5 * (99 / 100) ** 0.5, rel=0.05)


# Numbers whose powers no floating-point number holds end in an error that names their column.


RNG = np.random.default_rng(1)
AGE, DEBT = RNG.normal(40, 9, 60), RNG.normal(0, 1, 60)


def learned(age, debt, **options):
    table = MixedTable((NumericColumn("age", age), NumericColumn("debt", debt)), 60)
    return learn_regression(table, "debt", ["age"], RegressionOptions(**options))


@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("scale", [1e98, 1e-100, 1e-310])
@pytest.mark.parametrize("column", ["age", "debt"])
def test_numbers_beyond_their_powers_are_refused(degree, scale, column):
    values = {"age": AGE, "debt": DEBT}
    values[column] = values[column] * scale
    with pytest.raises(EstimationError) as refused:
        learned(**values, degree=degree)
    assert refused.value.where == column
