"""Whether a column's spread around its expectation depends on S, which masking does not keep.

The test is that of Breusch and Pagan in Koenker's form (1981), of n R2 of squared residuals on S.
In the place of squares stand normal scores of the residuals' sizes, so that heavy tails raise no
alarm, and S has squares, so that a spread that is largest in the middle is seen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from pramana_core.mask.advice.dependence import MATTERS, Features, scores_of
from pramana_core.mask.advice.fits import by_curves
from pramana_core.mask.core.noise import Randomness
from pramana_core.mixed.design import basis_of, with_constant
from pramana_core.mixed.table import Floats
from pramana_core.ties import exceeds, reaches

FALSE_ALARM = 0.001
"""How often a spread that is the same everywhere is said to depend on S, for each column of X."""


@dataclass(frozen=True)
class Spread:
    """How much the size of a column's residuals depends on S.

    Attributes:
        about: which columns, such as "age, gender -> spread of debt".
        share: of the variance of the sizes' normal scores, what S and its squares explain, in
            sample.
        p: the probability of such a share by chance, where the spread is the same everywhere.
    """

    about: str
    share: float
    p: float

    @property
    def varies(self) -> bool:
        """Whether the dependence is neither chance nor too small to matter."""
        return exceeds(FALSE_ALARM, self.p) and reaches(self.share, MATTERS)


def spread(about: str, told: Features, target: Floats, rng: Randomness) -> Spread:
    """Return how the spread of a column around its left-out kernel fit depends on S.

    Args:
        about: how the row is called.
        told: S, of n records.
        target: the column, n, in the scale in which its spread should be the same everywhere.
        rng: draws landmarks.
    """
    size = np.abs(target - by_curves(told.matrix, target, rng))
    scores = scores_of(size[:, None])[:, 0]
    numbers = scores_of(told.ordered)
    basis = basis_of(with_constant(np.column_stack([numbers, numbers**2, told.others])))
    centred = scores - scores.mean()
    total = float(centred @ centred)
    freedom = basis.shape[1] - 1
    if total <= 0 or freedom < 1:
        return Spread(about, 0.0, 1.0)
    share = float(np.sum((basis.T @ centred) ** 2)) / total
    return Spread(about, share, float(stats.chi2.sf(len(target) * share, freedom)))
