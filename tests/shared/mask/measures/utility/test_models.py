"""Models fitted on masked and on true tables: which, how they are compared, what is kept."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from pramana_core.mask.measures.compared import compared
from pramana_core.mask.measures.utility_rows import (
    ModelPair,
    independents,
    model_pair,
    mse_ratio,
    relationship,
)

RNG = np.random.default_rng(1)


def pair(true, by_true, by_masked, left_out=None):
    """A pair of models as they would be after fitting."""
    values = [np.asarray(v, float) for v in (true, by_true, left_out or by_true, by_masked)]
    return ModelPair("linear", "x", ("s",), *values)


def test_each_column_is_predicted_from_s_and_from_all_others():
    s, x = RNG.standard_normal((30, 6)), RNG.standard_normal((30, 3))
    told = tuple(f"S{k}" for k in range(1, 7))
    assert independents(compared(s, x, x), 1) == (told, (*told, "X1", "X3"))
    assert independents(compared(None, x, x), 1) == (("X1", "X3"),)


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
