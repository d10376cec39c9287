"""Domains of numbered categories, and records whose variables depend on each other."""

from __future__ import annotations

import numpy as np

from pramana_core.domain import Domain, Variable

Z = 1.959963984540054


def domain(*sizes: int) -> Domain:
    return Domain(
        tuple(Variable(f"v{i}", tuple(f"c{k}" for k in range(s))) for i, s in enumerate(sizes))
    )


def dependent(over: Domain, records: int, seed: int) -> dict[str, np.ndarray]:
    """Columns that are noisy copies of one hidden number."""
    rng = np.random.default_rng(seed)
    hidden = rng.random(records)
    return {
        v.name: (np.clip(hidden + rng.normal(0, 0.3, records), 0, 0.999) * v.size).astype(np.uint8)
        for v in over
    }
