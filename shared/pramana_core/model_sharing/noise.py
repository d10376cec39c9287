"""The two mechanisms that private trees are made with, as a protocol, and for simulations."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from pramana_core.mixed import Floats


class Noise(Protocol):
    """What draws the randomness of private trees."""

    def laplace(self, scale: float) -> int:
        """Return a whole number x with a probability proportional to exp(-|x| / scale)."""

    def choose(self, scores: Floats, epsilon: float) -> int:
        """Return a place with a probability proportional to exp(epsilon * score).

        This is the exponential mechanism. Where a record that is added or removed changes all
        scores in the same direction, each by at most 1, it is epsilon-differentially private for
        that; where it may change some up and others down, 2 epsilon.

        Args:
            scores: one for each place, at least one.
            epsilon: at least 0; with 0 all places are as likely.
        """


@dataclass(frozen=True)
class GeneratorNoise:
    """Noise of numpy's generator, in floating-point numbers: for simulations, not for releases.

    Its sequence can be foreseen by whoever learns the generator's state, and the probabilities are
    rounded. What leaves an owner is drawn by a library that does neither.
    """

    rng: np.random.Generator

    def laplace(self, scale: float) -> int:
        """Return a draw of the discrete Laplace distribution: the difference of two geometric."""
        stop = -math.expm1(-1 / scale)
        return int(self.rng.geometric(stop)) - int(self.rng.geometric(stop))

    def choose(self, scores: Floats, epsilon: float) -> int:
        """Return a place drawn by the exponential mechanism."""
        return int(self.rng.choice(len(scores), p=choice_probabilities(scores, epsilon)))


def choice_probabilities(scores: Floats, epsilon: float) -> Floats:
    """Return the probability of each place by the exponential mechanism (`Noise.choose`)."""
    # The largest is taken off first, so that no weight is above 1, and one is 1.
    weights = np.exp(epsilon * (scores - scores.max()))
    found: Floats = weights / weights.sum()
    return found
