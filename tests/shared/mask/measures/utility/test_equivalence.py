"""Equivalence tests: they pass exactly if the 1 - 2 alpha interval lies inside the region."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from pramana_core.errors import OptionError
from pramana_core.mask.measures.models import by_regression, paired


def values(seed, records=25, shift=0.1, slope=1.05, noise=0.2):
    rng = np.random.default_rng(seed)
    original = 5 + rng.standard_normal(records)
    masked = 5 + shift + slope * (original - 5) + noise * rng.standard_normal(records)
    return original, masked


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.2])
@pytest.mark.parametrize("seed", range(3))
def test_the_smallest_region_is_where_the_interval_touches(seed, alpha):
    """By scipy's own intervals, and both sides of the bound are tried."""
    original, masked = values(seed)
    t = stats.ttest_1samp(masked - original, 0)
    low, high = t.confidence_interval(1 - 2 * alpha)
    expected = {"paired": 100 * max(-low, high) / original.mean()}
    line = stats.linregress(original - original.mean(), masked)
    width = stats.t.ppf(1 - alpha, 23)
    ends = np.array([-1, 1]) * width
    expected["mean"] = (
        100 * np.abs(line.intercept + ends * line.intercept_stderr - original.mean()).max()
    ) / original.mean()
    expected["slope"] = 100 * np.abs(line.slope + ends * line.stderr - 1).max()
    level, slope = by_regression(original, masked, alpha)
    found = {"paired": paired(original, masked, alpha), "mean": level, "slope": slope}
    for name, test in found.items():
        assert test.percent == pytest.approx(expected[name])
        assert test.passes(test.percent * 1.001)
        assert not test.passes(test.percent * 0.999)
        assert test.p(test.percent) == pytest.approx(alpha)


def test_p_is_the_larger_of_two_one_sided_tests():
    original, masked = values(7)
    margin = 0.04 * original.mean()
    gap = masked - original
    upper = stats.ttest_1samp(gap, margin, alternative="less").pvalue
    lower = stats.ttest_1samp(gap, -margin, alternative="greater").pvalue
    assert paired(original, masked).p(4) == pytest.approx(max(upper, lower))


def test_equal_values_are_equivalent_in_any_region():
    original, _ = values(1)
    for test in (paired(original, original), *by_regression(original, original)):
        assert test.percent == pytest.approx(0, abs=1e-9)
        assert test.passes(1e-6)


def test_a_difference_without_error_passes_only_outside_it():
    original, _ = values(1)
    test = paired(original, original + 0.5)
    assert not test.passes(99 * 0.5 / original.mean())
    assert test.passes(101 * 0.5 / original.mean())


def test_what_does_not_vary_has_no_slope_and_a_mean_of_zero_no_region():
    level, slope = by_regression(np.full(10, 3.0), np.arange(10.0))
    assert math.isnan(slope.percent)
    assert math.isnan(level.percent)
    centred = np.arange(-5.0, 6.0)
    assert math.isnan(paired(centred, centred + 1).percent)


@pytest.mark.slow
def test_the_error_rate_at_the_edge_is_alpha():
    """A true difference on the edge of the region is taken for equivalent in 5 per cent."""
    passed = 0
    for seed in range(1000):
        original, masked = values(seed, shift=0.5, slope=1)
        test = paired(original, masked)
        passed += test.passes(100 * 0.5 / abs(test.whole))
    assert stats.binomtest(passed, 1000, 0.05).pvalue > 1e-6
    assert passed > 0


@pytest.mark.parametrize("alpha", [0, 0.5, -1, math.nan])
def test_levels_outside_are_refused(alpha):
    original, masked = values(1)
    with pytest.raises(OptionError, match="alpha must be .*above 0 and below 0.5"):
        paired(original, masked, alpha)
    with pytest.raises(OptionError, match="alpha must be .*above 0 and below 0.5"):
        by_regression(original, masked, alpha)


@pytest.mark.parametrize("shift", [0.0, 1e-12])
def test_nothing_is_per_cent_of_a_mean_that_is_only_rounding(shift):
    """Scikit-learn's diabetes is centred so; its regions were 1e14 per cent of such a mean."""
    original, masked = values(3)
    centred = original - original.mean() + shift
    level, slope = by_regression(centred, masked)
    for test in (paired(centred, masked), level):
        assert math.isnan(test.percent)
        assert test.p(10) == 1.0 or test.p(10) > 0.05
    assert slope.percent == pytest.approx(by_regression(original, masked)[1].percent)


def test_a_small_mean_is_still_a_mean():
    original, masked = values(3)
    centred = original - original.mean() + 1e-6
    assert paired(centred, masked).percent > 1e6
