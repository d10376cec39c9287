"""The smoothest fit that cannot be told from the best one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pramana_core.kernel_regression.fitting import fit_kernel
from pramana_core.kernel_regression.smoothest import PenaltyFits, smoothest

PENALTIES = np.array([1e-3, 1e-1, np.inf])


def tried(errors: Any, freedom: Any, allowed: Any = True) -> PenaltyFits:
    """Fits with the same mean squared errors, l x q, on pairs of records 1 above and below."""
    means = np.asarray(errors, dtype=float)
    records = np.where(np.arange(400) % 2, 1.0, -1.0)[:, None, None]
    # Each fit's errors go their own way, so that paired differences have a standard error.
    ways = np.cos(np.arange(400)[:, None, None] * (1 + np.arange(means.size).reshape(means.shape)))
    ways -= ways.mean(axis=0)
    return PenaltyFits(
        PENALTIES,
        np.asarray(freedom, dtype=float),
        np.broadcast_to(allowed, 3),
        means[None] + records + ways,
    )


def test_of_fits_that_chance_may_tell_apart_the_one_with_least_freedom_is_taken():
    # Differences have a standard deviation of about 1, so a standard error of about .05.
    assert smoothest([tried([[3.0], [3.02], [4.0]], [30, 10, 3])]) == (0, (1e-1,))
    assert smoothest([tried([[3.0], [3.2], [3.02]], [30, 10, 3])]) == (0, (np.inf,))
    assert smoothest([tried([[3.0], [3.2], [4.0]], [30, 10, 3])]) == (0, (1e-3,))


def test_targets_have_penalties_of_their_own():
    assert smoothest([tried([[3, 3], [4, 3], [4, 3]], [30, 10, 3])]) == (0, (1e-3, np.inf))


def test_one_bandwidth_serves_all_targets():
    narrow = tried([[3, 3], [3, 4], [4, 4]], [50, 20, 3])
    wide = tried([[3, 3], [3, 4], [4, 4]], [20, 10, 3])
    assert smoothest([narrow, wide])[0] == 1
    assert smoothest([wide, narrow])[0] == 0
    # A bandwidth that serves one target better and the other much worse is not taken.
    other = tried([[2.9, 6], [2.9, 6], [4, 6]], [9, 5, 3])
    assert smoothest([narrow, other])[0] == 0


def test_fits_with_too_much_freedom_are_not_considered():
    found = tried([[1.0], [3.0], [3.0]], [90, 10, 3], [False, True, True])
    assert smoothest([found]) == (0, (np.inf,))
    assert smoothest([tried([[1.0], [3.0], [3.0]], [90, 10, 3], False)]) == (0, (np.inf,))


def test_where_lines_tell_all_the_fit_is_a_line_and_beside_it_a_curve_is_learned():
    rng = np.random.default_rng(1)
    features = rng.normal(size=(300, 2))
    targets = features @ [[1.0, 0.0], [0.5, 0.0]] + 0.5 * rng.normal(size=(300, 2))
    targets[:, 1] += np.cos(2 * features[:, 0])
    fit = fit_kernel(features, targets, smooth=True)
    freedom = fit.own.sum(axis=0)
    assert freedom[0] < 5
    assert freedom[1] > 7
    assert fit.r2[1] > 0.5
    assert fit.predict(features) == pytest.approx(fit.fitted, abs=1e-6)
    # The negative control: one penalty for both fits chance to the line.
    together = fit_kernel(features, targets)
    assert together.own.sum(axis=0)[0] > 7


def test_penalties_may_be_given_for_each_target():
    rng = np.random.default_rng(2)
    features, targets = rng.normal(size=(60, 1)), rng.normal(size=(60, 2))
    fit = fit_kernel(features, targets, smooth=True, ridge=(1.0, (1e-2, np.inf)))
    for place, penalty in enumerate((1e-2, np.inf)):
        alone = fit_kernel(features, targets[:, place], smooth=True, ridge=(1.0, (penalty,)))
        assert fit.fitted[:, [place]] == pytest.approx(alone.fitted, abs=1e-9)
        assert fit.own[:, [place]] == pytest.approx(alone.own, abs=1e-9)
    assert fit.own[:, 1].sum() == pytest.approx(2)


@pytest.mark.parametrize("nudge", [1 - 1e-13, 1.0, 1 + 1e-13])
def test_fits_that_differ_by_rounding_are_as_good(nudge: float):
    squares = np.random.default_rng(1).exponential(size=(400, 1, 1))
    every = np.concatenate([squares, squares * nudge, squares + 1], axis=1)
    found = PenaltyFits(PENALTIES, np.array([30.0, 10.0, 3.0]), np.full(3, True), every)
    assert smoothest([found]) == (0, (1e-1,))
