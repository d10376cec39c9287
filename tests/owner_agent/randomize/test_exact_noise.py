"""Exact noise follows its laws, with seeds in the place of the system's generator."""

import math
import random

import numpy as np
import pytest

from owner_agent.randomize.exact_noise import ExactNoise
from owner_agent.randomize.noise import tree_noise
from pramana_core.model_sharing.private import choice_probabilities

DRAWS = 4000
SCORES = np.array([0.0, 1.0, 2.5])


@pytest.mark.parametrize("epsilon", [0.0, 0.8, 1.6])
def test_choices_are_those_of_the_exponential_mechanism(assert_distribution, epsilon):
    noise = ExactNoise(random.Random(1))
    found = np.bincount([noise.choose(SCORES, epsilon) for _ in range(DRAWS)], minlength=3)
    assert_distribution(found, DRAWS * choice_probabilities(SCORES, epsilon))
    with pytest.raises(AssertionError):
        assert_distribution(found, DRAWS * choice_probabilities(SCORES, epsilon + 0.3))
    assert noise.choose(np.array([3.0]), 1.0) == 0


@pytest.mark.parametrize("scale", [1.5, 2.0, 2.75])
@pytest.mark.parametrize("keyed", [False, True])
def test_noise_is_discrete_laplace(assert_distribution, scale, keyed):
    """From a seed, or from a key, as of a tree that leaves."""
    noise = tree_noise(bytes(range(1, 33)), "7") if keyed else ExactNoise(random.Random(2))
    drawn = np.clip([noise.laplace(scale) for _ in range(DRAWS)], -4, 4)

    def law(scale):
        q = math.exp(-1 / scale)
        inner = [(1 - q) / (1 + q) * q ** abs(x) for x in range(-3, 4)]
        tail = (1 - sum(inner)) / 2
        return DRAWS * np.array([tail, *inner, tail])

    assert_distribution(np.bincount(drawn + 4, minlength=9), law(scale))
    with pytest.raises(AssertionError):
        assert_distribution(np.bincount(drawn + 4, minlength=9), law(1.2 * scale))


def test_without_a_source_it_is_the_systems():
    assert isinstance(ExactNoise().source, random.SystemRandom)


def test_keyed_noise_is_that_of_its_key_and_tree_alone():
    """With the same noise two trees of nearly the same table would be subtracted."""

    def drawn(key, identity):
        noise = tree_noise(bytes([key]) * 32, identity)
        return [noise.laplace(50.0) for _ in range(20)]

    assert drawn(1, "a") == drawn(1, "a")
    assert drawn(1, "a") != drawn(1, "b")
    assert drawn(1, "a") != drawn(2, "a")
