"""Families of marginals: fitted by maximum likelihood, chosen by Akaike's criterion."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from pramana_core.mask.methods.copula import FARTHEST, fit_marginal, fitted_scores

N = 3000

DRAWS = {
    "normal": lambda rng: rng.normal(100, 15, N),
    "logistic": lambda rng: rng.logistic(-3, 2, N),
    "log-normal": lambda rng: np.exp(rng.normal(10, 1, N)),
    "gamma": lambda rng: rng.gamma(2, 500, N),
    "weibull": lambda rng: 1e-6 * rng.weibull(3.0, N) ** 0.4,
}


@pytest.mark.parametrize("family", DRAWS)
def test_the_family_that_was_drawn_from_is_chosen(family: str):
    values = DRAWS[family](np.random.default_rng(3))
    marginal = fit_marginal(values)
    assert str(marginal) == family
    scores = marginal.scores(values)
    assert stats.kstest(scores, "norm").pvalue > 1e-6
    np.testing.assert_array_equal(np.argsort(scores), np.argsort(values))


PARAMETERS = {
    "logistic": (stats.logistic, {}),
    "log-normal": (stats.lognorm, {"floc": 0}),
    "gamma": (stats.gamma, {"floc": 0}),
    "weibull": (stats.weibull_min, {"floc": 0}),
}


@pytest.mark.slow
@pytest.mark.parametrize("family", PARAMETERS)
def test_no_parameters_are_more_likely(family: str):
    """Beside scipy's own search for the maximum."""
    values = DRAWS[family](np.random.default_rng(3))
    marginal = fit_marginal(values)
    distribution, fixed = PARAMETERS[family]
    units = (values - marginal.shift) / marginal.scale
    found = distribution(*distribution.fit(units, **fixed)).logpdf(units).sum()
    mine = marginal.distribution.logpdf(units).sum()
    assert mine >= found - 1e-6 * abs(found)
    assert marginal.criterion == pytest.approx(2 * (2 - mine))


@pytest.mark.slow
@pytest.mark.parametrize("factor", [1e-200, 1, 1e90])
def test_units_do_not_matter(factor: float):
    values = DRAWS["gamma"](np.random.default_rng(3))
    scaled = fit_marginal(factor * values)
    assert str(scaled) == "gamma"
    np.testing.assert_allclose(
        scaled.scores(factor * values), fit_marginal(values).scores(values), atol=1e-6
    )


def test_a_support_that_begins_elsewhere_is_shifted():
    values = DRAWS["gamma"](np.random.default_rng(3)) - 1e5
    assert str(fit_marginal(values)) in ("shifted gamma", "shifted weibull")


def test_tails_are_cut_off_and_finite():
    values = np.append(np.random.default_rng(3).normal(size=500), [1e12, -1e12])
    scores = fitted_scores(np.column_stack([values, np.abs(values)]))
    assert np.all(np.isfinite(scores))
    assert np.abs(scores).max() <= FARTHEST


@pytest.mark.parametrize(
    "values", [[0.0, 1.0], [0.0] * 99 + [1.0], [1.0] * 99 + [1e12], [-5.0, -5.0, 3.0]]
)
def test_few_and_equal_values_have_scores_in_their_order(values: list[float]):
    found = fit_marginal(np.array(values)).scores(np.array(values))
    assert np.all(np.isfinite(found))
    np.testing.assert_array_equal(np.argsort(found, kind="stable"), np.argsort(values))
    assert found.min() < found.max()
