"""Canonical correlations: known values, and the test's false alarms."""

from __future__ import annotations

import numpy as np
import pytest

from pramana_core.mask.measures.canonical import canonical

NOTHING = np.empty((200, 0))


def test_y_equal_to_x_has_correlation_one():
    x = np.random.default_rng(1).standard_normal((200, 2))
    found = canonical(x, x @ [[2.0, 1.0], [0.0, 3.0]] + 7, NOTHING)
    assert found.correlations == pytest.approx((1, 1), abs=1e-9)
    assert found.p == 0
    assert found.error == 0


def test_one_column_each_is_the_partial_correlation():
    rng = np.random.default_rng(2)
    s = rng.standard_normal((300, 2))
    x, y = (s @ [[1.0], [2.0]] + rng.standard_normal((300, 1)) for _ in range(2))
    y += 0.3 * x
    everything = np.linalg.inv(np.cov(np.column_stack([x, y, s]).T))
    partial = -everything[0, 1] / np.sqrt(everything[0, 0] * everything[1, 1])
    assert canonical(x, y, s).largest == pytest.approx(abs(partial), abs=1e-12)


def test_what_s_tells_of_both_is_no_disclosure():
    s = np.random.default_rng(4).standard_normal((200, 1))
    found = canonical(2 * s, s - 1, s)
    assert found.correlations == ()
    assert (found.p, found.largest) == (1, 0)


@pytest.mark.slow
def test_p_values_are_uniform_without_relation(assert_distribution):
    rng = np.random.default_rng(6)
    rows = [rng.standard_normal((40, 5)) for _ in range(1000)]
    p = [canonical(row[:, :2], row[:, 2:4], row[:, 4:]).p for row in rows]
    assert_distribution(np.histogram(p, np.linspace(0, 1, 11))[0], np.full(10, 100))
    related = [canonical(row[:, :2], row[:, 2:4] + 0.2 * row[:, :2], row[:, 4:]).p for row in rows]
    with pytest.raises(AssertionError):
        assert_distribution(np.histogram(related, np.linspace(0, 1, 11))[0], np.full(10, 100))


def test_a_shared_curve_is_left_out_when_it_is_given(humped, independent):
    table = humped(10)
    told, true = table
    y = independent(table, 11)
    assert canonical(true, y, told).largest > 0.5
    curve = np.column_stack([told, told[:, :1] ** 2])
    assert canonical(true, y, curve).p > 0.01


def test_with_too_few_records_nothing_is_said():
    """Six records less a constant and four columns leave one direction: everything correlates."""
    rng = np.random.default_rng(13)
    s, x, y = rng.standard_normal((6, 4)), *rng.standard_normal((2, 6, 1))
    assert canonical(x, y, s).correlations == ()
    assert canonical(x, y, s[:, :1]).correlations != ()
