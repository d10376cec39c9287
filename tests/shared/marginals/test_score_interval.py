"""Score intervals against the quadratic they solve, and against Wilson's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from pramana_core.marginals.score_interval import deviates, possible, score_interval

Z = 1.959963984540054


def test_without_randomization_it_is_wilsons():
    for count in (0, 1, 7, 19, 20):
        share = np.array([count / 20])
        low, high = score_interval(share, share, 20, Z, population=True)
        wilson = binomtest(count, 20).proportion_ci(method="wilson")
        assert low[0] == pytest.approx(wilson.low, abs=1e-6)
        assert high[0] == pytest.approx(wilson.high, abs=1e-6)


@pytest.mark.parametrize("population", [True, False])
def test_the_ends_solve_the_equation_and_a_test_rejects_what_is_outside(population: bool):
    share, square = np.array([0.04, 0.3]), np.array([0.9, 0.5])
    for z in (1.0, 1.6, Z, 3.3):
        for end, at in zip(
            score_interval(share, square, 400, z, population=population), (z, -z), strict=True
        ):
            variance = square - share + (end * (1 - end) if population else 0)
            assert np.square(share - end) == pytest.approx(z**2 * variance / 400, rel=1e-9)
            for one in range(2):
                found = deviates(float(end[one]), share, square, 400, population=population)
                assert found[one] == pytest.approx(at, rel=1e-9)


def test_no_interval_claims_what_is_impossible_or_certain():
    low, high = np.array([-0.2, 0.1, 0.9, 1.02, -0.3]), np.array([0.1, 0.4, 1.3, 1.2, -0.1])
    estimate = np.array([-0.05, 0.2, 1.1, 1.1, -0.2])
    least, most = possible(low, high, estimate)
    assert least == pytest.approx([0.0, 0.1, 0.9, 0.92, 0.0])
    assert most == pytest.approx([0.1, 0.4, 1.0, 1.0, 0.1])
