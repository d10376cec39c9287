"""Additive noise: the oldest masking methods, for comparison with other methods.

Y = X + e reveals more about X than S does. Averaging several releases removes the noise, and
relationships become weaker. The two methods of this module do not use S.
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
"""The default variance of the noise, as a share of each column's variance."""

MOST_NOISE = 1_000_000
"""The largest variance of the noise, as such a share; more noise would erase X."""


def sadp(given: Inputs, rng: Randomness, *, noise: float = NOISE) -> Masked:
    """Mask by simple additive noise, Y_j = X_j + e_j, where the e_j are normal and independent.

    Variances grow by the factor 1 + noise. Correlations within X are divided by this factor, and
    correlations with S by its square root. (Traub, Yemini and Wozniakowski 1984; AlAhmadi II.2.2.)
    """
    return _added(given, rng, np.eye(given.columns), noise)


def cadp(given: Inputs, rng: Randomness, *, noise: float = NOISE) -> Masked:
    """Mask by correlated additive noise, Y = X + e, where e has the covariance noise * cov(X).

    Correlations among the columns of X are kept in expectation. Correlations with S are multiplied
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
