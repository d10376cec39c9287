"""Methods that keep linear relationships: GADP, IPSO and EGADP.

All three release the linear prediction of X from S plus noise. GADP keeps moments in expectation.
IPSO and EGADP keep them exactly, and the noise of EGADP is also orthogonal to X.
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
    """Mask by GADP, general additive data perturbation: the linear prediction plus normal noise.

    Moments of (S, Y) equal the moments of (S, X) up to sampling error; Y is independent of X given
    S. (Muralidhar, Parsa and Sarathy 1999; AlAhmadi II.2.3.)
    """
    require_maskable(given, given.basis.shape[1], limits)
    root = symmetric_root(given.standard_residuals) / np.sqrt(given.records - 1)
    return _masked(given, normal_noise(rng, given.records, root), None, limits)


def ipso(given: Inputs, rng: Randomness, limits: Limits) -> Masked:
    """Mask by IPSO (information-preserving statistical obfuscation), with noise e orthogonal to S.

    Moments are kept exactly. Y is drawn given the sufficient statistics of the normal model of X on
    S (Burridge 2003; AlAhmadi II.2.3). IPSO is less secure than EGADP, because e is not orthogonal
    to X. The squared correlation of e with the residuals of X, 1 / (n - 1 - p) on average, is the
    share of X that Y reveals.
    """
    require_maskable(given, given.basis.shape[1], limits)
    noise = exact_noise(rng, given.basis, given.standard_residuals)
    return _masked(given, noise, given.basis, limits)


def egadp(given: Inputs, rng: Randomness, limits: Limits) -> Masked:
    """Mask by EGADP (exact general additive data perturbation), with noise e orthogonal to S and X.

    Moments are kept exactly. Y is the prediction from S plus e = b Sb^(-1/2) Sr^(1/2), where r are
    the residuals of X regressed on S, b the residuals of a random normal matrix regressed on S and
    X, Sr = r'r and Sb = b'b (Muralidhar and Sarathy 2005, 2008; AlAhmadi II.2.3).

    Y has the same sums as X over all records and over each category of S. Therefore, if a category
    has only two people, each can learn the other's value (docs/masking.md).
    """
    require_maskable(given, given.both.shape[1], limits)
    noise = exact_noise(rng, given.both, given.standard_residuals)
    return _masked(given, noise, given.both, limits)


def _masked(given: Inputs, noise: Floats, basis: Floats | None, limits: Limits) -> Masked:
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
