"""The columns of a linear classifier: numbers that stand for the categories of its variables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise

import numpy as np
import numpy.typing as npt

from pramana_core.domain import Domain, Variable
from pramana_core.errors import OptionError, UnknownVariable
from pramana_core.learn.common.options import LinearOptions
from pramana_core.marginals.counts import Codes, Tensor


@dataclass(frozen=True, eq=False)
class Cells:
    """A list of cells: one code array of one length for each variable, of `shape` categories.

    Values over cells are vectors of that length.
    """

    columns: tuple[Codes, ...]
    shape: tuple[int, ...]

    @classmethod
    def grid(cls, shape: tuple[int, ...]) -> Cells:
        """Return all cells of a product of variables, in C order."""
        codes = np.indices(shape, dtype=np.min_scalar_type(max(shape)))
        return cls(tuple(code.ravel() for code in codes), shape)

    def sums(self, contributions: Sequence[Tensor]) -> Tensor:
        """Return for each cell the sum of one number of each variable, chosen by category."""
        total: Tensor = np.zeros(len(self.columns[0]))
        for column, part in zip(self.columns, contributions, strict=True):
            total += part[column]
        return total

    def singles(self, values: Tensor) -> list[Tensor]:
        """Return the sums of values by category, for each variable."""
        pairs = zip(self.columns, self.shape, strict=True)
        return [_summed(column, values, size) for column, size in pairs]

    def pairs(self, values: Tensor) -> dict[tuple[int, int], Tensor]:
        """Return the sums of values by categories of two variables, for each pair."""
        found = {}
        for one, two in combinations(range(len(self.shape)), 2):
            rows, width = self.shape[one], self.shape[two]
            cell = self.columns[one].astype(np.intp) * width + self.columns[two]
            found[one, two] = _summed(cell, values, rows * width).reshape(rows, width)
        return found

    def codes(self, cell: int) -> tuple[int, ...]:
        """Return the codes of a cell."""
        return tuple(int(column[cell]) for column in self.columns)


def _summed(codes: Codes | npt.NDArray[np.intp], values: Tensor, size: int) -> Tensor:
    return np.asarray(np.bincount(codes, weights=values, minlength=size), dtype=np.float64)


@dataclass(frozen=True)
class Column:
    """A number for each category of a variable.

    `name` is the variable's name, or `variable=category` for an indicator. `deviation` is the
    estimated standard deviation of the column, 0 where it is estimated not to vary.
    """

    variable: str
    name: str
    values: tuple[float, ...]
    deviation: float = 0.0


def columns_of(variables: Domain, options: LinearOptions) -> tuple[Column, ...]:
    """Return the columns of some variables, in their order.

    A variable with numbers, given or its own representatives, is one column. Any other of two
    categories is one column of 0 and 1; of more, one indicator for each category but the first.
    With the `ordinal` encoding it is one column of 1 .. K.

    Raises:
        UnknownVariable: numbers for a variable that is not a feature.
        OptionError: numbers that are not one finite number for each category, or all equal.
    """
    for name, numbers in options.numeric.items():
        if name not in variables:
            raise UnknownVariable(
                f"Numbers are given for {name!r}, which is not among the features.",
                where=f"numeric.{name}",
                remedy=f"The features are {list(variables.names)}.",
            )
        size = variables[name].size
        if len(numbers) != size or not all(map(math.isfinite, numbers)) or len(set(numbers)) < 2:
            raise OptionError(
                f"Variable {name!r} needs {size} finite numbers, not all equal, to stand for its"
                " categories.",
                where=f"numeric.{name}",
            )
    return tuple(column for variable in variables for column in _columns(variable, options))


def _columns(variable: Variable, options: LinearOptions) -> tuple[Column, ...]:
    name, size = variable.name, variable.size
    numbers = options.numeric.get(name, variable.representatives)
    if numbers is None and options.encoding == "ordinal":
        numbers = tuple(float(code + 1) for code in range(size))
    if numbers is not None:
        return (Column(name, name, numbers),)
    return tuple(
        Column(
            name,
            f"{name}={variable.categories[code]}",
            tuple(float(code == other) for other in range(size)),
        )
        for code in range(1, size)
    )


@dataclass(frozen=True, eq=False)
class DesignMatrix:
    """Some columns, an intercept before them, over cells of some variables.

    A column's number depends on one variable, so a linear function of the columns is a sum of one
    number per variable, and sums of products of two columns need pairs of variables only. No
    matrix of cells by columns is made.

    Attributes:
        blocks: for each variable the values of its columns, shape (categories, its columns).
    """

    blocks: tuple[Tensor, ...]

    @classmethod
    def of(cls, variables: Domain, columns: Sequence[Column]) -> DesignMatrix:
        """Return the design of columns whose variables come in the order of `variables`."""
        return cls(
            tuple(
                np.array([c.values for c in columns if c.variable == v.name])
                .reshape(-1, v.size)
                .T.copy()
                for v in variables
            )
        )

    @cached_property
    def size(self) -> int:
        """The number of columns and the intercept."""
        return 1 + sum(int(block.shape[1]) for block in self.blocks)

    @cached_property
    def places(self) -> tuple[slice, ...]:
        """Where each variable's columns are in a vector of weights."""
        ends = 1 + np.cumsum([0, *(block.shape[1] for block in self.blocks)])
        return tuple(slice(int(a), int(b)) for a, b in pairwise(ends))

    def contributions(self, weights: Tensor) -> list[Tensor]:
        """Return what each category adds to the linear function; the first has the intercept."""
        parts = [block @ weights[p] for block, p in zip(self.blocks, self.places, strict=True)]
        parts[0] = parts[0] + weights[0]
        return parts

    def scores(self, cells: Cells, weights: Tensor) -> Tensor:
        """Return the linear function in each cell, shape (cells,)."""
        return cells.sums(self.contributions(weights))

    def row(self, codes: Sequence[int]) -> Tensor:
        """Return the intercept's 1 and the columns of one cell."""
        return np.concatenate(
            [[1.0], *(block[code] for block, code in zip(self.blocks, codes, strict=True))]
        )

    def first(self, cells: Cells, values: Tensor) -> Tensor:
        """Return the sum over cells of a value times the row of columns, shape (size,)."""
        singles = cells.singles(values)
        parts = [block.T @ single for block, single in zip(self.blocks, singles, strict=True)]
        return np.concatenate([[values.sum()], *parts])

    def second(self, cells: Cells, values: Tensor) -> Tensor:
        """Return the sum over cells of a value times the products of columns, (size, size)."""
        return self.products(cells.singles(values), cells.pairs(values))

    def products(self, singles: Sequence[Tensor], pairs: dict[tuple[int, int], Tensor]) -> Tensor:
        """Return `second` from the sums by category of each variable and of each pair of them."""
        matrix = np.zeros((self.size, self.size))
        matrix[0, 0] = singles[0].sum()
        for own, (block, single) in enumerate(zip(self.blocks, singles, strict=True)):
            at = self.places[own]
            matrix[0, at] = matrix[at, 0] = block.T @ single
            matrix[at, at] = (block.T * single) @ block
        for (one, two), table in pairs.items():
            part = self.blocks[one].T @ table @ self.blocks[two]
            matrix[self.places[one], self.places[two]] = part
            matrix[self.places[two], self.places[one]] = part.T
        return matrix


