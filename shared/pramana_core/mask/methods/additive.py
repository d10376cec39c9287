"""Additive noise: the oldest methods, here to compare others with.

Y = X + e keeps what each record says of X, blurred: Y tells of X what S does not, copies of a
release average the noise out, and relationships are weakened by it. Unlike the other methods these
two need no prediction from S, which they do not use.
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
"""The variance of the noise as a share of each column's variance, unless told otherwise."""

MOST_NOISE = 1_000_000
"""Larger shares leave nothing of X."""


def sadp(given: Inputs, rng: Randomness, *, noise: float = NOISE) -> Masked:
    """Mask by simple additive noise: Y_j = X_j + e_j, the e_j normal and independent.

    Means are kept in expectation. The variance of each column grows by the share `noise`;
    correlations among the columns of X are multiplied by 1 / (1 + noise), those with S by its
    square root. (Traub, Yemini and Wozniakowski 1984; AlAhmadi II.2.2.)
    """
    return _added(given, rng, np.eye(given.columns), noise)


def cadp(given: Inputs, rng: Randomness, *, noise: float = NOISE, rescale: bool = False) -> Masked:
    """Mask by correlated additive noise: Y = X + e, the covariance of e being noise * cov(X).

    Correlations among the columns of X are kept in expectation; those with S are multiplied by
    1 / sqrt(1 + noise). With `rescale`, Y is shrunk towards the means of X by this factor, so that
    its means and covariances are those of X in expectation. (Kim 1986; AlAhmadi II.2.2.)
    """
    root = symmetric_root(given.standard) / np.sqrt(given.records)
    return _added(given, rng, root, noise, rescale=rescale)


def _added(
    given: Inputs, rng: Randomness, root: Floats, noise: float, *, rescale: bool = False
) -> Masked:
    """Return X with noise; `noise` is its variance as a share of that of each column."""
    require_limit(noise, Annotated[float, Gt(0), Le(MOST_NOISE)], "noise")
    drawn = normal_noise(rng, given.records, np.sqrt(noise) * root)
    shrink = 1 / np.sqrt(1 + noise) if rescale else 1.0
    values = given.in_units((given.standard + drawn) * shrink)
    return Masked(
        values,
        noise=values - given.matrix,
        details={**facts(given), "noise": noise},
        warnings=gravest_first(cautions(given, predicting=False)),
    )
