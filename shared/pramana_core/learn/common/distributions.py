"""Projection onto probability distributions, and seeded random generators."""

from __future__ import annotations

import numpy as np

from pramana_core.marginals.counts import Tensor


def project_to_simplex(rows: Tensor) -> Tensor:
    """Return the nearest distribution to each row of sum 1 on the last axis (Duchi et al. 2008)."""
    size = rows.shape[-1]
    ordered = -np.sort(-rows, axis=-1)
    excess = (np.cumsum(ordered, axis=-1) - 1) / np.arange(1, size + 1)
    support = (ordered > excess).sum(axis=-1, keepdims=True)
    shift = np.take_along_axis(excess, support - 1, axis=-1)
    clipped = np.maximum(rows - shift, 0.0)
    projected: Tensor = clipped / clipped.sum(axis=-1, keepdims=True)
    return projected


def stream(*seed: int) -> np.random.Generator:
    """Return the random generator of some seeds; different seeds give independent streams."""
    return np.random.Generator(np.random.PCG64(seed))
