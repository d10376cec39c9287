"""Models fitted on masked and on true tables: which, how they are compared, what is kept."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from pramana_core.mask import METHODS
from pramana_core.mask.measures.compared import compared
from pramana_core.mask.measures.utility import (
    error_ratio,
    independents,
    model_rows,
    relationship,
)

RNG = np.random.default_rng(1)


def test_each_column_is_predicted_from_s_and_from_all_others():
    s, x = RNG.standard_normal((30, 6)), RNG.standard_normal((30, 3))
    told = tuple(f"S{k}" for k in range(1, 7))
    assert independents(compared(s, x, x), 1) == (told, (*told, "X1", "X3"))
    assert independents(compared(None, x, x), 1) == (("X1", "X3"),)
    group = pd.DataFrame({"group": list("uvw") * 10})
    assert independents(compared(group, x[:, :1], x[:, :1]), 0) == (("group",),)
    assert independents(compared(None, x[:, :1], x[:, :1]), 0) == ()


def values(data, independent, kind):
    """Slope, R2 and error ratio of the first column's model."""
    rows = model_rows(data, 0, independent, kind, np.random.default_rng(3))
    assert {row.about for row in rows} == {f"X1 given {', '.join(independent)}"}
    return [row.value for row in rows]


@pytest.mark.parametrize("kind", ["linear", "kernel"])
def test_y_equal_to_x_keeps_everything(humped, kind):
    s, x = humped(2)
    slope, r2, ratio = values(compared(s, x, x), ("S1", "X2"), kind)
    assert (slope, r2) == pytest.approx((1, 1), abs=1e-9)
    assert 0.9 < ratio <= 1


def test_the_masked_model_is_asked_about_true_records():
    """Y = 2 X + 1 for both columns: slopes are the same, and levels are one off."""
    first = RNG.standard_normal(50)
    x = np.column_stack([first + 0.1 * RNG.standard_normal(50), first])
    slope, r2, ratio = values(compared(None, x, 2 * x + 1), ("X2",), "linear")
    assert (slope, r2) == pytest.approx((1, 1))
    b, a = np.polyfit(x[:, 1], x[:, 0], 1)
    # Y1 = 1 + 2 a + b (Y2 - 1), asked at X2.
    assert ratio > ((1 + 2 * a - b - a) ** 2) / np.var(x[:, 0] - a - b * x[:, 1]) * 0.8


def test_a_linear_method_keeps_lines_and_loses_the_hump(humped, independent):
    table = humped(4)
    linear = compared(*table, METHODS["egadp"](*table, np.random.default_rng(5)).matrix)
    curved = compared(*table, independent(table, 6))
    assert values(linear, ("S1", "S2"), "linear")[:2] == pytest.approx((1, 1))
    slope, _, ratio = values(linear, ("S1",), "kernel")
    assert abs(slope) < 0.2
    assert ratio > 2
    slope, r2, ratio = values(curved, ("S1",), "kernel")
    assert slope == pytest.approx(1, abs=0.1)
    assert r2 > 0.95
    assert ratio < 1.1


def test_slope_and_r2_are_those_of_a_regression():
    by_true, by_masked = RNG.standard_normal((2, 40))
    slope, r2 = relationship(by_true, by_masked, 1.0)
    assert slope == pytest.approx(np.polyfit(by_true, by_masked, 1)[0])
    assert r2 == pytest.approx(np.corrcoef(by_true, by_masked)[0, 1] ** 2)
    assert all(map(math.isnan, relationship(np.full(40, 2.0), by_masked, 1.0)))
    assert relationship(by_true, np.full(40, 5.0), 1.0) == (0, 0)


def test_error_ratio_by_hand():
    true, left_out = np.array([0.0, 1, 2, 3]), np.array([1.0, 0, 1, 4])
    ratio, error, baseline = error_ratio(true, left_out, np.array([2.0, 1, 2, 3]))
    assert (ratio, baseline) == pytest.approx((1.0, 1.25))
    # Errors 4 0 0 0 against 1 1 1 1: their differences have standard deviation 2.
    assert error == pytest.approx(2 / math.sqrt(4))
    assert all(map(math.isnan, error_ratio(true, true, left_out)))
