"""CGADP and shuffling: marginals, ranks, ties."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import special, stats

from pramana_core.mask import cgadp, egadp, mask, shuffle
from pramana_core.mask.methods.gadp import FARTHEST, fit_marginal, fitted_scores
from tests.shared.mask.examples import linear, mixed


def monotonic(n: int, seed: int, zeros: float = 0.0):
    """S and two columns X that are increasing in normal variables; a share of the first is 0."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, 3))
    first = np.exp(0.7 * z[:, 0] + 0.7 * z[:, 1])
    second = first**2 * np.exp(z[:, 2])
    if zeros:
        first = np.where(first > np.quantile(first, zeros), first, 0.0)
    return z[:, 0], np.column_stack([first, second])


def spearman(*columns):
    return np.atleast_2d(stats.spearmanr(np.column_stack(columns)).statistic)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["shuffle", "shuffle-parametric"])
def test_shuffled_columns_have_exactly_the_original_marginal(name: str):
    told, x = mixed()
    values = mask(name, told, x, np.random.default_rng(1)).values
    for column in x.columns:
        assert values[column].dtype == x[column].dtype
        np.testing.assert_array_equal(np.sort(values[column]), np.sort(x[column]))
        assert np.mean(values[column].to_numpy() != x[column].to_numpy()) > 0.5


@pytest.mark.parametrize("name", ["cgadp", "shuffle", "shuffle-parametric"])
def test_one_confidential_column_is_enough(name: str):
    told, x = monotonic(300, 1)
    values = mask(name, told, x[:, 0], np.random.default_rng(1)).values
    before, after = (stats.spearmanr(told, v).statistic for v in (x[:, 0], values))
    assert abs(before - after) < 0.1


def test_values_are_ordered_as_the_perturbed_scores():
    """Reordering is all that distinguishes them: rank by rank the smallest goes to the smallest."""
    told, x = monotonic(300, 1)
    shuffled = shuffle(told, x, np.random.default_rng(1), marginals="parametric").matrix
    for column, original in zip(shuffled.T, x.T, strict=True):
        places = stats.rankdata(column, method="ordinal").astype(int) - 1
        np.testing.assert_array_equal(np.sort(original)[places], column)


def test_the_scores_of_cgadp_have_exactly_the_moments_of_the_original_scores():
    told, x = linear(200)
    masked = cgadp(told, x, np.random.default_rng(1)).matrix
    n = len(x)

    def scores(values):
        return special.ndtri(stats.rankdata(values, axis=0) / (n + 1))

    # Scores of masked values, read off between the order statistics of X.
    places = np.column_stack(
        [np.interp(m, np.sort(v), np.arange(1, n + 1)) for m, v in zip(masked.T, x.T, strict=True)]
    )
    inside = np.all((places > 1) & (places < n), axis=1)
    assert inside.mean() > 0.95
    expected = egadp(scores(told), scores(x), np.random.default_rng(1)).matrix
    np.testing.assert_allclose(special.ndtri(places / (n + 1))[inside], expected[inside], atol=1e-9)


def test_cgadp_stays_within_the_range_of_x():
    told, x = monotonic(300, 1)
    masked = cgadp(told, x, np.random.default_rng(1)).matrix
    assert np.all(masked.min(axis=0) >= x.min(axis=0))
    assert np.all(masked.max(axis=0) <= x.max(axis=0))


@pytest.mark.parametrize("name", ["cgadp", "shuffle"])
def test_only_ranks_count(name: str):
    """An increasing change of S changes nothing, one of X is found in Y again."""
    told, x = monotonic(200, 1)
    plain, changed = (
        mask(name, s, v, np.random.default_rng(1)).matrix
        for s, v in ((told, x[:, :1]), (np.exp(told), 3 * x[:, :1] + 1))
    )
    np.testing.assert_allclose(changed, 3 * plain + 1, rtol=1e-9)


def differences(name: str, seeds: int, zeros: float):
    """By how much rank correlations of (S, Y) differ from those of (S, X), for many tables."""
    found = []
    for seed in range(seeds):
        told, x = monotonic(500, seed, zeros)
        masked = mask(name, told, x, np.random.default_rng(seed)).matrix
        apart = spearman(told, masked) - spearman(told, x)
        found.append(apart[np.triu_indices(3, 1)])
    return np.array(found)


@pytest.mark.slow
@pytest.mark.parametrize("zeros", [0.0, 0.9])
@pytest.mark.parametrize("name", ["cgadp", "shuffle", "shuffle-parametric"])
def test_rank_correlations_are_kept(name: str, zeros: float):
    """Also of a column most of whose values are equal; not counting chance, to within 0.02."""
    found = differences(name, 20, zeros)
    error = found.std(axis=0, ddof=1) / np.sqrt(len(found))
    assert np.all(np.abs(found.mean(axis=0)) < 0.02 + 4.9 * error)
    assert np.all(error < 0.009)


@pytest.mark.slow
def test_egadp_does_not_keep_rank_correlations():
    """The negative control."""
    found = differences("egadp", 10, 0.0)
    assert np.abs(found.mean(axis=0)).max() > 0.1


def test_the_share_of_zeros_is_kept_by_cgadp():
    told, x = monotonic(1000, 1, zeros=0.9)
    masked = cgadp(told, x, np.random.default_rng(1)).matrix
    assert abs(np.mean(masked[:, 0] == 0) - 0.9) < 0.02


def test_columns_that_rise_together_still_do():
    told, x = monotonic(300, 1)
    both = np.column_stack([x[:, 0], 2 * x[:, 0], np.sqrt(x[:, 0])])
    for method in (cgadp, shuffle):
        masked = method(told, both, np.random.default_rng(1)).matrix
        np.testing.assert_allclose(masked[:, 1], 2 * masked[:, 0], rtol=1e-6)
        np.testing.assert_allclose(spearman(masked), 1, atol=1e-6)


def test_parametric_shuffling_names_the_families():
    rng = np.random.default_rng(1)
    x = pd.DataFrame({"a": rng.normal(size=2000), "b": np.exp(rng.normal(size=2000))})
    details = shuffle(None, x, rng, marginals="parametric").details
    assert details["marginals"] == {"a": "normal", "b": "log-normal"}


def test_categories_of_s_keep_their_differences():
    told, x = mixed(2000)
    masked = shuffle(told, x, np.random.default_rng(1)).values
    before, after = (f.groupby(told["town"])["income"].median() for f in (x, masked))
    error = x["income"].std() * 1.25 / np.sqrt(told["town"].value_counts().min())
    assert np.all(np.abs(after - before) < 4.9 * error)
    assert before["west"] - before["north"] > 6 * error


# Families of marginals: fitted by maximum likelihood, chosen by Akaike's criterion.


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
