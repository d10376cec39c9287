"""Score intervals against the quadratic they solve, and against Wilson's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from pramana_core.channels import Symmetric
from pramana_core.marginals.score_interval import Tilt, deviates, possible, score_interval

Z = 1.959963984540054


def test_without_randomization_it_is_wilsons():
    for count in (0, 1, 7, 19, 20):
        share = np.array([count / 20])
        low, high = score_interval(share, share, np.ones(1), 20, Z, population=True)
        wilson = binomtest(count, 20).proportion_ci(method="wilson")
        assert low[0] == pytest.approx(wilson.low, abs=1e-6)
        assert high[0] == pytest.approx(wilson.high, abs=1e-6)


def test_without_randomization_there_is_no_error_given_the_records():
    share = np.array([0.0, 0.2, 0.7])
    low, high = score_interval(share, share, np.ones(3), 50, Z, population=False)
    assert low == pytest.approx(share, abs=1e-12)
    assert high == pytest.approx(share, abs=1e-12)


@pytest.mark.parametrize("population", [True, False])
def test_the_ends_are_where_the_supposed_variance_says(population: bool):
    channel = Symmetric.from_probability(5, 0.4)
    decoder = channel.decoder()
    true = np.array([0.02, 0.18, 0.3, 0.4, 0.1])
    law = true @ channel.matrix()
    squares = np.square(decoder)
    # W takes two values: the line is that of the other records in proportion.
    peak = np.diag(channel.matrix() @ squares.T)
    slopes = [
        peak[cell] - (squares[cell] @ law - true[cell] * peak[cell]) / (1 - true[cell])
        for cell in range(5)
    ]
    low, high = score_interval(true, squares @ law, np.array(slopes), 300, Z, population=population)
    for cell, ends in enumerate(zip(low, high, strict=True)):
        moved = (Z**2 - 1) / 6 * (slopes[cell] - 1) / 300
        for w in ends:
            others = np.delete(true, cell) / (1 - true[cell]) * (1 - w)
            supposed = np.insert(others, cell, w) @ channel.matrix()
            variance = squares[cell] @ supposed - (w**2 if population else w)
            distance = true[cell] - moved - w
            assert distance**2 == pytest.approx(Z**2 * variance / 300, rel=1e-9)


def test_where_the_estimator_takes_two_values_the_tilt_is_the_line_to_its_peak():
    channel = Symmetric.from_probability(5, 0.4)
    weight, records = channel.decoder()[0], 300
    means = channel.matrix() @ np.stack([weight, weight**2, weight**3], axis=1)
    reports = np.array([31.0, 60, 93, 70, 46])
    sums = reports @ np.stack([weight, weight**2, weight**3], axis=1)
    tilt = Tilt.of((sums[0], sums[1], sums[2]), (means[0, 1], means[0, 2]), records)
    assert tilt.slope == pytest.approx(means[0, 1] - means[1, 1])


@pytest.mark.parametrize("population", [True, False])
@pytest.mark.parametrize("slope", [1.0, 2.0, 7.5])
def test_a_test_rejects_what_is_outside_the_interval(slope: float, population: bool):
    share, square, slopes = np.array([0.04]), np.array([0.9]), np.array([slope])
    for z in (1.0, 1.6, Z, 3.3):
        ends = score_interval(share, square, slopes, 400, z, population=population)
        for end, at in zip(ends, (z, -z), strict=True):
            found = deviates(float(end[0]), share, square, slopes, 400, population=population)
            assert found == pytest.approx(at, rel=1e-9)


def test_no_interval_claims_what_is_impossible_or_certain():
    low, high = np.array([-0.2, 0.1, 0.9, 1.02, -0.3]), np.array([0.1, 0.4, 1.3, 1.2, -0.1])
    estimate = np.array([-0.05, 0.2, 1.1, 1.1, -0.2])
    least, most = possible(low, high, estimate)
    assert least == pytest.approx([0.0, 0.1, 0.9, 0.92, 0.0])
    assert most == pytest.approx([0.1, 0.4, 1.0, 1.0, 0.1])
