"""The experiments on masking: short forms, and what their findings can and cannot say."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from benchmarks.reproduce.alahmadi import methods, pilot
from benchmarks.reproduce.alahmadi.pilot import compared
from benchmarks.reproduce.engine import Setting
from benchmarks.reproduce.run import catalogue, papers, png, select
from tests.lengths import repetitions

QUICK = Setting(seed=1, quick=True)


@pytest.fixture
def few_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pilot, "QUICK_RECORDS", repetitions(100, 400))


def test_a_papers_name_stands_for_all_of_its_experiments():
    names = [e.name for e in select(["alahmadi"])]
    assert names == [e.name for e in catalogue() if e.name.startswith("alahmadi-")]
    assert len(names) == 4
    assert papers() == ("ma", "masiv", "frapp", "alahmadi", "sharkey")


def test_slope_and_r_squared_of_fitted_values():
    true = np.array([0.0, 1.0, 2.0, 3.0])
    assert compared(true, 5 + 0.5 * true) == pytest.approx((0.5, 1.0))
    assert compared(true, np.ones(4)) == (0.0, 0.0)


def gains(method: str, gain: float) -> pd.DataFrame:
    rows = {"method": method, "table": list("abcde"), "gain": gain, "gain error": 0.01}
    return pd.DataFrame(rows)


def test_a_gain_of_chance_is_told_from_one_that_noise_gives():
    assert methods.no_gain(gains("nmegadp", 0.005), "nmegadp").agrees
    assert methods.no_gain(gains("nmegadp", 0.1), "nmegadp").agrees is False
    assert methods.control(gains("sadp", 0.1)).agrees
    assert methods.control(gains("sadp", 0.005)).agrees is False


@pytest.mark.slow
def test_the_hump_is_destroyed_by_existing_methods_and_kept_by_the_proposed():
    result = methods.run_hump(QUICK)
    slopes = result.tables["hump"].set_index("method")["slope"]
    assert slopes["egadp"] < 0.2 < 0.9 < slopes["nmegadp"]
    assert png("x", "y", result.draw, result.height).startswith(b"\x89PNG")


@pytest.mark.slow
@pytest.mark.usefixtures("few_records")
@pytest.mark.parametrize("run", [pilot.run_six, pilot.run_pilot])
def test_grids_are_drawn_and_judged(run):
    result = run(QUICK)
    assert {f.agrees for f in result.findings} <= {True, False}
    assert png("x", "y", result.draw, result.height).startswith(b"\x89PNG")


def test_a_method_that_keeps_nothing_is_not_said_to_keep():
    """The negative control of the verdicts."""
    flat = pd.DataFrame(
        {"shape": ["linear"], "kind": ["linear"], "method": ["egadp"], "slope": [0.0],
         "r_squared": [0.0]}
    )  # fmt: skip
    assert pilot._keeps(flat, "egadp", ("linear",), "EGADP keeps").agrees is False
