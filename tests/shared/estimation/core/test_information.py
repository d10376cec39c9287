"""The inverse of an information, and the matrices that have none."""

from __future__ import annotations

import numpy as np
import pytest

from pramana_core.channels import Symmetric, Withheld
from pramana_core.errors import EstimationError
from pramana_core.estimation.axes import Stratum
from pramana_core.estimation.information import inverse_information


def test_of_an_invertible_channel_it_is_the_moment_estimates_covariance():
    channel = Symmetric.from_gamma(4, 9.0)
    theta = np.array([0.4, 0.3, 0.2, 0.1])
    expected = 500 * channel.apply(theta, 0)
    found = inverse_information([Stratum(expected, (channel,))], theta, 1)
    decoder = channel.decoder()
    assert found == pytest.approx((decoder * expected) @ decoder.T, rel=1e-9)
    assert found == pytest.approx(found.T, rel=0, abs=0)


def test_reports_that_cannot_tell_cells_apart_are_refused():
    channels = (Symmetric.from_gamma(3, 9.0), Withheld(2))
    reported = np.array([[30.0], [20.0], [10.0]])
    with pytest.raises(EstimationError):
        inverse_information([Stratum(reported, channels)], np.full((3, 2), 1 / 6), 2)
