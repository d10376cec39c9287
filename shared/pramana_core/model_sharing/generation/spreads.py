"""The numbers from 0 to 1 that values are made of, one for each record and attribute."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pramana_core.mixed.table import Floats
from pramana_core.model_sharing.generation.options import Spread

Indices = npt.NDArray[np.intp]


class Places:
    """Where each record of a path lies in the unit cube, a dimension for each attribute.

    "independent" draws each number evenly. "even" takes them from an additive recurrence: record r
    of a path lies at s + r g, modulo 1, where the steps g are the powers of the generalized golden
    ratio (Roberts 2018), which fill the cube evenly however many are taken, and the start s is
    drawn evenly for each path and attribute, so that every record alone is distributed evenly
    (Cranley and Patterson 1976). Which attribute takes which step is drawn for each path as well.
    """

    def __init__(
        self,
        sizes: npt.NDArray[np.int64],
        attributes: int,
        spread: Spread,
        rng: np.random.Generator,
    ) -> None:
        """Take the paths' numbers of records, in the order in which records are numbered."""
        self._attributes, self._rng = attributes, rng
        self._even = spread == "even"
        self._first = np.cumsum(sizes) - sizes
        if self._even:
            self._starts = rng.uniform(size=(len(sizes), attributes))
            steps = np.broadcast_to(_steps(attributes), (len(sizes), attributes))
            self._steps = rng.permuted(steps, axis=1)

    def of(self, records: Indices, paths: Indices) -> Floats:
        """Return the places of the next n records: n x attributes, from 0 to below 1.

        Args:
            records: their numbers among all records.
            paths: their paths.
        """
        if not self._even:
            # Row by row: which chunk a record is in does not change what it is made of.
            return self._rng.uniform(size=(len(records), self._attributes))
        within = (records - self._first[paths])[:, None]
        found: Floats = (self._starts[paths] + within * self._steps[paths]) % 1.0
        return found


def _steps(dimensions: int) -> Floats:
    """Return 1/g, 1/g^2, ... for the g with g^(d + 1) = g + 1, in d dimensions."""
    ratio = 2.0
    for _ in range(64):
        ratio = (1 + ratio) ** (1 / (dimensions + 1))
    found: Floats = ratio ** -np.arange(1.0, dimensions + 1)
    return found
