"""The randomness that people pass: none, a seed, or a generator of numpy's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pramana.frames.tables import shown
from pramana_core.errors import OptionError

if TYPE_CHECKING:
    import numpy as np

Rng = Any
"""None for fresh randomness, a seed, or a generator of numpy's."""


def generator_of(rng: Rng) -> np.random.Generator:
    """Return a generator: fresh, of a seed, or the one passed. Raises OptionError."""
    import numpy as np

    if isinstance(rng, np.random.Generator):
        return rng
    whole = isinstance(rng, int | np.integer) and not isinstance(rng, bool)
    if rng is not None and not (whole and rng >= 0):
        raise OptionError(
            f"rng must be None, a seed of 0 or more, or a numpy Generator, not {shown(rng)}.",
            where="rng",
        )
    return np.random.default_rng(rng)
