"""What tests of masked tables share."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from pramana_core.kernel_regression import tuning

CAMPAIGN = {"PRAMANA_CAMPAIGN", "PRAMANA_MASK_STORES"}
"""One of these is set where `make campaign` shows at length what tests show in short."""


@pytest.fixture(scope="module")
def three_bandwidths() -> Iterator[None]:
    """Kernels are tuned among three bandwidths in place of nine, narrow, middling and wide.

    For tests that fit kernels by the hundred and are not about how well they fit. `make campaign`
    tunes them among all.
    """
    with pytest.MonkeyPatch.context() as patch:
        if not CAMPAIGN & os.environ.keys():
            patch.setattr(tuning, "BANDWIDTHS", tuning.BANDWIDTHS[2:7:2])
        yield
