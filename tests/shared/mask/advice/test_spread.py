"""Spreads that depend on S are found; those that do not raise few alarms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from pramana_core.mask.recommending import FALSE_ALARM, Features, recommend, spread
from tests.lengths import repetitions

pytestmark = pytest.mark.usefixtures("three_bandwidths")


def row(seed, size, *, heavy=False, n=300):
    rng = np.random.default_rng([71, seed])
    s = rng.uniform(-1, 1, n)
    noise = rng.standard_t(3, n) if heavy else rng.standard_normal(n)
    return spread("", Features(s[:, None], np.empty((n, 0))), s + size(s) * noise, rng)


@pytest.mark.slow
@pytest.mark.parametrize("heavy", [pytest.param(False, marks=pytest.mark.campaign), True])
def test_an_even_spread_raises_few_alarms_and_an_uneven_one_raises_them(heavy):
    tables = repetitions(20, 40)
    even = [row(seed, np.ones_like, heavy=heavy) for seed in range(tables)]
    assert sum(one.varies for one in even) <= stats.binom.isf(1e-6, tables, FALSE_ALARM)
    below = sum(one.p < 0.05 for one in even)
    assert below <= stats.binom.isf(1e-6, tables, 0.05)
    for size in (lambda s: np.exp(s), lambda s: 0.2 + np.abs(s)):
        assert all(row(seed, size, heavy=heavy, n=600).varies for seed in range(3))


@pytest.mark.slow
def test_an_uneven_spread_is_said_to_be_lost():
    rng = np.random.default_rng(72)
    s = rng.uniform(-1, 1, 600)
    even, uneven = (s + size * rng.standard_normal(600) for size in (0.5, 0.2 + np.abs(s)))
    found = recommend(s, even, rng)
    assert [one.varies for one in found.spreads] == [False]
    assert found.lost == ()
    found = recommend(s, uneven, rng)
    assert [one.varies for one in found.spreads] == [True]
    assert any("scatter alike everywhere" in sentence for sentence in found.lost)


@pytest.mark.slow
def test_a_spread_that_grows_with_the_value_is_kept_by_the_copula():
    rng = np.random.default_rng(73)
    s = rng.standard_normal(600)
    found = recommend(s, np.exp(s + 0.5 * rng.standard_normal(600)), rng)
    assert found.method == "cgadp"
    assert found.lost == ()


def test_without_s_there_is_no_spread_to_differ():
    rng = np.random.default_rng(74)
    assert recommend(None, rng.standard_normal(100), rng).spreads == ()
    nothing = Features(np.empty((50, 0)), np.empty((50, 0)))
    assert spread("", nothing, rng.standard_normal(50), rng).p == 1