@dataclass(frozen=True, eq=False)
class Scaling:
    """Columns brought to mean 0 and standard deviation 1; those that do not vary are left out.

    Attributes:
        kept: the columns that vary, with their deviations.
        means: their means.
    """

    columns: tuple[Column, ...]
    kept: tuple[int, ...]
    means: Tensor

    def design(self, variables: Domain) -> DesignMatrix:
        """Return the design of the scaled columns."""
        scaled = []
        for number, mean in zip(self.kept, self.means, strict=True):
            column = self.columns[number]
            values = (np.array(column.values) - mean) / column.deviation
            scaled.append(Column(column.variable, column.name, tuple(values.tolist())))
        return DesignMatrix.of(variables, scaled)

    @property
    def known(self) -> list[int]:
        """The places of the intercept and of the columns that vary among all weights."""
        return [0, *(1 + kept for kept in self.kept)]

    @cached_property
    def back(self) -> Tensor:
        """The matrix that takes scaled weights to those of all columns in their own units."""
        size = len(self.kept)
        matrix = np.zeros((1 + len(self.columns), 1 + size))
        matrix[0, 0] = 1.0
        for place, (number, mean) in enumerate(zip(self.kept, self.means, strict=True), start=1):
            deviation = self.columns[number].deviation
            matrix[1 + number, place] = 1 / deviation
            matrix[0, place] = -mean / deviation
        return matrix
