"""Methods that keep linear relationships: GADP, IPSO and EGADP.

All three release Y = linear prediction of X from S + noise e with the residuals' covariance. They
differ in what of it is exact: nothing (GADP), the moments (IPSO), the moments and that e is
orthogonal to X (EGADP).
"""

from __future__ import annotations

import numpy as np

from pramana_core.mask.core.cautions import cautions, gravest_first
from pramana_core.mask.core.influence import hidden, influence_of
from pramana_core.mask.core.inputs import Inputs, Limits, require_maskable
from pramana_core.mask.core.masked import Masked, facts
from pramana_core.mask.core.noise import Randomness, exact_noise, normal_noise, symmetric_root
from pramana_core.mixed import Floats


def gadp(given: Inputs, rng: Randomness, limits: Limits) -> Masked:
    """Mask by general additive data perturbation: Y ~ N(prediction from S, residual covariance).

    The moments of (S, Y) are those of (S, X) in expectation and off by sampling error in the
    sample, like those of a second sample of n records; e is drawn without regard to X, so Y is
    independent of X given S. (Muralidhar, Parsa and Sarathy 1999; AlAhmadi II.2.3.)
    """
    require_maskable(given, given.basis.shape[1], limits)
    root = symmetric_root(given.standard_residuals) / np.sqrt(given.records - 1)
    return _masked(given, normal_noise(rng, given.records, root), None, limits)


def ipso(given: Inputs, rng: Randomness, limits: Limits) -> Masked:
    """Mask by information-preserving statistical obfuscation: exact moments, e orthogonal to S.

    Y is a draw given the sufficient statistics of the normal model of X on S: the coefficients and
    the residual covariance are exactly those of X, so the sample means and covariances of (S, Y)
    are, too. (Burridge 2003; AlAhmadi II.2.3.)

    Its security is worse than EGADP's because e is orthogonal to S but not to X: each column of e
    has a chance correlation with each column of residuals r, whose square is 1 / (n - 1 - p) on
    average. In small samples this is a share of what S does not tell of X that Y tells; whoever
    knows X for some of the records can learn it.
    """
    require_maskable(given, given.basis.shape[1], limits)
    noise = exact_noise(rng, given.basis, given.standard_residuals)
    return _masked(given, noise, given.basis, limits)


def egadp(given: Inputs, rng: Randomness, limits: Limits) -> Masked:
    """Mask by exact general additive data perturbation: exact moments, e orthogonal to S and X.

    Y = prediction from S + e with e = b Sb^(-1/2) Sr^(1/2), where r are the residuals of X
    regressed on S, b those of random V regressed on S and X, and Sr, Sb their covariances. Sample
    means and covariances of (S, Y) are those of (S, X); in the sample, Y tells linearly no more of
    X than S does. (Muralidhar and Sarathy 2005, 2008; AlAhmadi II.2.3 and list of symbols.)

    What is exact is known to whoever reads Y: sums of X over all records, and over those of each
    category of S, are those of Y. Two people who alone share a category learn each other's values;
    tables that differ by one record give it away (see docs/masking.md). Columns of X that others
    tell exactly are allowed: the masked ones tell each other likewise.
    """
    require_maskable(given, given.both.shape[1], limits)
    noise = exact_noise(rng, given.both, given.standard_residuals)
    return _masked(given, noise, given.both, limits)


def _masked(given: Inputs, noise: Floats, basis: Floats | None, limits: Limits) -> Masked:
    """Return the linear prediction with noise that is orthogonal to a basis, if to any."""
    influence = hidden(influence_of(given.leverages, basis, columns=given.columns), limits)
    prediction = given.standard - given.standard_residuals
    return Masked(
        given.in_units(prediction + noise),
        given.in_units(prediction),
        noise * given.scales,
        facts(given),
        gravest_first((*influence.warnings, *cautions(given))),
        influence,
    )
