"""Priors of an attacker, checked once, and the entropy of a distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
import numpy.typing as npt

from pramana_core.channels import require_prior
from pramana_core.errors import OptionError
from pramana_core.marginals.counts import Tensor


def checked_prior(prior: npt.ArrayLike | None, size: int) -> Tensor | None:
    """Return a prior as an array of shape (size,) that sums to 1, or None for the uniform one.

    Raises:
        OptionError: not `size` finite nonnegative numbers that sum to 1 within 1e-9.
    """
    if prior is None:
        return None
    weights = require_prior(cast("Sequence[float]", prior), size)
    exact: Tensor = weights / weights.sum()
    return exact


def entropy(probabilities: Tensor) -> float:
    """Return -sum p log2 p in bits over all entries; 0 log 0 is 0."""
    return -float(log2_terms(probabilities).sum())


def log2_terms(values: Tensor) -> Tensor:
    """Return v log2 v for each entry; 0 log 0 is 0."""
    logs = np.log2(values, out=np.zeros(np.shape(values)), where=np.asarray(values) > 0)
    terms: Tensor = np.asarray(values * logs, dtype=np.float64)
    return terms


def require_belief(probability: float, where: str) -> None:
    """Raise OptionError unless a probability is strictly between 0 and 1."""
    if not 0 < probability < 1:
        raise OptionError(
            f"A {where.replace('_', ' ')} of {probability} is not between 0 and 1.",
            where=where,
            remedy="Give a probability above 0 and below 1.",
        )


def require_possible(prior: Tensor, possible: npt.NDArray[np.bool_]) -> None:
    """Raise OptionError if a prior gives weight to a truth that is not possible."""
    if np.any(prior[~possible]):
        raise OptionError(
            "The prior gives weight to categories that are declared impossible.",
            where="prior",
            remedy="Set them to 0 and divide by the sum.",
        )
