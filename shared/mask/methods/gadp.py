"""Methods that keep linear relationships: GADP, IPSO and EGADP."""

from __future__ import annotations

from typing import Any

import numpy as np

from shared.mask.core.inputs import (
    MAX_LEVERAGE,
    inputs,
    require_no_lone_record,
    require_records,
)
from shared.mask.core.masked import Masked
from shared.mask.core.noise import exact_noise
from shared.mask.core.randomness import Randomness
from shared.mixed.design import basis_of, with_constant


def egadp(
    S: Any,  # noqa: N803 - the papers' names
    X: Any,  # noqa: N803
    rng: Randomness,
    *,
    max_leverage: float = MAX_LEVERAGE,
) -> Masked:
    """Mask by the exact general additive method (Muralidhar and Sarathy 2005; AlAhmadi III).

    Y = b'S + e: the linear prediction from S, and noise that is orthogonal to S and X and has the
    sample covariance of the residuals. Means and covariances of (S, Y) are those of (S, X), and Y
    tells no more of X than S does.
    """
    given = inputs(S, X)
    both = basis_of(with_constant(np.column_stack([given.told, given.matrix])))
    require_records(given, both.shape[1])
    require_no_lone_record(given.basis, max_leverage)
    noise = exact_noise(rng, both, given.residuals)
    expectation = given.matrix - given.residuals
    values = expectation + noise
    return Masked("egadp", given.restore(values), values, expectation, noise)
