"""CGADP and shuffling: marginals, ranks, ties."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from pramana_core.mask import METHODS, mask

cgadp, egadp, shuffle = (METHODS[name] for name in ("cgadp", "egadp", "shuffle"))


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
@pytest.mark.parametrize("name", ["cgadp", "shuffle"])
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


def test_shuffling_keeps_rank_correlations_that_are_not_those_of_a_normal_copula():
    """Half of X goes with S and half by chance: correlations of the scores would lose .017."""
    rng = np.random.default_rng(11)
    told = rng.normal(size=8000)
    x = np.where(rng.random(8000) < 0.5, told, rng.normal(size=8000))
    found = [
        stats.spearmanr(told, shuffle(told, x, np.random.default_rng(seed)).matrix[:, 0]).statistic
        for seed in range(4)
    ]
    assert np.mean(found) == pytest.approx(stats.spearmanr(told, x).statistic, abs=0.006)
