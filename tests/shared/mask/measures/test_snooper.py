"""A snooper's gain: none where Y tells nothing, what there is where it tells something."""

from __future__ import annotations

import numpy as np
import pytest

from pramana_core.mask.measures.snooper import snooper_gains
from tests.lengths import repetitions

pytestmark = pytest.mark.usefixtures("three_bandwidths")


@pytest.mark.slow
def test_who_has_x_knows_x(humped):
    s, x = humped(1)
    for found in snooper_gains(s, x, x, np.random.default_rng(2)):
        assert found.together > 0.98
        assert found.gain == pytest.approx(found.together - found.without)
        assert found.p < 1e-6


@pytest.mark.slow
def test_the_gain_is_not_distinguishable_from_zero_if_y_tells_nothing(humped, independent, noisy):
    """Over a few tables; and for additive noise it is."""
    gains, controls = [], []
    for seed in range(repetitions(3, 6)):
        table = humped(seed, 400)
        rng = np.random.default_rng(100 + seed)
        gains += [snooper_gains(*table, independent(table, seed), rng)]
        controls += [snooper_gains(*table, noisy(table, seed), rng)]
    for place in range(2):
        found = np.array([gain[place].gain for gain in gains])
        assert np.abs(found).max() < 0.02
        spread = found.std(ddof=1) / np.sqrt(len(found))
        assert found.mean() < 3 * spread + 1e-12
        assert all(control[place].p < 1e-3 for control in controls)
        assert all(control[place].gain > 0.02 for control in controls)


@pytest.mark.slow
def test_curves_in_y_are_used():
    """Y = (X - E(X|S))^2 tells the size of a deviation; X^2 is what it tells of."""
    rng = np.random.default_rng(3)
    s, y = rng.standard_normal((2, 400, 1))
    x = s + y**2 + 0.2 * rng.standard_normal((400, 1))
    (found,) = snooper_gains(s, x, y, np.random.default_rng(4))
    assert found.gain > 0.5


def test_without_s_the_mean_is_all_he_has():
    """A left-out mean gives the record left out away; the snooper must not see it as E(X|S)."""
    rng = np.random.default_rng(5)
    x = rng.standard_normal((200, 1))
    y = rng.standard_normal((200, 1))
    (found,) = snooper_gains(np.empty((200, 0)), x, y, np.random.default_rng(6))
    assert abs(found.without) < 0.05
    assert found.gain < 0.03


def test_constant_y_gains_nothing_exactly(humped):
    s, x = humped(7, 100)
    for found in snooper_gains(s, x, np.ones((100, 1)), np.random.default_rng(8)):
        assert (found.gain, found.error, found.p) == (0, 0, 0.5)


@pytest.mark.parametrize("told", [0, 3])
def test_curves_see_what_lines_see_where_records_are_alike_in_s(told):
    """A left-out mean among records alike in S lacks the record's own value, and so tells it."""
    rng = np.random.default_rng(1)
    place = rng.integers(0, 3, 1000)
    s = np.column_stack([place == k for k in range(1, told)]) if told else np.empty((1000, 0))
    x = (rng.random(1000) < 0.2 + 0.2 * place).astype(float)[:, None]
    y = np.where(rng.random((1000, 1)) < 0.2, 1 - x, x)
    (found,) = snooper_gains(s.astype(float), x, y, np.random.default_rng(2))
    assert found.gain > 0.2
