"""The motivation example and its companions: what table 1 prints, and the shapes that are named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from pramana.setups import DATASETS, DEBT, EXPENDITURE, GENDER, store

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


def monotone_and_free(frame: Any, x: str, y: str) -> tuple[float, float]:
    """The R2 of y on x by a monotonic function and by any step function with 20 steps."""
    from sklearn.isotonic import IsotonicRegression

    values, target = frame[x].to_numpy(dtype=float), frame[y].to_numpy(dtype=float)
    monotone = max(
        float(np.var(IsotonicRegression(increasing=up).fit_transform(values, target)))
        for up in (True, False)
    )
    steps = np.searchsorted(np.quantile(values, np.arange(1, 20) / 20), values)
    means = np.bincount(steps, target) / np.bincount(steps)
    return monotone / float(np.var(target)), float(np.var(means[steps]) / np.var(target))


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in DATASETS if name[:2] in ("NM", "MN")])
def test_relationships_are_of_the_kind_that_the_name_says(name: str):
    """Also those among the confidential columns themselves."""
    dataset = DATASETS[name]
    frame = dataset.make(7, 4000)
    monotone, free = monotone_and_free(frame, "s1", "x1")
    among, freely = monotone_and_free(frame, "x1", "x2")
    if name.startswith("MNL"):
        assert monotone > free - 0.02
        assert among > freely - 0.02
        assert among > 0.5
        line = np.corrcoef(frame["x1"], frame["x2"])[0, 1] ** 2
        assert among > line + 0.02
    elif name == "NM.05":
        halves = [monotone_and_free(frame[frame["s2"] == k], "s1", "x1") for k in (0, 1)]
        assert all(free > monotone + 0.2 for monotone, free in halves)
        assert freely > among + 0.2
    else:
        assert free > monotone + 0.15
        assert freely > among + 0.05
