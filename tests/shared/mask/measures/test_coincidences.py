"""Masked values that are nearly the true ones, and how many of them are coincidence."""

from __future__ import annotations

import numpy as np
import pytest

from pramana_core.mask.measures.coincidences import coincidences


def test_true_values_are_no_coincidence():
    rng = np.random.default_rng(1)
    s, x = rng.standard_normal((2, 400, 1))
    found = coincidences(s, x, x, np.zeros((400, 1)), 0)
    assert found.found == 400
    assert found.expected < 10
    assert found.excess > 50


def test_expected_by_hand():
    """Y drawn from a coin's two sides: half of the other records have the side of X."""
    x = np.array([[0.0], [1.0]] * 30)
    y = np.array([[0.0], [0.0], [1.0], [1.0]] * 15)
    found = coincidences(np.empty((60, 0)), x, y, np.zeros((60, 1)), 0)
    assert found.found == 30
    # 30 records agree, and 29 of their 59 others would; of the rest 30 of 59.
    assert found.expected == pytest.approx((30 * 29 + 30 * 30) / 59)


@pytest.mark.slow
def test_coincidences_of_independent_values_are_as_expected(humped, independent, noisy):
    """Over 40 tables the excess is a standard number; of additive noise it is not."""
    excess, control = [], []
    for seed in range(40):
        table = humped(seed)
        told, true = table
        curve = 3 - 4 * told[:, :1] ** 2 + told[:, 1:]
        for y, rows in ((independent(table, seed), excess), (noisy(table, seed), control)):
            found = coincidences(told, true, y, np.column_stack([curve, curve]), 0, near=0.1)
            rows.append(found.excess)
    assert abs(np.mean(excess)) < 5 / np.sqrt(40)
    assert np.mean(control) > 5 / np.sqrt(40)


def test_one_value_given_away_is_an_excess_of_one():
    rng = np.random.default_rng(2)
    s, x = rng.standard_normal((2, 60, 1))
    y = rng.standard_normal((60, 1)) + 50
    y[7] = x[7]
    found = coincidences(s, x, y, np.zeros((60, 1)), 0)
    assert found.found == 1
    assert found.excess == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("independent", [True, False])
def test_a_value_of_most_records_is_a_coincidence(independent):
    """Nine of ten records are 0, fewer where S is large: that true values stand at 0 is no news."""
    rng = np.random.default_rng(3)
    s = rng.standard_normal((4000, 1))
    zero = 1 / (1 + np.exp(s[:, 0] - 2.5))
    x, y = (np.where(rng.random(4000) < zero, 0, rng.gamma(2, 1, 4000))[:, None] for _ in range(2))
    found = coincidences(s, x, y if independent else x, 2 * (1 - zero)[:, None], 0)
    if independent:
        assert found.found > 2800
        assert abs(found.excess) < 5
    else:
        assert found.found == 4000
        assert found.excess > 20
