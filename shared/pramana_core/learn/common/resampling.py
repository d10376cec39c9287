"""The streams of bootstrap samples: functions of a seed, so that a model can be made again."""

from __future__ import annotations

import numpy as np


def stream(*seed: int) -> np.random.Generator:
    """Return the generator of a seed; more numbers name streams that are independent."""
    return np.random.Generator(np.random.PCG64(seed))
