"""Models fitted on masked and on true tables: which, how they are compared, what is kept."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from pramana_core.mask import METHODS
from pramana_core.mask.measures.measuring import compared
from pramana_core.mask.measures.utility import model_rows, models_of, relationship

RNG = np.random.default_rng(1)


def independents(s, x):
    """What each column of X is predicted from, in order."""
    return [others for _, others, kind in models_of(compared(s, x, x)[0]) if kind == "linear"]


def test_each_column_is_predicted_from_s_and_from_all_others():
    s, x = RNG.standard_normal((30, 6)), RNG.standard_normal((30, 3))
    told = tuple(f"S{k}" for k in range(1, 7))
    assert independents(s, x)[2:4] == [told, (*told, "X1", "X3")]
    assert independents(None, x)[1] == ("X1", "X3")
    group = pd.DataFrame({"group": list("uvw") * 10})
    assert independents(group, x[:, :1]) == [("group",)]
    assert independents(None, x[:, :1]) == []


def values(tables, independent, kind):
    """Slope and R2 of the first column's model."""
    rows = model_rows(*compared(*tables), (0, independent, kind), np.random.default_rng(3))
    assert {row.about for row in rows} == {f"X1 given {', '.join(independent)}"}
    return [row.value for row in rows]


@pytest.mark.parametrize("kind", ["linear", "kernel"])
def test_y_equal_to_x_keeps_everything(humped, kind):
    s, x = humped(2)
    assert values((s, x, x), ("S1", "X2"), kind) == pytest.approx([1, 1], abs=1e-9)


def test_a_linear_method_keeps_lines_and_loses_the_hump(humped, independent):
    table = humped(4)
    linear = (*table, METHODS["egadp"](*table, np.random.default_rng(5)).matrix)
    curved = (*table, independent(table, 6))
    assert values(linear, ("S1", "S2"), "linear") == pytest.approx([1, 1])
    slope, _ = values(linear, ("S1",), "kernel")
    assert abs(slope) < 0.2
    slope, r2 = values(curved, ("S1",), "kernel")
    assert slope == pytest.approx(1, abs=0.1)
    assert r2 > 0.95


def test_slope_and_r2_are_those_of_a_regression():
    by_true, by_masked = RNG.standard_normal((2, 40))
    slope, r2 = relationship(by_true, by_masked, 1.0)
    assert slope == pytest.approx(np.polyfit(by_true, by_masked, 1)[0])
    assert r2 == pytest.approx(np.corrcoef(by_true, by_masked)[0, 1] ** 2)
    assert all(map(math.isnan, relationship(np.full(40, 2.0), by_masked, 1.0)))
    assert relationship(by_true, np.full(40, 5.0), 1.0) == (0, 0)
