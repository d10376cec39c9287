"""How sure it is what an attribute tells of the class, by the errors of its probabilities."""

from __future__ import annotations

import math

import numpy as np

from pramana_core.learn.bayes_classifier.dependence import information
from pramana_core.learn.bayes_classifier.model import Attribute, BayesClassifier
from pramana_core.learn.common.documents import stream
from pramana_core.marginals.counts import Tensor

_DRAWS, _FEWEST, _NUMBERS = 200, 40, 1 << 21
"""How often probabilities are drawn anew, at least and of large tables, and numbers in all."""


def information_error(model: BayesClassifier, attribute: Attribute) -> float | None:
    """Return the standard error of what an attribute tells of the class, in bits.

    The attribute's shares are drawn around themselves by their standard errors against the
    population, and the information is how far these scatter; so it is told near 0, too, where a
    slope says nothing. Errors of one row of shares sum to 0, those of different rows are taken as
    independent, and how frequent the classes are as known.

    Returns:
        None where some share that counts has no error.
    """
    family = attribute.family
    weights = model.network.marginal(family.parents)[..., None]
    errors = np.where(weights > 0, family.se, 0.0)
    if not np.isfinite(errors).all():
        return None
    own = _apart(errors)
    rng = stream(0)
    most = max(_FEWEST, min(_DRAWS, _NUMBERS // errors.size))
    found = []
    for _ in range(most):
        moved = rng.standard_normal(errors.shape) * own
        moved -= moved.mean(axis=-1, keepdims=True)
        shares = np.maximum(family.probability + moved, 0.0)
        shares /= np.maximum(shares.sum(axis=-1, keepdims=True), np.finfo(float).tiny)
        joint = shares * weights
        found.append(information(np.moveaxis(joint.reshape(len(joint), -1, joint.shape[-1]), 1, 0)))
    return float(np.std(found, ddof=1)) / math.log(2)


def _apart(errors: Tensor) -> Tensor:
    """Return errors of independent numbers that, less their mean in each row, have these errors.

    Of a multinomial row of up to three shares it is exact.
    """
    size = errors.shape[-1]
    if size < 2:
        return np.zeros_like(errors)
    squares = errors**2
    total = squares.sum(axis=-1, keepdims=True) * size / (size - 1)
    if size == 2:
        return np.broadcast_to(np.sqrt(total / 2), squares.shape)
    found: Tensor = np.sqrt(np.maximum(squares - total / size**2, 0.0) / (1 - 2 / size))
    return found
