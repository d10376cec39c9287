"""EGADP and IPSO: moments of (S, Y) are those of (S, X); EGADP's noise is orthogonal to X, too."""

from __future__ import annotations

import numpy as np
import pytest

from pramana_core.mask import METHODS
from tests.shared.mask.examples import linear
from tests.shared.mask.moments import correlation, covariance_difference, mean_difference

cadp, egadp, gadp, ipso, sadp = (
    METHODS[name] for name in ("cadp", "egadp", "gadp", "ipso", "sadp")
)

EXACT = 1e-9


def outlying(x):
    found = x.copy()
    found[5, 0] = 1e12
    return found


CASES = {
    "plain": lambda s, x: (s, x),
    "one column": lambda s, x: (s[:, :1], x[:, :1]),
    "no S": lambda s, x: (None, x),
    "scales from 1e-9 to 1e12": lambda s, x: (s * [1e-9, 1, 1e12], x * [1e-9, 1e12]),
    "scales at the ends of floats": lambda s, x: (s * 1e-200, x * [1e-300, 1e98]),
    "S has mean 1e9": lambda s, x: (s + 1e9, x),
    "X has mean 1e4": lambda s, x: (s, x + 1e4),
    "an outlier in X": lambda s, x: (s, outlying(x)),
    "multiples in X": lambda s, x: (s, np.column_stack([x, 2 * x[:, 0], x[:, 0] - 3 * x[:, 1]])),
    "nearly multiples in X": lambda s, x: (s, np.column_stack([x, x[:, 0] + 1e-7 * s[:, 0] ** 2])),
    "multiples in S": lambda s, x: (np.column_stack([s, s[:, 0], s[:, 1] + s[:, 2]]), x),
    "nearly multiples in S": lambda s, x: (np.column_stack([s, s[:, 0] + 1e-7 * x[:, 0] ** 2]), x),
    "a constant in S": lambda s, x: (np.column_stack([s, np.full(len(s), 0.1)]), x),
    "few records": lambda s, x: (s[:, :1][:8], x[:8]),
    "nearly told": lambda s, x: (s, s[:, :2] + 1e-6 * x),
}


@pytest.mark.parametrize("method", [egadp, ipso])
@pytest.mark.parametrize("case", CASES)
def test_means_and_covariances_are_exact(case: str, method):
    told, x = CASES[case](*linear())
    masked = method(told, x, np.random.default_rng(7))
    given = np.empty((len(x), 0)) if told is None else told
    assert covariance_difference(given, x, masked.matrix) < EXACT
    assert mean_difference(x, masked.matrix) < EXACT
    assert not np.any(masked.matrix == x)
    # Noise is orthogonal to S, and that of EGADP alone to X, too.
    if method is egadp:
        assert correlation(masked.noise, x) < EXACT
        kept = given[:, np.ptp(given, axis=0) > 0]
        assert not kept.size or correlation(masked.noise, kept) < EXACT
    elif case == "plain":
        assert correlation(masked.noise, told) < EXACT
        assert correlation(masked.noise, x) > 1e-3


def test_gadp_has_sampling_error():
    """The negative control: what is measured above can be seen to fail."""
    told, x = linear()
    masked = gadp(told, x, np.random.default_rng(7))
    assert covariance_difference(told, x, masked.matrix) > 1e-3
    assert mean_difference(x, masked.matrix) > 1e-3


# Additive noise: what it keeps in expectation.


def test_what_prediction_needs_is_not_asked_of_noise():
    """Few records, lone ones and columns that S tells are no matter where nothing is predicted."""
    told, x = linear(4)
    told[0] = 1e12
    for method in (sadp, cadp):
        assert method(told, x, np.random.default_rng(3)).warnings == ()
        assert method(x, x, np.random.default_rng(3)).warnings == ()
