"""The columns of a linear classifier over cells of its features, and the counts of the cells."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, pairwise

import numpy as np
import numpy.typing as npt

from pramana_core.domain import Domain, Variable
from pramana_core.errors import EstimationError, OptionError, UnknownVariable
from pramana_core.learn.common.options import LinearOptions
from pramana_core.marginals.counts import Codes, Marginals, Tensor

_NO_VARIATION = 1e-12
"""A variance below this share of the squared range of a column counts as zero."""


@dataclass(frozen=True, eq=False)
class Cells:
    """A list of cells, as equally long code arrays, one per variable; `shape` has the sizes."""

    columns: tuple[Codes, ...]
    shape: tuple[int, ...]

    @classmethod
    def grid(cls, shape: tuple[int, ...]) -> Cells:
        """Return all cells of a shape, in C order."""
        codes = np.indices(shape, dtype=np.min_scalar_type(max(shape)))
        return cls(tuple(code.ravel() for code in codes), shape)


@dataclass(frozen=True, eq=False)
class ClassCounts:
    """The counts of each class in each cell of the features, with shape (cells, classes)."""

    cells: Cells
    counts: Tensor

    @classmethod
    def of(cls, counts: Tensor) -> ClassCounts:
        """Return the counts of a table over the features with the class as its last axis."""
        shape, classes = counts.shape[:-1], counts.shape[-1]
        return cls(Cells.grid(shape), counts.reshape(-1, classes))

    @cached_property
    def totals(self) -> Tensor:
        """The number of records of all classes in each cell, shape (cells,)."""
        total: Tensor = self.counts.sum(axis=1)
        return total

    @cached_property
    def valid(self) -> bool:
        """Whether no count is negative."""
        return bool(self.counts.min() >= 0)

    def of_class(self, code: int) -> Tensor:
        """Return the number of records of one class in each cell, shape (cells,)."""
        own: Tensor = self.counts[:, code]
        return own


@dataclass(frozen=True)
class Column:
    """A number for each category of a variable, with the column's estimated standard deviation.

    `name` is `variable`, or `variable=category` for an indicator; `deviation` may be 0.
    """

    variable: str
    name: str
    values: tuple[float, ...]
    deviation: float = 0.0


def columns_of(variables: Domain, options: LinearOptions) -> tuple[Column, ...]:
    """Return the columns of some variables, in order.

    A variable with numbers has one column. Any other variable has an indicator for each category
    except the first; with the `ordinal` encoding, it has one column with the values 1 .. K instead.
    Raises UnknownVariable: numbers are given for a variable that is not a feature. OptionError: the
    numbers of a variable are not one finite number for each category, or are all equal.
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
                f"{name!r} needs {size} finite numbers, not all equal, one per category.",
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
    """An intercept and columns over all cells of some variables, stored without listing the cells.

    `blocks` has the column values of each variable, (categories, columns). Each column depends on
    one variable, so sums of products of two columns need only pairs of variables.
    """

    blocks: tuple[Tensor, ...]

    @classmethod
    def of(cls, variables: Domain, columns: Sequence[Column]) -> DesignMatrix:
        """Return the design matrix of columns that are in the order of `variables`."""
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
        """The number of columns including the intercept."""
        return 1 + sum(int(block.shape[1]) for block in self.blocks)

    @cached_property
    def places(self) -> tuple[slice, ...]:
        """The slice of each variable's columns in a vector of weights."""
        ends = 1 + np.cumsum([0, *(block.shape[1] for block in self.blocks)])
        return tuple(slice(int(a), int(b)) for a, b in pairwise(ends))

    def contributions(self, weights: Tensor) -> list[Tensor]:
        """Return each category's term in the linear function, with the intercept in block 0."""
        parts = [block @ weights[p] for block, p in zip(self.blocks, self.places, strict=True)]
        parts[0] = parts[0] + weights[0]
        return parts

    def scores(self, cells: Cells, weights: Tensor) -> Tensor:
        """Return the value of the linear function in each of the given cells, shape (cells,)."""
        total: Tensor = np.zeros(len(cells.columns[0]))
        for column, part in zip(cells.columns, self.contributions(weights), strict=True):
            total += part[column]
        return total

    def rows(self, cells: Cells, at: slice | int = slice(None)) -> Tensor:
        """Return the matrix rows, 1 and the columns, of cells: (size, cells) or (size,)."""
        parts = [b[c[at]].T for b, c in zip(self.blocks, cells.columns, strict=True)]
        return np.concatenate([np.ones((1, *parts[0].shape[1:])), *parts])

    def first(self, cells: Cells, values: Tensor) -> Tensor:
        """Return the sum over cells of value times row of the matrix, shape (size,)."""
        parts = [
            block.T @ _summed(column, values, len(block))
            for block, column in zip(self.blocks, cells.columns, strict=True)
        ]
        return np.concatenate([[values.sum()], *parts])

    def second(self, cells: Cells, values: Tensor) -> Tensor:
        """Return the sum of values times outer products of the cells' rows, (size, size)."""
        matrix = np.zeros((self.size, self.size))
        matrix[0] = matrix[:, 0] = self.first(cells, values)
        parts = list(zip(self.blocks, cells.columns, self.places, strict=True))
        for block, column, at in parts:
            matrix[at, at] = (block.T * _summed(column, values, len(block))) @ block
        for (block, column, at), (other, second, to) in combinations(parts, 2):
            pairs = column.astype(np.intp) * len(other) + second
            table = _summed(pairs, values, len(block) * len(other))
            matrix[at, to] = block.T @ table.reshape(len(block), -1) @ other
            matrix[to, at] = matrix[at, to].T
        return matrix


