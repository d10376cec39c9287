"""The measures on the motivation example, masked by the methods themselves."""

from __future__ import annotations

import numpy as np
import pytest

from pramana.setups.relationships import store
from pramana_core.mask import METHODS
from pramana_core.mask.measures.core.compared import compared
from pramana_core.mask.measures.models import model_pair, relationship
from pramana_core.mask.measures.snooper import snooper_gains
from tests.lengths import repetitions

SEEDS = repetitions(2, 5)


def tables(method):
    """The store of several seeds and its masked copies."""
    for seed in range(SEEDS):
        frame = store(np.random.default_rng(seed))
        told, true = frame[["age", "gender"]], frame[["expenditure", "debt"]]
        masked = METHODS[method](told, true, np.random.default_rng(100 + seed)).values
        yield seed, compared(told, true, masked)


@pytest.mark.slow
@pytest.mark.calibration
@pytest.mark.campaign
@pytest.mark.parametrize(
    "method",
    ["egadp", "nmegadp", "nmegadp-shuffle", "sadp"],
)
def test_a_kernel_snooper_gains_from_additive_noise_alone(method):
    """A gain within three standard errors of zero over the seeds; SADP is the negative control.

    In short `test_measuring.py` shows the same, by the rows of a report."""
    gains = np.array(
        [
            [gain.gain for gain in snooper_gains("kernel", d.told, d.true, d.masked, rng)]
            for seed, d in tables(method)
            for rng in [np.random.default_rng(seed)]
        ]
    )
    mean, spread = gains.mean(axis=0), gains.std(axis=0, ddof=1) / np.sqrt(SEEDS)
    if method == "sadp":
        assert (mean > 0.01).all()
        assert (mean > 3 * spread).all()
    else:
        assert (np.abs(gains) < 0.01).all()
        assert (mean <= 3 * spread + 1e-12).all()


@pytest.mark.slow
@pytest.mark.calibration
@pytest.mark.parametrize(("method", "kept"), [("nmegadp", True), ("egadp", False)])
def test_the_hump_is_kept_or_lost(method, kept):
    for seed, data in tables(method):
        rng = np.random.default_rng(seed)
        found = relationship(model_pair(data, 0, ("age", "gender"), "kernel", rng))
        if kept:
            assert min(found.slope, found.r2) > 0.98
        else:
            assert max(abs(found.slope), found.r2) < 0.3
