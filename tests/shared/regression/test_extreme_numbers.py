"""Numbers whose powers no floating-point number holds end in an error that names their column."""

from __future__ import annotations

import numpy as np
import pytest

from pramana_core.errors import EstimationError
from pramana_core.mixed.table import MixedTable, NumericColumn
from pramana_core.regression.learning import learn_regression
from pramana_core.regression.options import RegressionOptions

RNG = np.random.default_rng(1)
AGE, DEBT = RNG.normal(40, 9, 60), RNG.normal(0, 1, 60)


def learned(age, debt, **options):
    table = MixedTable((NumericColumn("age", age), NumericColumn("debt", debt)), 60)
    return learn_regression([table], "debt", ["age"], RegressionOptions(**options))


@pytest.mark.parametrize("model", ["linear", "polynomial", "kernel", "tree"])
@pytest.mark.parametrize("scale", [1e98, 1e-100, 1e-310])
@pytest.mark.parametrize("column", ["age", "debt"])
def test_numbers_beyond_their_powers_are_refused(model, scale, column):
    values = {"age": AGE, "debt": DEBT}
    values[column] = values[column] * scale
    with pytest.raises(EstimationError, match=f"column '{column}'") as refused:
        learned(**values, model=model)
    assert refused.value.where == column


@pytest.mark.parametrize("scale", [1e30, 1e-30])
def test_large_and_small_units_change_no_fit(scale):
    plain, scaled = learned(AGE, DEBT), learned(AGE * scale, DEBT / scale)
    assert scaled.diagnostics[0].r2 == pytest.approx(plain.diagnostics[0].r2, rel=1e-9)


@pytest.mark.parametrize("offset", [1e9, 1e12])
def test_a_tree_asks_the_same_however_far_the_target_is_from_zero(offset):
    """Uncentred, the leaves' variances fall below zero by rounding."""
    debt = np.where(AGE > 40, 4.0, 0.0) + np.round(DEBT * 8) / 8  # eighths are added exactly
    plain, far = (learned(AGE, d, model="tree", min_leaf=10) for d in (debt, debt + offset))
    assert [n.threshold for n in far.form.nodes] == [n.threshold for n in plain.form.nodes]
    assert len(far.form.nodes) > 1
