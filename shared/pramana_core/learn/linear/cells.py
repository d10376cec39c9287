"""Cells of several variables: all of them, or those of a list of records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Protocol

import numpy as np
import numpy.typing as npt

from pramana_core.marginals.counts import Codes, Tensor


class Cells(Protocol):
    """Cells in an order; values over them are vectors of that length."""

    def sums(self, contributions: Sequence[Tensor]) -> Tensor:
        """Return for each cell the sum of one number of each variable, chosen by category."""

    def singles(self, values: Tensor) -> list[Tensor]:
        """Return the sums of values by category, for each variable."""

    def pairs(self, values: Tensor) -> dict[tuple[int, int], Tensor]:
        """Return the sums of values by categories of two variables, for each pair."""

    def codes(self, cell: int) -> tuple[int, ...]:
        """Return the codes of a cell."""


@dataclass(frozen=True)
class CellGrid:
    """All cells of a product of variables, in C order."""

    shape: tuple[int, ...]

    def sums(self, contributions: Sequence[Tensor]) -> Tensor:
        """See `Cells`. The partial sums grow axis by axis, so most of the work is the last."""
        total = contributions[0]
        for part in contributions[1:]:
            total = (total[:, None] + part).ravel()
        return total

    def singles(self, values: Tensor) -> list[Tensor]:
        """See `Cells`."""
        found, rest = [], values
        for size in self.shape:
            rest = rest.reshape(size, -1)
            found.append(rest.sum(axis=1))
            rest = rest.sum(axis=0)
        return found

    def pairs(self, values: Tensor) -> dict[tuple[int, int], Tensor]:
        """See `Cells`. Variables are summed out from the first on, so tables get smaller."""
        found, rest = {}, values.reshape(self.shape)
        for one in range(len(self.shape)):
            for two in range(one + 1, len(self.shape)):
                between = int(np.prod(self.shape[one + 1 : two], dtype=np.int64))
                split = rest.reshape(self.shape[one], between, self.shape[two], -1)
                found[one, two] = split.sum(axis=(1, 3))
            rest = rest.sum(axis=0)
        return found

    def codes(self, cell: int) -> tuple[int, ...]:
        """See `Cells`."""
        return tuple(int(code) for code in np.unravel_index(cell, self.shape))


@dataclass(frozen=True, eq=False)
class ListedCells:
    """The cells of a list of records: one code array of one length for each variable."""

    columns: tuple[Codes, ...]
    shape: tuple[int, ...]

    def sums(self, contributions: Sequence[Tensor]) -> Tensor:
        """See `Cells`."""
        total: Tensor = np.zeros(len(self.columns[0]))
        for column, part in zip(self.columns, contributions, strict=True):
            total += part[column]
        return total

    def singles(self, values: Tensor) -> list[Tensor]:
        """See `Cells`."""
        pairs = zip(self.columns, self.shape, strict=True)
        return [_summed(column, values, size) for column, size in pairs]

    def pairs(self, values: Tensor) -> dict[tuple[int, int], Tensor]:
        """See `Cells`."""
        found = {}
        for one, two in combinations(range(len(self.shape)), 2):
            rows, width = self.shape[one], self.shape[two]
            cell = self.columns[one].astype(np.intp) * width + self.columns[two]
            found[one, two] = _summed(cell, values, rows * width).reshape(rows, width)
        return found

    def codes(self, cell: int) -> tuple[int, ...]:
        """See `Cells`."""
        return tuple(int(column[cell]) for column in self.columns)


def _summed(codes: Codes | npt.NDArray[np.intp], values: Tensor, size: int) -> Tensor:
    return np.asarray(np.bincount(codes, weights=values, minlength=size), dtype=np.float64)
