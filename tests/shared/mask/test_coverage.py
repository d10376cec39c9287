"""Intervals from masked records cover where moments and curves are kept, and else do not.

Held are regressions of Y on S, of S on Y and of Y on Y, and the mean of Y (names in the setting);
each interval is one of 95 % in the population from which the table was drawn. The settings of
`benchmarks/coverage` repeat this 1,000 times and write docs/coverage.md.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy import stats

from benchmarks.coverage.estimates import masked_intervals
from benchmarks.coverage.setting import Coverage, Setting, covered
from pramana_core.mask import METHODS
from tests.lengths import repetitions

FALSE_ALARM = 1e-6
pytestmark = [pytest.mark.slow, pytest.mark.calibration]


def repeated(name: str, law: str, times: int) -> Coverage:
    draw = partial(masked_intervals, method=METHODS[name], law=law, n=200)
    return covered(Setting(name, law, 77, draw), range(times))


def too_few(found: Coverage, each: float = 0.93) -> np.ndarray:
    """Which intervals hold the truth so rarely that chance does it once in a million tables."""
    times, intervals = found.truth.shape
    fewest = stats.binom.ppf(FALSE_ALARM / intervals, times, each)
    return np.asarray(found.holds.sum(axis=0) < fewest)


def test_linear_regressions_are_covered():
    found = repeated("egadp", "linear", repetitions(60, 150))
    assert not too_few(found).any(), found.each
    assert too_few(found.narrowed(0.4)).any()


def test_inexact_moments_are_not_covered():
    """The negative control: the errors leave out as much variance again."""
    found = repeated("gadp", "linear", 600)
    assert too_few(found, 0.93).sum() >= 3
    assert found.mean < 0.9


def test_what_a_method_flattens_is_not_covered():
    """Squares of S under EGADP are 0, with small errors."""
    found = repeated("egadp", "bent", repetitions(30, 60))
    assert found.each[[2, 4]].tolist() == [0.0, 0.0]
    assert not too_few(found)[0]
