"""Methods that keep linear relationships: GADP, IPSO and EGADP.

All three release Y = linear prediction of X from S + noise e with the residuals' covariance. They
differ in what of it is exact: nothing (GADP), the moments (IPSO), the moments and that e is
orthogonal to X (EGADP).

Also here:

* Additive noise: the oldest methods, here to compare others with.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from annotated_types import Gt, Le

from pramana_core.learn.common.options import require_limit
from pramana_core.mask.core.cautions import cautions, facts, gravest_first
from pramana_core.mask.core.influence import Influence, hidden, influence_of
from pramana_core.mask.core.inputs import MAX_LEVERAGE, Inputs, inputs, require_maskable
from pramana_core.mask.core.masked import Masked, predicted_and_noise
from pramana_core.mask.core.noise import (
    Randomness,
    exact_noise,
    normal_noise,
    require_randomness,
    symmetric_root,
)
from pramana_core.mixed.table import Floats


def gadp(
    S: Any,  # noqa: N803 - the papers' names
    X: Any,  # noqa: N803
    rng: Randomness,
    *,
    max_leverage: float = MAX_LEVERAGE,
    max_told: float | None = None,
) -> Masked:
    """Mask by general additive data perturbation: Y ~ N(prediction from S, residual covariance).

    The moments of (S, Y) are those of (S, X) in expectation and off by sampling error in the
    sample, like those of a second sample of n records; e is drawn without regard to X, so Y is
    independent of X given S. (Muralidhar, Parsa and Sarathy 1999; AlAhmadi II.2.3.)

    Args:
        S: the non-confidential columns, n x p, a frame or None.
        X: the confidential columns, n x q or a frame.
        rng: the randomness.
        max_leverage: the largest weight that a record's own value may have in its prediction.
        max_told: the largest share of what S leaves of a record that its masked value may tell
            (`Influence.told`), above 0 and below 1; None for no bound but warnings.

    Raises:
        OptionError: an option is out of its range.
        TableError: see `inputs`.
        MaskingError: S tells a column of X exactly, a record stands alone in S, more than
            `max_told` is told of one, or there are too few records.
    """
    require_randomness(rng)
    given = inputs(S, X)
    require_maskable(given, given.basis.shape[1], max_leverage)
    influence = _influence(given, None, max_told)
    root = symmetric_root(given.standard_residuals) / np.sqrt(given.records - 1)
    return _masked("gadp", given, normal_noise(rng, given.records, root), influence)


def ipso(
    S: Any,  # noqa: N803 - the papers' names
    X: Any,  # noqa: N803
    rng: Randomness,
    *,
    max_leverage: float = MAX_LEVERAGE,
    max_told: float | None = None,
) -> Masked:
    """Mask by information-preserving statistical obfuscation: exact moments, e orthogonal to S.

    Y is a draw given the sufficient statistics of the normal model of X on S: the coefficients and
    the residual covariance are exactly those of X, so the sample means and covariances of (S, Y)
    are, too. (Burridge 2003; AlAhmadi II.2.3.)

    Its security is worse than EGADP's because e is orthogonal to S but not to X: each column of e
    has a chance correlation with each column of residuals r, whose square is 1 / (n - 1 - p) on
    average. In small samples this is a share of what S does not tell of X that Y tells; whoever
    knows X for some of the records can learn it.

    Args, Raises: as of `gadp`.
    """
    require_randomness(rng)
    given = inputs(S, X)
    require_maskable(given, given.basis.shape[1], max_leverage)
    influence = _influence(given, given.basis, max_told)
    noise = exact_noise(rng, given.basis, given.standard_residuals)
    return _masked("ipso", given, noise, influence)


def egadp(
    S: Any,  # noqa: N803 - the papers' names
    X: Any,  # noqa: N803
    rng: Randomness,
    *,
    max_leverage: float = MAX_LEVERAGE,
    max_told: float | None = None,
) -> Masked:
    """Mask by exact general additive data perturbation: exact moments, e orthogonal to S and X.

    Y = prediction from S + e with e = b Sb^(-1/2) Sr^(1/2), where r are the residuals of X
    regressed on S, b those of random V regressed on S and X, and Sr, Sb their covariances. Sample
    means and covariances of (S, Y) are those of (S, X); in the sample, Y tells linearly no more of
    X than S does. (Muralidhar and Sarathy 2005, 2008; AlAhmadi II.2.3 and list of symbols.)

    What is exact is known to whoever reads Y: sums of X over all records, and over those of each
    category of S, are those of Y. Two people who alone share a category learn each other's values;
    tables that differ by one record give it away (see docs/masking.md).

    Args, Raises: as of `gadp`. Columns of X that others tell exactly are allowed: the masked ones
        tell each other likewise.
    """
    require_randomness(rng)
    given = inputs(S, X)
    require_maskable(given, given.both.shape[1], max_leverage)
    influence = _influence(given, given.both, max_told)
    noise = exact_noise(rng, given.both, given.standard_residuals)
    return _masked("egadp", given, noise, influence)


def _influence(given: Inputs, basis: Floats | None, max_told: float | None) -> Influence:
    return hidden(influence_of(given.leverages, basis, columns=given.columns), max_told)


def _masked(method: str, given: Inputs, noise: Floats, influence: Influence) -> Masked:
    prediction = given.standard - given.standard_residuals
    return predicted_and_noise(method, given, prediction, noise, influence)


# Additive noise: the oldest methods, here to compare others with.
#
# Y = X + e keeps what each record says of X, blurred: Y tells of X what S does not, copies of a
# release average the noise out, and relationships are weakened by it. Unlike the other methods
# these two need no prediction from S, which they do not use.

NOISE = 0.1
"""The variance of the noise as a share of each column's variance, unless told otherwise."""

MOST_NOISE = 1_000_000
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
        S, X, rng: as of `sadp`.
        noise: the covariance of e as a share of the covariance of X.
        rescale: whether means and covariances are brought back to those of X.

    Raises: as of `sadp`.
    """
    given = _checked(S, X, rng, noise)
    root = np.sqrt(noise / given.records) * symmetric_root(given.standard)
    drawn = normal_noise(rng, given.records, root)
    return _added("cadp", given, drawn, noise, shrink=1 / np.sqrt(1 + noise) if rescale else 1.0)


def _checked(S: Any, X: Any, rng: Randomness, noise: float) -> Inputs:  # noqa: N803
    require_limit(noise, Annotated[float, Gt(0), Le(MOST_NOISE)], "noise")
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
