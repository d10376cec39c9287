"""The two mechanisms of simulations, against their probabilities."""

import math

import numpy as np
import pytest

from pramana_core.model_sharing.private import GeneratorNoise, choice_probabilities

DRAWS = 20_000


def laplace(scale: float, values: np.ndarray) -> np.ndarray:
    """The probabilities of whole numbers, by the formula for their sum."""
    return np.exp(-np.abs(values) / scale) * math.tanh(0.5 / scale)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [0.5, 2.0])
def test_discrete_laplace(scale: float, assert_distribution):
    noise = GeneratorNoise(np.random.default_rng(1))
    drawn = np.array([noise.laplace(scale) for _ in range(DRAWS)])
    end = int(4 * scale)
    seen = np.bincount(np.clip(drawn, -end, end) + end, minlength=2 * end + 1)

    def expected(of: float) -> np.ndarray:
        inner = laplace(of, np.arange(-end + 1, end))
        tail = (1 - inner.sum()) / 2
        return DRAWS * np.array([tail, *inner, tail])

    assert_distribution(seen, expected(scale))
    with pytest.raises(AssertionError, match="chi-square"):
        assert_distribution(seen, expected(1.15 * scale))


@pytest.mark.slow
def test_the_exponential_mechanism(assert_distribution):
    scores = np.array([0.0, 1.0, 3.0])
    weights = [1, math.e**0.5, math.e**1.5]
    expected = DRAWS * np.array(weights) / sum(weights)
    noise = GeneratorNoise(np.random.default_rng(2))
    seen = np.bincount([noise.choose(scores, 0.5) for _ in range(DRAWS)], minlength=3)
    assert_distribution(seen, expected)
    with pytest.raises(AssertionError, match="chi-square"):
        assert_distribution(seen, DRAWS * choice_probabilities(scores, 0.6))


def test_no_epsilon_is_too_small_or_too_large_for_the_numbers():
    noise = GeneratorNoise(np.random.default_rng(3))
    scores = np.array([0.0, 1e6, 2e6])
    assert choice_probabilities(scores, 1e3).tolist() == [0, 0, 1]
    assert choice_probabilities(scores, 0.0).tolist() == [1 / 3] * 3
    assert np.allclose(choice_probabilities(scores - 1e9, 1e-9), 1 / 3, atol=1e-3)
    assert noise.laplace(2 / 1e3) == 0
    wide = [abs(noise.laplace(2 / 1e-6)) for _ in range(200)]
    assert 1e6 < np.mean(wide) < 4e6
