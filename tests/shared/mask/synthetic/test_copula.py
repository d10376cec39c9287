"""The copula baseline draws from the conditional law that it states."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from pramana_core.mask.core.inputs import normal_scores
from pramana_core.mask.synthetic import synthetic_copula

RECORDS = 4000
FALSE_ALARM = 1e-6
LIMIT = stats.norm.isf(FALSE_ALARM / 2)


def monotonic(rng, n=RECORDS):
    """Log-normal X1 and X2 over one normal column and one of categories."""
    s = rng.standard_normal(n)
    group = rng.integers(0, 3, n)
    z1 = 0.7 * s + 0.4 * (group == 2) + rng.standard_normal(n)
    z2 = -0.5 * s + 0.6 * z1 + rng.standard_normal(n)
    told = pd.DataFrame({"s": s, "group": np.array(list("abc"))[group]})
    return told, np.exp(np.column_stack([z1, z2]) / 2)


def partial(a, b, told):
    """The z-score of the correlation of a and b given columns that are told."""
    basis = np.linalg.qr(np.column_stack([np.ones(len(a)), told]))[0]
    a, b = (v - basis @ (basis.T @ v) for v in (a, b))
    r = a @ b / np.sqrt((a @ a) * (b @ b))
    return np.arctanh(r) * np.sqrt(len(a) - told.shape[1] - 3)


def features(told):
    return np.column_stack([told["s"], told["group"] == "b", told["group"] == "c"])


def test_values_given_s_tell_nothing_of_x():
    rng = np.random.default_rng(11)
    told, x = monotonic(rng)
    masked = synthetic_copula(told, x, rng).matrix
    scores, made = normal_scores(x), normal_scores(masked)
    for i in range(2):
        for j in range(2):
            assert abs(partial(scores[:, i], made[:, j], features(told))) < LIMIT
    leaking = scores[:, 0] + 3 * rng.standard_normal(RECORDS)
    assert abs(partial(scores[:, 0], leaking, features(told))) > LIMIT


def test_rank_dependence_and_group_means_are_kept():
    rng = np.random.default_rng(12)
    told, x = monotonic(rng)
    masked = synthetic_copula(told, x, rng).matrix
    error = np.sqrt(2 / RECORDS)
    for first, second in ((x, masked), (normal_scores(x), normal_scores(masked))):
        before = stats.spearmanr(np.column_stack([told["s"], first])).statistic
        after = stats.spearmanr(np.column_stack([told["s"], second])).statistic
        assert np.abs(before - after).max() < LIMIT * error
    shuffled = rng.permutation(masked)
    after = stats.spearmanr(np.column_stack([told["s"], shuffled])).statistic
    assert np.abs(before - after).max() > LIMIT * error


def test_marginals_are_the_empirical_ones(assert_distribution):
    rng = np.random.default_rng(13)
    told, x = monotonic(rng)
    masked = synthetic_copula(told, x, rng).matrix
    edges = np.quantile(x[:, 0], np.linspace(0, 1, 11))

    def counts(values):
        return np.histogram(np.clip(values, edges[0], edges[-1]), edges)[0]

    # Both samples vary: against the other's counts the statistic is at most twice a chi-square.
    assert_distribution(counts(masked[:, 0]) / 2, counts(x[:, 0]) / 2)
    normal = rng.normal(x[:, 0].mean(), x[:, 0].std(), RECORDS)
    with pytest.raises(AssertionError):
        assert_distribution(counts(normal) / 2, counts(x[:, 0]) / 2)
    assert masked.min() >= x.min()
    assert masked.max() <= x.max()
    assert np.isin(masked[:, 0], x[:, 0]).mean() < 0.01


def test_there_may_be_no_s():
    rng = np.random.default_rng(14)
    assert synthetic_copula(None, monotonic(rng, 200)[1][:, 0], rng).values.shape == (200,)
