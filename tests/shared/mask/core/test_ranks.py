"""Ranks and normal scores."""

from __future__ import annotations

import numpy as np
from scipy import stats

from pramana_core.mask.core.inputs import from_normal_scores, normal_scores, reordered

VALUES = np.random.default_rng(1).gamma(2, size=(101, 2))


def test_reordering_gives_the_smallest_to_the_smallest():
    found = reordered(np.array([[30.0], [10.0], [20.0]]), np.array([[0.5], [0.1], [0.9]]))
    np.testing.assert_array_equal(found, [[20], [10], [30]])


def test_scores_of_untied_values_are_the_normal_quantiles():
    scores = normal_scores(VALUES)
    expected = stats.norm.ppf(np.arange(1, 102) / 102)
    np.testing.assert_allclose(np.sort(scores, axis=0)[:, 0], expected, rtol=1e-12)
    np.testing.assert_array_equal(np.argsort(scores, axis=0), np.argsort(VALUES, axis=0))


def test_ties_share_the_score_of_their_mean_rank():
    scores = normal_scores(np.array([[5.0], [5.0], [7.0], [1.0]]))[:, 0]
    np.testing.assert_allclose(scores, stats.norm.ppf(np.array([2.5, 2.5, 4, 1]) / 5))


def test_there_and_back():
    np.testing.assert_allclose(from_normal_scores(normal_scores(VALUES), VALUES), VALUES)
    far = from_normal_scores(np.array([[-9.0, 9.0], [0.0, 0.0]]), VALUES)
    np.testing.assert_array_equal(far[0], [VALUES[:, 0].min(), VALUES[:, 1].max()])
    np.testing.assert_allclose(far[1], np.median(VALUES, axis=0))