def _summed(codes: Codes | npt.NDArray[np.intp], values: Tensor, size: int) -> Tensor:
    return np.asarray(np.bincount(codes, weights=values, minlength=size), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Scaling:
    """Columns with their means; a column that varies is scaled to mean 0 and deviation 1."""

    columns: tuple[Column, ...]
    means: Tensor

    @classmethod
    def of(cls, columns: Sequence[Column], marginals: Marginals, variables: Domain) -> Scaling:
        """Estimate means and deviations. Raises EstimationError if no column varies."""
        shares = {}
        for variable in variables:
            counts = marginals.marginal([variable.name]).counts
            shares[variable.name] = counts / counts.sum()
        known, means = [], []
        for column in columns:
            values, share = np.array(column.values), shares[column.variable]
            mean = float(values @ share)
            variance = float(np.square(values - mean) @ share)
            varies = variance > _NO_VARIATION * float(np.ptp(values)) ** 2
            known.append(replace(column, deviation=math.sqrt(variance) if varies else 0.0))
            means.append(mean)
        if not any(column.deviation for column in known):
            raise EstimationError(
                "No column is estimated to vary, so the columns cannot separate the classes.",
                remedy="Choose other features, or collect more records.",
            )
        return cls(tuple(known), np.array(means))

    @cached_property
    def kept(self) -> npt.NDArray[np.intp]:
        """The indices of the columns that vary."""
        return np.flatnonzero([column.deviation for column in self.columns])

    def design(self, variables: Domain) -> DesignMatrix:
        """Return the design matrix of the scaled columns."""
        scaled = []
        for column, mean in zip(self.columns, self.means, strict=True):
            if column.deviation:
                values = (np.array(column.values) - mean) / column.deviation
                scaled.append(replace(column, values=tuple(values.tolist())))
        return DesignMatrix.of(variables, scaled)

    @cached_property
    def back(self) -> Tensor:
        """The matrix from weights of scaled columns to weights of all columns in their units."""
        inverse = 1 / np.array([self.columns[place].deviation for place in self.kept])
        places = 1 + np.arange(len(self.kept))
        matrix = np.zeros((1 + len(self.columns), 1 + len(self.kept)))
        matrix[0, 0] = 1.0
        matrix[1 + self.kept, places] = inverse
        matrix[0, places] = -self.means[self.kept] * inverse
        return matrix
