"""Tables as matrices for least squares and kernels: indicators of categories, standardized columns.

The first category of a column has no indicator, for the constant stands for it. Columns without
variation are left out, and so are those that others of them already tell exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import linalg

from shared.errors import TableError
from shared.mixed.table import CategoricalColumn, Floats, MixedTable

TOLERANCE = 1e-10
"""A standardized column whose part that others do not tell is smaller than this is told by them."""


@dataclass(frozen=True, eq=False)
class Design:
    """How a table becomes a matrix, learned from one table and applied to others alike.

    Attributes:
        labels: the matrix's k columns: a variable's name, or `name=category`.
        centres: k means of the columns before they are standardized.
        scales: k standard deviations of the same; n in the denominator.
        constant: columns without variation, left out.
        redundant: columns that others tell exactly, left out.
    """

    labels: tuple[str, ...]
    centres: Floats
    scales: Floats
    constant: tuple[str, ...]
    redundant: tuple[str, ...]

    def matrix(self, table: MixedTable) -> Floats:
        """Return a table as an n x k matrix, standardized by what the first table was.

        Raises:
            MissingColumn: the table lacks a column.
        """
        columns = dict(_columns(table))
        if absent := [label for label in self.labels if label not in columns]:
            raise TableError(f"The table has no columns {absent}.", where=", ".join(absent))
        if not self.labels:
            return np.empty((table.records, 0))
        stacked = np.column_stack([columns[label] for label in self.labels])
        return (stacked - self.centres) / self.scales


def design_of(table: MixedTable) -> Design:
    """Return the design of a table: what is constant or redundant in it is left out."""
    constant, kept = [], []
    for label, values in _columns(table):
        centre, scale = float(np.mean(values)), float(np.std(values))
        if scale <= TOLERANCE * max(1.0, abs(centre)) * np.sqrt(TOLERANCE):
            constant.append(label)
        else:
            kept.append((label, centre, scale, (values - centre) / scale))
    redundant = _redundant([values for *_, values in kept])
    left = [row for place, row in enumerate(kept) if place not in redundant]
    return Design(
        labels=tuple(row[0] for row in left),
        centres=np.array([row[1] for row in left]),
        scales=np.array([row[2] for row in left]),
        constant=tuple(constant),
        redundant=tuple(kept[place][0] for place in sorted(redundant)),
    )


def basis_of(matrix: Floats) -> Floats:
    """Return an orthonormal basis of the columns of a matrix, n x rank, by pivoted QR."""
    if not matrix.shape[1]:
        return np.empty((len(matrix), 0))
    norms = np.linalg.norm(matrix, axis=0)
    scaled = matrix[:, norms > 0] / norms[norms > 0]
    if not scaled.shape[1]:
        return np.empty((len(matrix), 0))
    q, r, _ = linalg.qr(scaled, mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(r))
    basis: Floats = q[:, diagonal > TOLERANCE * diagonal[0]]
    return basis


def with_constant(matrix: Floats) -> Floats:
    """Return a matrix with a column of ones before it."""
    return np.column_stack([np.ones(len(matrix)), matrix])


def residual(values: Floats, basis: Floats) -> Floats:
    """Return what an orthonormal basis does not tell of the columns; twice, against rounding."""
    once = values - basis @ (basis.T @ values)
    again: Floats = once - basis @ (basis.T @ once)
    return again


def leverages(basis: Floats) -> Floats:
    """Return of each record how much its own value weighs in its fitted one: n numbers, 0 to 1."""
    found: Floats = np.einsum("ij,ij->i", basis, basis)
    return found


def _columns(table: MixedTable) -> list[tuple[str, Floats]]:
    found: list[tuple[str, npt.NDArray[np.float64]]] = []
    for column in table.columns:
        if isinstance(column, CategoricalColumn):
            found += [
                (f"{column.name}={label}", (column.codes == code).astype(np.float64))
                for code, label in enumerate(column.categories)
                if code
            ]
        else:
            found.append((column.name, column.values))
    return found


def _redundant(columns: list[Floats]) -> set[int]:
    """Return the places of columns that those before them tell exactly."""
    told: set[int] = set()
    basis = np.empty((len(columns[0]) if columns else 0, 0))
    for place, values in enumerate(columns):
        rest = residual(values[:, None], basis)
        length = float(np.linalg.norm(rest))
        if length <= np.sqrt(TOLERANCE) * float(np.linalg.norm(values)):
            told.add(place)
        else:
            basis = np.column_stack([basis, rest / length])
    return told
