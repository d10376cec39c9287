"""Marginals by hand and by scipy."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from pramana_core.mask.measures.core.compared import compared
from pramana_core.mask.measures.utility_rows import group_means, marginal


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
