"""Where the noise comes from: a generator that is passed in.

Experiments pass numpy's `Generator`; an owner passes a keyed one, so that the same table is never
masked twice in different ways (`owner_agent.masking`).
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy.typing as npt

from pramana_core.errors import OptionError


class Randomness(Protocol):
    """The part of numpy's `Generator` that masking uses."""

    def standard_normal(self, size: Any = None) -> npt.NDArray[Any]:
        """Return independent standard normal numbers of a shape."""
        ...

    def random(self, size: Any = None) -> npt.NDArray[Any]:
        """Return independent uniform numbers in [0, 1) of a shape."""
        ...

    def permutation(self, x: int) -> npt.NDArray[Any]:
        """Return the integers below `x` in uniformly random order."""
        ...


def require_randomness(rng: Any) -> None:
    """Check that something can serve as the randomness.

    Raises:
        OptionError: it is a seed, None or anything else.
    """
    if not hasattr(rng, "standard_normal") or not hasattr(rng, "permutation"):
        raise OptionError(
            f"rng must be a random generator such as numpy's, not {type(rng).__name__}.",
            where="rng",
        )
