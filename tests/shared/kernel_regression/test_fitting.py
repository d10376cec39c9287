"""Kernel ridge regression against scikit-learn, against linear systems, and against refitting."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pramana_core.errors import TableError
from pramana_core.kernel_regression.fitting import fit_kernel
from pramana_core.kernel_regression.tuning import gaussian, groups_of


def ridge(penalty=1e-3):
    """A bandwidth, and a penalty for each of two targets."""
    return 0.7, (penalty, penalty)


def table(seed: int, n: int = 120, k: int = 2) -> tuple[Any, Any]:
    """Features, and two targets: a hump and a line with noise."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, k))
    hump = np.cos(features[:, 0]) * 3 + rng.normal(scale=0.3, size=n)
    return features, np.column_stack([hump, features[:, -1] + rng.normal(size=n)])


@pytest.mark.parametrize("smooth", [False, True])
def test_it_solves_the_linear_system_of_the_least_squares_support_vector_machine(smooth: bool):
    """[K + n penalty I, P; P', 0] (a, b) = (y, 0), with P the constant, or it and the features."""
    features, targets = table(3)
    n = len(features)
    free = np.column_stack([np.ones(n), features]) if smooth else np.ones((n, 1))
    kernel = gaussian(features, features, 0.7)
    system = np.block(
        [[kernel + 1e-3 * n * np.eye(n), free], [free.T, np.zeros((free.shape[1],) * 2)]]
    )
    solved = np.linalg.solve(system, np.vstack([targets, np.zeros((free.shape[1], 2))]))
    others = table(4, 30)[0]
    straight = np.column_stack([np.ones(30), others]) if smooth else np.ones((30, 1))
    wanted = gaussian(others, features, 0.7) @ solved[:n] + straight @ solved[n:]
    fit = fit_kernel(features, targets, smooth=smooth, ridge=ridge())
    assert fit.predict(others) == pytest.approx(wanted, abs=1e-8)
    assert fit.fitted == pytest.approx(kernel @ solved[:n] + free @ solved[n:], abs=1e-8)


def test_records_left_out_are_as_if_fitted_without():
    features, targets = table(5, 40)
    fit = fit_kernel(features, targets, ridge=ridge())
    for record in (0, 17, 39):
        kept = np.arange(40) != record
        # The same weight of the penalty, which is stated as a share of the records.
        fewer = ridge(1e-3 * 40 / 39)
        without = fit_kernel(features[kept], targets[kept], ridge=fewer)
        predicted = without.predict(features[[record]])[0]
        assert fit.left_out[record] == pytest.approx(predicted, abs=1e-6)


def test_leverages_are_the_weights_of_a_records_own_target():
    features, targets = table(6, 50)
    fit = fit_kernel(features, targets, ridge=ridge())
    for record in (0, 20, 49):
        moved = targets.copy()
        moved[record] += 1.0
        weight = fit_kernel(features, moved, ridge=ridge()).fitted[record] - fit.fitted[record]
        assert weight == pytest.approx(fit.own[record], abs=1e-9)
    assert fit.basis.T @ fit.basis == pytest.approx(np.eye(fit.basis.shape[1]), abs=1e-9)


def test_records_with_the_same_features_are_left_out_together():
    """By tuning's closed form and by refitting without the group; large groups record by record."""
    from pramana_core.kernel_regression.tuning import Span, decompose, left_out_errors, residuals

    features, targets = table(7, 40)
    features[:3] = features[0]
    features[10:20] = features[10]
    spectrum = decompose(features, Span.of(np.unique(features, axis=0), 0.7), smooth=False)
    shrinkage = (spectrum.values / (spectrum.values + 0.04))[:, None]
    left, weights = residuals(spectrum, targets, shrinkage)
    errors = left_out_errors(left, weights, groups_of(features))[:, 0]
    for record, without in ((0, np.arange(3)), (10, np.array([10])), (30, np.array([30]))):
        kept = np.setdiff1d(np.arange(40), without)
        fewer = fit_kernel(features[kept], targets[kept], ridge=ridge(0.04 / len(kept)))
        error = targets[record] - fewer.predict(features[[record]])[0]
        assert errors[record] == pytest.approx(error, abs=1e-6)


@pytest.mark.slow
def test_landmarks_state_what_they_lose():
    rng = np.random.default_rng(8)
    features, targets = table(8, 900)
    exact = fit_kernel(features, targets, landmarks=900, ridge=ridge())
    lost = []
    for count in (12, 40, 120):
        fit = fit_kernel(features, targets, rng, landmarks=count, ridge=ridge())
        landmarks = fit._span.landmarks
        assert len(landmarks) == count
        across = gaussian(features, landmarks, 0.7)
        inverse = np.linalg.pinv(gaussian(landmarks, landmarks, 0.7), rcond=1e-12)
        spanned = np.trace(across @ inverse @ across.T)
        assert fit.approximation == pytest.approx(1 - spanned / 900, rel=0.1, abs=1e-6)
        lost.append((fit.approximation, np.std(fit.fitted - exact.fitted)))
    assert lost == sorted(lost, reverse=True)
    assert exact.approximation < 1e-9
    assert lost[-1][1] < 0.1


@pytest.mark.parametrize("seed", range(3))
def test_records_that_occur_twice_do_not_vouch_for_themselves(seed: int):
    """Left out one by one, each is predicted by its twin: the smaller the penalty the better."""
    rng = np.random.default_rng(seed)
    features, noise = rng.normal(size=(200, 2)), rng.normal(size=(200, 1))
    once = fit_kernel(features, noise)
    twice = fit_kernel(np.repeat(features, 2, axis=0), np.repeat(noise, 2, axis=0))
    assert (twice.bandwidth, twice.penalties) == (once.bandwidth, once.penalties)
    assert twice.own.sum() == pytest.approx(once.own.sum())


def test_an_outlying_record_leaves_the_others_alone():
    features, targets = table(15)
    without = fit_kernel(features, targets, ridge=ridge())
    features = np.vstack([features, [1e9, -1e9]])
    targets = np.vstack([targets, [10.0, 10.0]])
    fit = fit_kernel(features, targets, ridge=ridge())
    assert np.isfinite(fit.left_out).all()
    assert fit.own[-1].min() > 0.8
    assert fit.own[:-1] == pytest.approx(without.own, abs=0.02)
    assert fit.fitted[:-1] == pytest.approx(without.fitted, abs=0.2)


@pytest.mark.parametrize(
    ("features", "targets"),
    [
        (np.zeros((3, 1)), np.zeros(4)),
        (np.zeros((0, 1)), np.zeros(0)),
        (np.full((3, 1), np.nan), np.zeros(3)),
        (np.zeros((3, 1)), np.array([0, np.inf, 1])),
        (np.zeros((3, 1, 1)), np.zeros(3)),
    ],
)
def test_invalid_numbers_are_refused(features: Any, targets: Any):
    with pytest.raises(TableError):
        fit_kernel(features, targets)


def test_predictions_need_the_same_features():
    fit = fit_kernel(*table(18), ridge=ridge())
    with pytest.raises(TableError):
        fit.predict(np.zeros((1, 3)))
