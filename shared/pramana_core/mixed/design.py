"""Tables as matrices for least squares and kernels: indicators of categories, standardized columns.

The first category of a column has no indicator, for the constant stands for it. Columns without
variation are left out, and so are those that others of them already tell exactly.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from pramana_core.errors import TableError
from pramana_core.mixed.table import CategoricalColumn, Floats, MixedTable, without_variation

TOLERANCE = 1e-8
"""A standardized column whose part that others do not tell is smaller than this is told by them."""

RANK_TOLERANCE = 1e-10
"""A unit column adds a direction to a basis if more of it than this is new."""


@dataclass(frozen=True, eq=False)
class Design:
    """How a table becomes a matrix, learned from one table and applied to others alike.

    Attributes:
        labels: the matrix's k columns: a variable's name, or `name=category`.
        centres: k means of the columns before they are standardized.
        scales: k standard deviations of the same; n in the denominator.
        constant: columns without variation, left out.
        redundant: columns that those before them tell exactly, left out.
        sources: of each label its variable, and its category or None.
        categories: the categories of each categorical variable.
    """

    labels: tuple[str, ...]
    centres: Floats
    scales: Floats
    constant: tuple[str, ...]
    redundant: tuple[str, ...]
    sources: tuple[tuple[str, str | None], ...]
    categories: Mapping[str, tuple[str, ...]]

    def matrix(self, table: MixedTable) -> Floats:
        """Return a table as an n x k matrix, standardized by what the first table was.

        Raises:
            MissingColumn: the table lacks a column.
            TableError: a column is numeric in one table and categorical in the other, or has
                records of a category that the first table's did not have.
        """
        found = np.empty((table.records, len(self.labels)))
        for place, (name, category) in enumerate(self.sources):
            column = table[name]
            if isinstance(column, CategoricalColumn) != (category is not None):
                wanted = "numbers" if category is None else "categories"
                raise TableError(f"Column {name!r} must hold {wanted}.", where=name)
            if isinstance(column, CategoricalColumn):
                _require_known(column, self.categories[name])
                found[:, place] = _indicator(column, category)
            else:
                found[:, place] = column.values
        found -= self.centres
        found /= self.scales
        return found


def design_of(table: MixedTable) -> Design:
    """Return the design of a table: what is constant or redundant in it is left out.

    Raises:
        TableError: a column is named as a category of another would be, `name=category`.
    """
    columns = list(_columns(table))
    labels = [label for label, *_ in columns]
    if twice := sorted({label for label in labels if labels.count(label) > 1}):
        raise TableError(
            f"Columns {twice} are named like categories of others.",
            where=", ".join(twice),
            remedy="Rename them.",
        )
    categorical = [c for c in table.columns if isinstance(c, CategoricalColumn)]
    varied = [column for column in columns if not without_variation(column[2])]
    names = [label for label, *_ in varied]
    matrix = np.empty((table.records, 0))
    centres = scales = np.empty(0)
    if varied:
        matrix, centres, scales = standardized(np.column_stack([v for _, _, v in varied]))
    told = _redundant(matrix)
    kept = [place for place in range(len(varied)) if place not in told]
    return Design(
        labels=tuple(names[place] for place in kept),
        centres=centres[kept],
        scales=scales[kept],
        constant=tuple(label for label in labels if label not in names),
        redundant=tuple(names[place] for place in sorted(told)),
        sources=tuple(varied[place][1] for place in kept),
        categories={column.name: column.categories for column in categorical},
    )


def standardized(matrix: Floats) -> tuple[Floats, Floats, Floats]:
    """Return columns that vary with mean 0 and variance 1 (n in the denominator), n x k, and the k
    means and the k standard deviations."""
    centres = np.mean(matrix, axis=0)
    # The mean of large numbers is rounded; that of what remains mends it.
    rest = matrix - centres
    shift = np.mean(rest, axis=0)
    rest -= shift
    # Squares of very small or large numbers would leave the range of floats.
    largest = np.max(np.abs(rest), axis=0)
    rest /= largest
    length = np.sqrt(np.mean(rest**2, axis=0))
    rest /= length
    return rest, centres + shift, largest * length


def basis_of(matrix: Floats) -> Floats:
    """Return an orthonormal basis of the columns of a matrix, n x rank, by pivoted QR."""
    largest = np.max(np.abs(matrix), axis=0, initial=0.0)
    scaled = matrix[:, largest > 0] / largest[largest > 0]
    if not scaled.shape[1]:
        return np.empty((len(matrix), 0))
    scaled /= np.linalg.norm(scaled, axis=0)
    q, r, _ = linalg.qr(scaled, mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(r))
    basis: Floats = q[:, : len(diagonal)][:, diagonal > RANK_TOLERANCE * diagonal[0]]
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
    """Return of each record how much its own value weighs in its fitted one: n numbers, 0 to 1.

    They are the diagonal of the matrix that projects onto the basis (the "hat" matrix).
    """
    found: Floats = np.einsum("ij,ij->i", basis, basis)
    return found


def _columns(table: MixedTable) -> Iterator[tuple[str, tuple[str, str | None], Floats]]:
    """Yield each column of numbers: its label, its source and its values."""
    for column in table.columns:
        if isinstance(column, CategoricalColumn):
            for category in column.categories[1:]:
                label = f"{column.name}={category}"
                yield label, (column.name, category), _indicator(column, category)
        else:
            yield column.name, (column.name, None), column.values


def _indicator(column: CategoricalColumn, category: str | None) -> Floats:
    """Return 1 for the records of a category and 0 for others; it may be none of the column's."""
    code = column.categories.index(category) if category in column.categories else -1
    found: Floats = (column.codes == code).astype(np.float64)
    return found


def _require_known(column: CategoricalColumn, known: tuple[str, ...]) -> None:
    used = {column.categories[code] for code in np.unique(column.codes)}
    if new := used - set(known):
        raise TableError(
            f"Column {column.name!r} has {len(new)} categories that the table of the design"
            " did not have.",
            where=column.name,
            remedy="Leave those records out, or start from a table that has them.",
        )


def _redundant(matrix: Floats) -> set[int]:
    """Return the places of columns that the constant and those before them tell exactly."""
    if not matrix.shape[1]:
        return set()
    # The columns of r have the lengths and angles of the matrix's own, and few rows.
    r: Floats = np.asarray(np.linalg.qr(matrix, mode="r"))
    basis = np.zeros((len(r), min(r.shape)))
    rank, told = 0, set()
    for place, values in enumerate(r.T):
        rest = residual(values[:, None], basis[:, :rank])[:, 0]
        length = float(np.linalg.norm(rest))
        if rank == len(r) or length <= TOLERANCE * float(np.linalg.norm(values)):
            told.add(place)
        else:
            basis[:, rank] = rest / length
            rank += 1
    return told
