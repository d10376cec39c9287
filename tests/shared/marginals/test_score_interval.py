"""Score intervals against the quadratic they solve, and against Wilson's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from shared.channels import Symmetric
from shared.marginals.score_interval import score_interval

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
    peak = np.diag(channel.matrix() @ squares.T)
    low, high = score_interval(true, squares @ law, peak, 300, Z, population=population)
    for cell, ends in enumerate(zip(low, high, strict=True)):
        rest = (squares[cell] @ law - true[cell] * peak[cell]) / (1 - true[cell])
        moved = (Z**2 - 1) / 6 * (peak[cell] - rest - 1) / 300
        for w in ends:
            others = np.delete(true, cell) / (1 - true[cell]) * (1 - w)
            supposed = np.insert(others, cell, w) @ channel.matrix()
            variance = squares[cell] @ supposed - (w**2 if population else w)
            distance = true[cell] - moved - w
            assert distance**2 == pytest.approx(Z**2 * variance / 300, rel=1e-9)
