"""Models fitted on masked and on true tables: which, how they are compared, what is kept."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from pramana_core.errors import OptionError
from pramana_core.mask.measures.compared import compared
from pramana_core.mask.measures.utility_rows import (
    ModelPair,
    by_regression,
    correlations,
    group_means,
    independents,
    marginal,
    model_pair,
    mse_ratio,
    paired,
    relationship,
)

RNG = np.random.default_rng(1)


def pair(true, by_true, by_masked, left_out=None):
    """A pair of models as they would be after fitting."""
    values = [np.asarray(v, float) for v in (true, by_true, left_out or by_true, by_masked)]
    return ModelPair("linear", "x", ("s",), *values)


def test_all_sets_of_columns_are_used_for_a_small_table():
    """AlAhmadi's table 2: two columns of X and two of S make seven models for each X."""
    data = compared(*RNG.standard_normal((3, 30, 2)))
    sets = independents(data, 0)
    assert len(sets) == len(set(sets)) == 7
    assert sets[0] == ("S1",)
    assert sets[-1] == ("S1", "S2", "X2")


def test_a_large_table_has_single_columns_s_and_all():
    s, x = RNG.standard_normal((30, 6)), RNG.standard_normal((30, 3))
    sets = independents(compared(s, x, x), 1)
    assert sets[:8] == (*((f"S{k}",) for k in range(1, 7)), ("X1",), ("X3",))
    assert [len(one) for one in sets[8:]] == [6, 2, 8]


def test_a_very_large_table_has_s_the_others_and_all():
    s, x = RNG.standard_normal((30, 6)), RNG.standard_normal((30, 9))
    assert [len(one) for one in independents(compared(s, x, x), 1)] == [6, 8, 14]


def test_categories_count_as_one_column():
    s = pd.DataFrame({"group": list("uvw") * 10})
    x = RNG.standard_normal((30, 1))
    data = compared(s, x, x)
    assert independents(data, 0) == (("group",),)
    assert independents(compared(None, x, x), 0) == ()


@pytest.mark.parametrize("kind", ["linear", "kernel"])
def test_y_equal_to_x_keeps_everything(humped, kind):
    s, x = humped(2)
    found = model_pair(compared(s, x, x), 0, ("S1", "X2"), kind, np.random.default_rng(3))
    line = relationship(found)
    assert line.slope == pytest.approx(1, abs=1e-9)
    assert line.r2 == pytest.approx(1, abs=1e-9)
    assert 0.9 < mse_ratio(found).ratio <= 1
    assert found.about == "X1 given S1, X2"


def test_the_masked_model_is_asked_about_true_records():
    """Y = 2 X + 1 for both columns: the model of Y2 given Y1, at true X1, is known by hand."""
    x = RNG.standard_normal((50, 2))
    found = model_pair(compared(None, x, 2 * x + 1), 1, ("X1",), "linear", RNG)
    slope, level = np.polyfit(2 * x[:, 0] + 1, 2 * x[:, 1] + 1, 1)
    assert found.by_masked == pytest.approx(level + slope * x[:, 0])


def test_a_linear_method_keeps_lines_and_loses_the_hump(humped, independent):
    from pramana_core.mask.methods.gadp import egadp

    table = humped(4)
    linear = compared(*table, egadp(*table, np.random.default_rng(5)).matrix)
    curved = compared(*table, independent(table, 6))
    rng = np.random.default_rng(7)
    straight = relationship(model_pair(linear, 0, ("S1", "S2"), "linear", rng))
    assert (straight.slope, straight.r2) == pytest.approx((1, 1))
    lost = model_pair(linear, 0, ("S1",), "kernel", rng)
    assert abs(relationship(lost).slope) < 0.2
    assert mse_ratio(lost).ratio > 2
    kept = model_pair(curved, 0, ("S1",), "kernel", rng)
    assert relationship(kept).slope == pytest.approx(1, abs=0.1)
    assert relationship(kept).r2 > 0.95
    assert mse_ratio(kept).ratio < 1.1


def test_slope_and_r2_are_those_of_a_regression():
    by_true, by_masked = RNG.standard_normal((2, 40))
    found = relationship(pair(by_true, by_true, by_masked))
    assert found.slope == pytest.approx(np.polyfit(by_true, by_masked, 1)[0])
    assert found.r2 == pytest.approx(np.corrcoef(by_true, by_masked)[0, 1] ** 2)


def test_no_relationship_has_no_slope():
    found = relationship(pair([1.0, 2, 3], [2, 2, 2], [1, 2, 3]))
    assert math.isnan(found.slope)
    assert math.isnan(found.r2)


