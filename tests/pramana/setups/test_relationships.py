"""The motivation example and its companions: what table 1 prints, and the shapes that are named."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

from pramana.setups import DEBT, EXPENDITURE, GENDER, store

LARGE = 20_000
FALSE_ALARM = 1e-6
Z = float(stats.norm.isf(FALSE_ALARM / 2))


def within(values: Any, mean: float) -> bool:
    """Whether a sample's mean is what it should be, with a false alarm of one in a million."""
    return bool(abs(np.mean(values) - mean) <= Z * np.std(values) / np.sqrt(len(values)))


def test_the_store_has_the_moments_of_table_1():
    frame = store(1, LARGE)
    assert list(frame) == ["age", "gender", "expenditure", "debt"]
    assert frame["age"].between(20, 60).all()
    assert set(frame["gender"]) == {0, 1}
    assert within(frame["gender"], GENDER)
    for name, (mean, deviation) in (("expenditure", EXPENDITURE), ("debt", DEBT)):
        assert within(frame[name], mean)
        assert within((frame[name] - mean) ** 2, deviation**2)
        # The negative control: a twentieth of a standard deviation off is seen.
        assert not within(frame[name], mean + deviation / 20)


def test_expenditure_is_a_hump_that_no_line_sees_and_debt_is_linear():
    frame = store(2, LARGE)
    bins = np.digitize(frame["age"], [25, 30, 35, 40, 45, 50, 55])
    means = frame["expenditure"].groupby(bins).mean().to_numpy()
    assert (np.diff(means[:4]) > 25).all()
    assert (np.diff(means[4:]) < -25).all()
    assert within((frame["age"] - 40) * (frame["expenditure"] - EXPENDITURE[0]), 0.0)
    x, y = frame["expenditure"], frame["debt"]
    linear = np.polyval(np.polyfit(x, y, 1), x)
    curved = np.polyval(np.polyfit(x, y, 4), x)
    assert np.corrcoef(x, y)[0, 1] < -0.9
    gained = (np.var(y - linear) - np.var(y - curved)) / np.var(y - curved) * LARGE
    assert gained < stats.chi2.isf(FALSE_ALARM, 3)
