"""The experiments on masking: short forms, and what their findings can and cannot say."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from benchmarks.reproduce import alahmadi
from benchmarks.reproduce.alahmadi import compared
from benchmarks.reproduce.engine import Setting
from benchmarks.reproduce.run import png
from tests.lengths import repetitions

QUICK = Setting(seed=1, quick=True)


@pytest.fixture
def few_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alahmadi, "QUICK_RECORDS", repetitions(100, 400))


def test_slope_and_r_squared_of_fitted_values():
    true = np.array([0.0, 1.0, 2.0, 3.0])
    assert compared(true, 5 + 0.5 * true) == pytest.approx((0.5, 1.0))
    assert compared(true, np.ones(4)) == (0.0, 0.0)


@pytest.mark.slow
def test_the_hump_is_destroyed_by_existing_methods_and_kept_by_the_proposed():
    result = alahmadi.run_hump(QUICK)
    slopes = result.tables["hump"].set_index("method")["slope"]
    assert slopes["egadp"] < 0.2 < 0.9 < slopes["nmegadp"]
    assert png("x", "y", result.picture, result.height).startswith(b"\x89PNG")


@pytest.mark.slow
@pytest.mark.usefixtures("few_records")
@pytest.mark.parametrize("run", [alahmadi.run_six, alahmadi.run_pilot])
def test_grids_are_drawn_and_judged(run):
    result = run(QUICK)
    assert {f.agrees for f in result.findings} <= {True, False}
    assert png("x", "y", result.picture, result.height).startswith(b"\x89PNG")


def test_a_method_that_keeps_nothing_is_not_said_to_keep():
    """The negative control of the verdicts."""
    flat = {"shape": "a", "slope": 0.0, "r_squared": 0.0}
    kinds = (alahmadi.LINEAR, alahmadi.MONOTONIC, alahmadi.OTHER)
    methods_of = (*alahmadi.EXISTING, *alahmadi.KEEPERS)
    found = pd.DataFrame([{**flat, "method": m, "kind": k} for m in methods_of for k in kinds])
    verdicts = [bool(claim.agrees) for claim in alahmadi.findings(found)]
    assert verdicts == [False] * 4 + [True] * 2
