"""Intervals of classes' shares by the delta method where there is noise."""

from __future__ import annotations

import numpy as np
import pytest

from pramana_core.learn.tree.node import share_intervals


def test_noise_widens_them_as_the_error_of_a_ratio():
    """Of many records an end is the normal one, by the delta method of T / n."""
    counts = np.array([[300_000.0, 700_000.0]])
    covariance = np.array([[[9e6, -2e6], [-2e6, 4e6]]])
    low, high = share_intervals(counts, covariance, 10_000_000)
    slope = np.array([0.7, -0.3]) / 1e6
    error = np.sqrt(slope @ covariance[0] @ slope + 0.3 * 0.7 / 1e6)
    assert low[0, 0] == pytest.approx(0.3 - 1.959964 * error, abs=2e-5)
    assert high[0, 0] == pytest.approx(0.3 + 1.959964 * error, abs=2e-5)
    assert low[0, 1] == pytest.approx(1 - high[0, 0])
