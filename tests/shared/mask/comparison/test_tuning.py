"""The noise that gives a snooper a chosen gain, against simulated snoopers."""

from __future__ import annotations

import numpy as np
import pytest

from pramana_core.errors import OptionError
from pramana_core.mask.comparison.comparing import expected_gain, most_gain, noise_for_gain
from pramana_core.mask.core.inputs import inputs
from pramana_core.mask.methods.gadp import cadp, sadp

METHODS = {"sadp": sadp, "cadp": cadp}


def table(seed, n, curved=False):
    rng = np.random.default_rng(seed)
    s = rng.uniform(-2, 2, (n, 2))
    r = rng.standard_normal((n, 2)) @ [[1.0, 0.7], [0.0, 0.8]]
    means = np.column_stack([s[:, 0] ** 2 if curved else s[:, 0], s[:, 1]])
    return s, (means + r) * [3.0, 50.0]


def explained(target, *columns):
    design = np.column_stack([np.ones(len(target)), *columns])
    rest = target - design @ np.linalg.lstsq(design, target)[0]
    return 1 - np.mean(rest**2, axis=0) / np.var(target, axis=0)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("gain", [0.02, 0.2])
def test_a_linear_snooper_gains_what_was_asked(method, gain):
    """In 200,000 records the found gain is within a hundredth of the asked one, or .001."""
    s, x = table(1, 200_000)
    rng = np.random.default_rng(2)
    noise = noise_for_gain(method, s, x, gain, rng, snooper="lines-only")
    y = METHODS[method](s, x, rng, noise=noise).matrix
    found = np.mean(explained(x, s, y) - explained(x, s))
    assert found == pytest.approx(gain, rel=0.02, abs=0.001)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_a_snooper_who_knows_the_curve_gains_what_was_asked(method):
    s, x = table(3, 4000, curved=True)
    rng = np.random.default_rng(4)
    noise = noise_for_gain(method, s, x, 0.1, rng)
    y = METHODS[method](s, x, rng, noise=noise).matrix
    curves = np.column_stack([s, s[:, 0] ** 2])
    found = np.mean(explained(x, curves, y) - explained(x, curves))
    assert found == pytest.approx(0.1, abs=0.01)
    straight = noise_for_gain(method, s, x, 0.1, rng, snooper="lines-only")
    assert straight > 1.2 * noise


def test_the_expected_gain_is_that_of_the_joint_law():
    """Against the regression of X on S and Y by its covariance matrix."""
    whole = np.array([[1.0, 0.4], [0.4, 1.0]])
    slopes = np.array([[0.5], [0.3]])
    rest = whole - slopes @ slopes.T
    for method, added in (("sadp", 0.7 * np.eye(2)), ("cadp", 0.7 * whole)):
        both = np.block([[np.eye(1), slopes.T], [slopes, whole + added]])
        cross = np.column_stack([slopes, whole])
        known = cross @ np.linalg.solve(both, cross.T)
        gain = np.mean(np.diag(known - slopes @ slopes.T))
        assert expected_gain(method, 0.7, rest, whole) == pytest.approx(gain, rel=1e-9)
        falling = [expected_gain(method, noise, rest, whole) for noise in (1e-6, 0.1, 1, 10, 1e6)]
        assert falling == sorted(falling, reverse=True)
        assert falling[0] == pytest.approx(np.mean(np.diag(rest)), rel=1e-4)


def test_gains_that_no_noise_gives_are_told():
    s, x = table(5, 300)
    rng = np.random.default_rng(6)
    most = most_gain(inputs(s, x), rng, "lines-only")
    for gain in (0.0, -1.0, most * 1.01, 2.0):
        with pytest.raises(OptionError, match="cannot be reached"):
            noise_for_gain("sadp", s, x, gain, rng, snooper="lines-only")
    assert noise_for_gain("sadp", None, x, 0.9, rng) > 0
    with pytest.raises(OptionError, match="no noise to choose"):
        noise_for_gain("egadp", s, x, 0.1, rng)
