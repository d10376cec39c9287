"""The channel of some variables of a joint channel given as integers, where it exists."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from pramana_core.channels.base import Units


def lump(units: Units, sizes: Sequence[int], kept: Sequence[bool]) -> Units | None:
    """Sum a square joint channel over the reports not kept.

    Returns None if the truth of the variables not kept still matters. Integers make that test
    exact: the sum of a row is 2^32, far from overflow.

    Args:
        units: n x n over 2^32, n the product of `sizes`.
        sizes: the number of categories of each variable.
        kept: which variables to keep.
    """
    shape = tuple(sizes)
    dropped = [axis for axis, keep in enumerate(kept) if not keep]
    rank = len(shape)
    summed = units.reshape(shape + shape).sum(axis=tuple(rank + axis for axis in dropped))
    size = math.prod(s for s, keep in zip(shape, kept, strict=True) if keep)
    candidates = np.moveaxis(summed, dropped, range(len(dropped))).reshape(-1, size, size)
    if np.any(candidates != candidates[0]):
        return None
    lumped: Units = candidates[0]
    return lumped


def kept_size(sizes: Sequence[int], kept: Sequence[bool]) -> int:
    """Return the number of cells over the kept variables."""
    return math.prod(size for size, keep in zip(sizes, kept, strict=True) if keep)
