"""Additive noise: the oldest methods, for comparison with others.

Y = X + e reveals more of X than S does, the noise averages out over several releases, and
relationships are weakened. These two methods do not use S.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from annotated_types import Gt, Le

from pramana_core.learn.common.options import require_limit
from pramana_core.mask.core.cautions import cautions, gravest_first
from pramana_core.mask.core.inputs import Inputs
from pramana_core.mask.core.masked import Masked, facts
from pramana_core.mask.core.noise import Randomness, normal_noise, symmetric_root
from pramana_core.mixed import Floats

NOISE = 0.1
"""The default variance of the noise as a share of each column's variance."""

MOST_NOISE = 1_000_000
"""The largest share; more noise would erase X."""


def sadp(given: Inputs, rng: Randomness, *, noise: float = NOISE) -> Masked:
    """Mask by simple additive noise: Y_j = X_j + e_j, the e_j normal and independent.

    Variances grow by the share `noise`; correlations in X are divided by 1 + noise, correlations
    with S by its square root. (Traub, Yemini and Wozniakowski 1984; AlAhmadi II.2.2.)
    """
    return _added(given, rng, np.eye(given.columns), noise)


def cadp(given: Inputs, rng: Randomness, *, noise: float = NOISE) -> Masked:
    """Mask by correlated additive noise: Y = X + e, where the covariance of e is noise * cov(X).

    Correlations among the columns of X are kept in expectation; correlations with S are multiplied
    by 1 / sqrt(1 + noise). (Kim 1986; AlAhmadi II.2.2.)
    """
    return _added(given, rng, symmetric_root(given.standard) / np.sqrt(given.records), noise)


def _added(given: Inputs, rng: Randomness, root: Floats, noise: float) -> Masked:
    require_limit(noise, Annotated[float, Gt(0), Le(MOST_NOISE)], "noise")
    drawn = normal_noise(rng, given.records, np.sqrt(noise) * root)
    values = given.in_units(given.standard + drawn)
    return Masked(
        values,
        noise=values - given.matrix,
        details={**facts(given), "noise": noise},
        warnings=gravest_first(cautions(given, predicting=False)),
    )
