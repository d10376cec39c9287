"""Is Z needed to tell X once others are known? Asked of pooled tables, of any number of variables.

No record need report all of them. In the log-linear model of all that is told, X and Z are
independent given the others if and only if no interaction has a variable of X and one of Z. The
table of largest entropy without those predicts the interactions; the differences d from what the
reports tell, before any shrinkage, and their covariance C, by the delta method, give Wald's
statistic d'C^-1 d. Half of it stands for a log-likelihood ratio: under independence both are half
a chi-square of as many degrees of freedom.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pramana_core.marginals.counts import Tensor

_RANK = 1e-10


@dataclass(frozen=True, eq=False)
class PooledIndependence:
    """The evidence of dependence; see `Independence` for its promise.

    There is no likelihood of the reports here: independence is given 0, and no hypothesis exceeds
    the ratio.

    Args:
        difference: d, the interactions that independence does not have, less its prediction.
        root: R with R R' = C.
    """

    difference: Tensor
    root: Tensor

    @property
    def degrees_of_freedom(self) -> int:
        """The number of parameters of the interactions told; 0 where none is."""
        return len(self.difference)

    @cached_property
    def ratio(self) -> float:
        """Half of Wald's statistic."""
        return float(0.5 * np.square(self._whitened @ self.difference).sum())

    @property
    def upper(self) -> float:
        """The ratio itself: it costs no more."""
        return self.ratio

    @property
    def saturated(self) -> float:
        """The ratio, which no hypothesis exceeds."""
        return self.ratio

    @property
    def alternative_log_likelihood(self) -> float:
        """The ratio: that of independence is 0."""
        return self.ratio

    @property
    def null_log_likelihood(self) -> float:
        """0."""
        return 0.0

    @property
    def inflation(self) -> float:
        """1: the differences are measured in their own errors, and noise adds nothing to that."""
        return 1.0

    def resampled(self, draws: int, rng: np.random.Generator) -> Tensor:
        """Return the ratio with normal deviates of the differences' errors, shape (draws,)."""
        noise = rng.standard_normal((draws, self.root.shape[1])) @ self.root.T
        turned = (self.difference + noise) @ self._whitened.T
        found: Tensor = 0.5 * np.square(turned).sum(axis=1)
        return found

    @cached_property
    def _whitened(self) -> Tensor:
        """W with W'W the inverse of C, in the directions that have an error."""
        if not self.difference.size:
            return np.zeros((0, 0))
        vectors, scales, _ = np.linalg.svd(self.root, full_matrices=False)
        kept = scales > _RANK * scales.max(initial=0.0)
        return np.asarray((vectors[:, kept] / scales[kept]).T, dtype=np.float64)
