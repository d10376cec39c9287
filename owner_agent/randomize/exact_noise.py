"""The noise of private trees: exact draws from a generator of random bits.

With integer arithmetic, each probability is exactly that of the stated distribution (Canonne,
Kamath and Steinke, The Discrete Gaussian for Differential Privacy, 2020, algorithms 1 and 2).
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from fractions import Fraction

from pramana_core.mixed import Floats


@dataclass(frozen=True)
class ExactNoise:
    """The exact noise of private trees, as `pramana_core.model_sharing.private.Noise` requires."""

    source: random.Random = field(default_factory=random.SystemRandom)

    def laplace(self, scale: float) -> int:
        """Return a draw of the discrete Laplace distribution."""
        exact = Fraction(scale)
        while True:
            start = self.source.randrange(exact.numerator)
            if not self._exponential(Fraction(start, exact.numerator)):
                continue
            whole = 0
            while self._exponential(Fraction(1)):
                whole += 1
            size = (start + exact.numerator * whole) // exact.denominator
            negative = self.source.randrange(2) == 1
            if size or not negative:
                return -size if negative else size

    def choose(self, scores: Floats, epsilon: float) -> int:
        """Return an index drawn by the exponential mechanism.

        An index is drawn uniformly, and accepted with probability exp(epsilon * (score - largest)).
        """
        values = [Fraction(float(score)) for score in scores]
        largest = max(values)
        while True:
            place = self.source.randrange(len(values))
            if self._exponential(Fraction(epsilon) * (largest - values[place])):
                return place

    def _exponential(self, rate: Fraction) -> bool:
        """Return true with probability exp(-rate), for rates of at least 0."""
        while rate > 1:
            if not self._exponential(Fraction(1)):
                return False
            rate -= 1
        tries = 1
        while self.source.randrange(rate.denominator * tries) < rate.numerator:
            tries += 1
        return tries % 2 == 1
