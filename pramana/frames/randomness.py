"""The argument for randomness, which is None, a seed, or a numpy generator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pramana.frames.tables import shown
from pramana_core.errors import OptionError

if TYPE_CHECKING:
    import numpy as np

Rng = Any
"""None for fresh randomness, a seed, or a numpy generator."""


def generator_of(rng: Rng) -> np.random.Generator:
    """Return the given generator, or a new one for a seed or None. Raises OptionError."""
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
