"""Estimates do not hang on the last digits of counts that are none."""

from __future__ import annotations

import numpy as np
import pytest

from pramana_core.channels import Symmetric
from pramana_core.estimation.axes import Stratum
from pramana_core.estimation.likelihood import start


@pytest.mark.parametrize("nudge", [-1e-13, 0.0, 1e-13])
def test_a_moment_estimate_at_the_edge_is_the_most_likely_table(nudge: float):
    channel = Symmetric.from_probability(3, 0.4)
    reported = np.array([600.0, 400.0, 0.0]) @ channel.matrix()
    reported[2] *= 1 + nudge
    found, at_the_maximum = start([Stratum(reported, (channel,))])
    assert at_the_maximum
    assert found.min() >= 0
    np.testing.assert_allclose(found, [0.6, 0.4, 0.0], rtol=1e-9, atol=1e-12)
