"""Additive noise: the oldest methods, here to compare others with.

Y = X + e keeps what each record says of X, blurred: Y tells of X what S does not, copies of a
release average the noise out, and relationships are weakened by it. Unlike the other methods these
two need no prediction from S, which they do not use.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pramana_core.errors import OptionError
from pramana_core.mask.core.caution import gravest_first
from pramana_core.mask.core.cautions import cautions, facts
from pramana_core.mask.core.inputs import Inputs, inputs
from pramana_core.mask.core.masked import Masked
from pramana_core.mask.core.noise import normal_noise, symmetric_root
from pramana_core.mask.core.randomness import Randomness, require_randomness
from pramana_core.mixed.table import Floats

NOISE = 0.1
"""The variance of the noise as a share of each column's variance, unless told otherwise."""

MOST_NOISE = 1e6
"""Larger shares leave nothing of X."""


def sadp(S: Any, X: Any, rng: Randomness, *, noise: float = NOISE) -> Masked:  # noqa: N803
    """Mask by simple additive noise: Y_j = X_j + e_j, the e_j normal and independent.

    Means are kept in expectation. The variance of each column grows by the share `noise`;
    correlations among the columns of X are multiplied by 1 / (1 + noise), those with S by its
    square root. (Traub, Yemini and Wozniakowski 1984; AlAhmadi II.2.2.)

    Args:
        S: the non-confidential columns, n x p, a frame or None; used for what is reported only.
        X: the confidential columns, n x q or a frame.
        rng: the randomness.
        noise: the variance of e_j as a share of the variance of X_j.

    Raises:
        OptionError: `noise` is not positive.
        TableError, MaskingError: see `inputs`.
    """
    given = _checked(S, X, rng, noise)
    root = np.sqrt(noise) * np.eye(given.columns)
    return _added("sadp", given, normal_noise(rng, given.records, root), noise)


def cadp(
    S: Any,  # noqa: N803 - the papers' names
    X: Any,  # noqa: N803
    rng: Randomness,
    *,
    noise: float = NOISE,
    rescale: bool = False,
) -> Masked:
    """Mask by correlated additive noise: Y = X + e, the covariance of e being noise * cov(X).

    Correlations among the columns of X are kept in expectation; those with S are multiplied by
    1 / sqrt(1 + noise). With `rescale`, Y is shrunk towards the means of X by this factor, so that
    its means and covariances are those of X in expectation. (Kim 1986; AlAhmadi II.2.2.)

    Args:
        S: the non-confidential columns, n x p, a frame or None; used for what is reported only.
        X: the confidential columns, n x q or a frame.
        rng: the randomness.
        noise: the covariance of e as a share of the covariance of X.
        rescale: whether means and covariances are brought back to those of X.

    Raises:
        OptionError: `noise` is not positive.
        TableError, MaskingError: see `inputs`.
    """
    given = _checked(S, X, rng, noise)
    root = np.sqrt(noise / given.records) * symmetric_root(given.standard)
    drawn = normal_noise(rng, given.records, root)
    return _added("cadp", given, drawn, noise, shrink=1 / np.sqrt(1 + noise) if rescale else 1.0)


def _checked(S: Any, X: Any, rng: Randomness, noise: float) -> Inputs:  # noqa: N803
    if not 0 < noise <= MOST_NOISE:
        raise OptionError(
            f"noise must be above 0 and at most {MOST_NOISE:g}, not {noise}.", where="noise"
        )
    require_randomness(rng)
    return inputs(S, X)


def _added(
    method: str, given: Inputs, drawn: Floats, noise: float, *, shrink: float = 1.0
) -> Masked:
    """Return X + noise, shrunk towards the means of X by a factor."""
    values = given.in_units((given.standard + drawn) * shrink)
    return Masked(
        method,
        given.restore(values),
        values,
        noise=values - given.matrix,
        details={**facts(given), "noise": noise},
        warnings=gravest_first(cautions(given, predicting=False)),
    )