def test_a_lost_relationship_has_slope_and_r2_zero():
    found = relationship(pair([1.0, 2, 3], [1, 2, 3], [5, 5, 5]))
    assert (found.slope, found.r2) == (0, 0)


def test_mse_ratio_by_hand():
    found = mse_ratio(pair([0.0, 1, 2, 3], [1, 0, 1, 4], [2, 1, 2, 3]))
    assert found.ratio == pytest.approx(1.0)
    assert found.baseline == pytest.approx(1.25)
    # Errors 4 0 0 0 against 1 1 1 1: their differences have standard deviation 2.
    assert found.error == pytest.approx(2 / math.sqrt(4))


def test_a_perfect_model_has_no_ratio():
    assert math.isnan(mse_ratio(pair([0.0, 1, 2], [0, 1, 2], [0, 1, 3])).ratio)


# Correlation matrices of the true and the masked table.


S, X, Y = RNG.standard_normal((40, 1)), *RNG.standard_normal((2, 40, 2))


def test_matrices_are_those_of_scipy():
    data = compared(S, X, Y)
    expected = np.corrcoef(np.column_stack([S, Y]).T)
    assert correlations(data, "pearson").masked == pytest.approx(expected)
    ranks = stats.spearmanr(np.column_stack([S, X])).statistic
    assert correlations(data, "spearman").original == pytest.approx(ranks)


def test_differences_leave_s_with_itself_out():
    two = np.column_stack([S, RNG.standard_normal(40)])
    found = correlations(compared(two, X, Y), "pearson")
    gap = np.abs(found.masked - found.original)
    pairs = [(0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    assert sorted(np.abs(found.differences)) == pytest.approx(sorted(gap[p] for p in pairs))
    assert found.largest == pytest.approx(max(gap[p] for p in pairs))
    assert found.mean == pytest.approx(np.mean([gap[p] for p in pairs]))


def test_exact_moments_keep_pearson_exactly_and_any_order_keeps_spearman():
    from pramana_core.mask.methods.gadp import egadp

    y = egadp(S, X, np.random.default_rng(2)).matrix
    assert correlations(compared(S, X, y), "pearson").largest < 1e-9
    assert correlations(compared(S, X, np.exp(X)), "spearman").largest < 1e-9
    assert correlations(compared(S, X, np.exp(X)), "pearson").largest > 0.01


def test_a_constant_column_correlates_with_nothing():
    found = correlations(compared(S, X, np.ones_like(X)), "pearson")
    assert found.masked[1:, 0] == pytest.approx([0, 0])


def test_one_column_alone_has_no_pairs():
    found = correlations(compared(None, X[:, 0], Y[:, 0]), "pearson")
    assert (found.largest, found.mean) == (0, 0)


# Marginals by hand and by scipy.


def test_numbers_are_those_of_numpy_and_scipy():
    true, masked = np.random.default_rng(1).standard_normal((2, 60)).round(1)
    found = marginal(true, masked)
    assert found.mean == pytest.approx((masked.mean() - true.mean()) / true.std())
    assert found.spread == pytest.approx(masked.std() / true.std())
    assert found.distance == pytest.approx(stats.ks_2samp(true, masked).statistic)
    error = stats.sem((masked - true) / true.std())
    assert found.mean_error == pytest.approx(error)
    cuts = [0.05, 0.25, 0.5, 0.75, 0.95]
    gap = np.abs(np.quantile(masked, cuts) - np.quantile(true, cuts)).max()
    assert found.quantile == pytest.approx(gap / true.std())


def test_the_same_values_in_another_order_are_the_same_marginal():
    true = np.random.default_rng(2).standard_normal(50)
    found = marginal(true, true[::-1])
    assert (found.distance, found.quantile) == (0, 0)
    assert found.mean == pytest.approx(0, abs=1e-12)
    assert found.spread == pytest.approx(1)


def test_the_category_that_moved_most_is_told():
    s = pd.DataFrame({"group": ["u"] * 10 + ["v"] * 10 + ["w"] * 3, "age": np.arange(23.0)})
    x = np.random.default_rng(3).standard_normal(23)
    y = x.copy()
    y[10:20] -= 2 * x.std()
    y[20:] += 9
    (found,) = group_means(compared(s, x, y), 0)
    assert (found.column, found.category, found.records) == ("group", "v", 10)
    assert found.difference == pytest.approx(-2)
    assert found.error == pytest.approx(0, abs=1e-12)
    assert len(group_means(compared(s, x, y), 0, fewest=30)) == 0


# Equivalence tests: they pass exactly if the 1 - 2 alpha interval lies inside the region.


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
