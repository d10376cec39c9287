"""The fits against refitting by brute force, and against curves that they can and cannot follow."""

from __future__ import annotations

import numpy as np
import pytest

from pramana_core.mask.advice.dependence import (
    by_curves,
    by_lines,
    by_monotonic_curves,
    explained,
    gained,
    standardized,
)

NONE = np.empty((400, 0))


@pytest.fixture
def rng():
    return np.random.default_rng(41)


def share(target, fit):
    return explained(target, fit).share


def test_lines_leave_each_record_out(rng):
    features, target = rng.standard_normal((30, 2)), rng.standard_normal(30)
    found = by_lines(features, target)
    for record in range(30):
        kept = np.arange(30) != record
        design = np.column_stack([np.ones(29), features[kept]])
        slopes = np.linalg.lstsq(design, target[kept])[0]
        assert found[record] == pytest.approx(slopes @ [1, *features[record]])


def test_shares_are_one_zero_and_differences(rng):
    target = rng.standard_normal(400)
    assert share(target, target) == 1
    assert share(target, np.full(400, target.mean())) == 0
    half = target / 2
    assert share(target, half) == pytest.approx(1 - np.mean((target / 2) ** 2) / target.var())
    better = gained(target, half, target)
    assert better.share == pytest.approx(1 - share(target, half))
    assert explained(np.ones(5), np.zeros(5)).share == 0


def test_the_error_of_a_share_is_that_of_repetitions(rng):
    found = []
    for _ in range(300):
        x = rng.standard_normal(400)
        found.append(explained(x + rng.standard_normal(400), x))
    spread = np.std([one.share for one in found])
    stated = np.mean([one.error for one in found])
    # The standard deviation of 300 repetitions is known to 4 percent; five times that.
    assert stated == pytest.approx(spread, rel=0.2)


def test_monotonic_curves_follow_what_rises_and_falls_and_saturates(rng):
    s = rng.uniform(-2, 2, (400, 2))
    noise = 0.1 * rng.standard_normal(400)
    total = np.exp(s[:, 0]) - s[:, 1] ** 3 + noise
    assert share(total, by_monotonic_curves(s, NONE, total, rng)[0]) > 0.97
    assert share(total, by_lines(s, total)) < 0.93
    grown = 1 / (1 + np.exp(-4 * (s[:, 0] + s[:, 1]))) + noise / 2
    saturated = by_monotonic_curves(s, NONE, grown, rng)
    assert share(grown, saturated[2]) > 0.97
    assert share(grown, saturated[2]) > share(grown, saturated[0]) + 0.05


def test_monotonic_curves_do_not_follow_a_hump_but_kernels_do(rng):
    s = rng.uniform(-2, 2, (400, 1))
    hump = -(s[:, 0] ** 2) + 0.1 * rng.standard_normal(400)
    assert max(share(hump, fit) for fit in by_monotonic_curves(s, NONE, hump, rng)) < 0.5
    assert share(hump, by_curves(s, hump, rng)) > 0.95


def test_categories_have_lines_beside_the_curves(rng):
    s = rng.uniform(-2, 2, (400, 1))
    group = rng.integers(0, 3, 400)
    indicators = np.column_stack([group == 1, group == 2]).astype(float)
    total = np.exp(s[:, 0]) + np.array([0, 5, -5])[group] + 0.1 * rng.standard_normal(400)
    assert share(total, by_monotonic_curves(s, indicators, total, rng)[0]) > 0.97
    alone = by_monotonic_curves(NONE, indicators, total, rng)[0]
    assert share(total, alone) == pytest.approx(share(total, by_lines(indicators, total)), abs=0.02)


def test_columns_without_variation_become_zero(rng):
    found = standardized(np.column_stack([np.ones(50), rng.standard_normal(50)]))
    assert not found[:, 0].any()
    assert found[:, 1].std() == pytest.approx(1)
