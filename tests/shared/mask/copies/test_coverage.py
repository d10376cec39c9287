"""Intervals from masked copies cover; those that leave the masking out, or lose a curve, do not.

Held are regressions of Y on S, of S on Y and of Y on Y, and the mean of Y (names in the setting);
each interval is one of 95 % in the population from which the table was drawn. The settings of
`benchmarks/coverage` repeat this 1,000 times and write docs/coverage.md.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy import stats

from benchmarks.coverage.masked import masked_intervals
from benchmarks.coverage.setting import Coverage, Setting, covered
from pramana_core.mask import METHODS
from tests.lengths import repetitions

FALSE_ALARM = 1e-6
pytestmark = [pytest.mark.slow, pytest.mark.calibration]


def repeated(name: str, law: str, m: int, times: int, *, naive: bool = False) -> Coverage:
    draw = partial(masked_intervals, method=METHODS[name], law=law, n=200, m=m, naive=naive)
    return covered(Setting(name, law, 77, draw), range(times))


def too_few(found: Coverage, each: float = 0.93) -> np.ndarray:
    """Which intervals hold the truth so rarely that chance does it once in a million tables."""
    times, intervals = found.truth.shape
    fewest = stats.binom.ppf(FALSE_ALARM / intervals, times, each)
    return np.asarray(found.holds.sum(axis=0) < fewest)


@pytest.mark.parametrize(
    ("name", "m"),
    [
        ("egadp", 1),
        pytest.param("egadp", 3, marks=pytest.mark.campaign),
        ("gadp", 5),
    ],
)
def test_linear_regressions_are_covered(name, m):
    found = repeated(name, "linear", m, repetitions(60, 150))
    assert not too_few(found).any(), found.each
    assert too_few(found.narrowed(0.4)).any()


def test_curves_are_covered_by_what_keeps_them():
    found = repeated("nmegadp", "bent", 1, repetitions(25, 50))
    assert not too_few(found).any()
    assert too_few(found.narrowed(0.3)).any()


def test_one_copy_of_inexact_moments_is_not_covered_by_its_own_errors():
    """The negative control: u alone leaves out as much variance again."""
    found = repeated("gadp", "linear", 1, 600, naive=True)
    assert too_few(found, 0.93).sum() >= 3
    assert found.mean < 0.9


def test_what_a_method_flattens_is_not_covered():
    """Squares of S under EGADP: each copy says 0, and all say so with small errors."""
    found = repeated("egadp", "bent", 5, repetitions(30, 60))
    assert found.each[[2, 4]].tolist() == [0.0, 0.0]
    assert not too_few(found)[0]
