"""The stream of bootstrap samples: a function of its seed, so that a model can be made again."""

from __future__ import annotations

import numpy as np


def stream(seed: int) -> np.random.Generator:
    """Return the generator of a seed."""
    return np.random.Generator(np.random.PCG64(seed))
