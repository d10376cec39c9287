"""Squares and products of S that a kernel fit left in the residuals.

The smoothest fit that cannot be told from the best one by its errors may be too smooth for a weak
relationship that an analyst would look for first: the slope of a square in a regression of X on S.
One number for all records is enough to keep it, and tells next to nothing of single ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from pramana_core.kernel_regression.fitting import KernelFit
from pramana_core.mask.core.inputs import Inputs
from pramana_core.mixed.design import basis_of, leverages, residual
from pramana_core.mixed.table import Floats

SURE = 4.0
"""So many standard errors, robust to uneven spread, a slope must be from 0 to be added."""

MOST = 10
"""With more numeric columns of S than this, products of two of them are not looked at."""

ROUNDING = 1e-12
"""What is shorter, in standard deviations, is rounding."""

NEW = 1e-4
"""Of a square, at least this share must be told by neither S nor E(X|S)."""


@dataclass(frozen=True, eq=False)
class Squares:
    """What was added to an expectation.

    Attributes:
        names: in words, such as "age squared"; they name columns of S.
        basis: orthonormal columns that span it beyond the constant and S, n x k.
    """

    names: tuple[str, ...]
    basis: Floats = field(repr=False)

    def beside(
        self, given: Inputs, expectation: Floats, own: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """Return of what an expectation is made with these: lines and squares, curves, and weights.

        Args:
            given: S and X.
            expectation: without these, of the standardized X, n x q.
            own: how much records' own values weigh in it, n x q.

        Returns:
            An orthonormal basis of the constant, S and these; what else the expectation is made of,
            n x q; and the weights in the regression of X on both, a bound: a value also moves the
            coefficients.
        """
        plain = np.column_stack([given.basis, self.basis])
        curves = residual(expectation, plain)
        # Of columns that have no curves rounding is left.
        curves *= np.linalg.norm(curves, axis=0) > ROUNDING * np.sqrt(given.records)
        scale = np.diag(np.linalg.lstsq(curves, given.standard)[0])
        inside = (own - given.leverages[:, None]) * np.maximum(scale, 1.0)
        found = leverages(plain)[:, None] + inside
        found += leverages(basis_of(curves))[:, None] * (1 - inside)
        return plain, curves, found


def no_squares(given: Inputs) -> Squares:
    """Return that nothing is added."""
    return Squares((), np.empty((given.records, 0)))


def squares_left(given: Inputs, expectation: Floats, residuals: Floats) -> Squares:
    """Return the squares and products of S of which the residuals surely have a slope.

    Args:
        given: S and X.
        expectation: of the standardized X, n x q.
        residuals: standardized X less that, n x q.
    """
    told = basis_of(np.column_stack([given.basis, expectation]))
    names, found = [], []
    for name, values in _candidates(given):
        new = residual(values[:, None], told)
        if float(np.mean(new**2)) < NEW * float(np.mean((values - values.mean()) ** 2)):
            continue
        slopes = np.sum(new * residuals, axis=0) / np.sum(new**2)
        rest = residuals - new * slopes
        errors = np.sqrt(np.sum((new * rest) ** 2, axis=0)) / np.sum(new**2)
        if np.any(np.abs(slopes) > SURE * errors):
            names.append(name)
            found.append(residual(values[:, None], given.basis)[:, 0])
    if not found:
        return no_squares(given)
    return Squares(tuple(names), basis_of(np.column_stack(found)))


def _candidates(given: Inputs) -> Iterator[tuple[str, Floats]]:
    """Yield squares of numeric columns of S, and products of two."""
    sources = given.design.sources
    numeric = [
        place
        for place, (_, category) in enumerate(sources)
        if category is None and len(np.unique(given.told[:, place])) > 2
    ]
    for place in numeric:
        yield f"{sources[place][0]} squared", given.told[:, place] ** 2
    for place, first in enumerate(numeric if len(numeric) <= MOST else []):
        for second in numeric[place + 1 :]:
            name = f"{sources[first][0]} times {sources[second][0]}"
            yield name, given.told[:, first] * given.told[:, second]


# What is done about records that stand alone: what is theirs weighs less, and they have noise.

TAKEN = 0.7
"""At most this share of the variance of a record's noise is given up for being orthogonal."""

ATTEMPTS = 30
"""How often lone records' rows are shortened; then fewer eigenvectors are kept."""

MARGIN = 0.9
"""They are shortened a little more than it seems to take."""

SMALLEST = 1e-10
"""Directions whose squares sum to less than this are left out: what was shortened away."""

CLOSE = 0.5
"""A direction whose cosine with what stays as it is is larger is taken to be that, but for lone
records; beside it, noise would have to be orthogonal to these alone."""

ALONE = 1e-6
"""A record is told by others if their weight in its fitted value is at least this."""


def with_vectors(base: Floats, vectors: Floats) -> Floats:
    """Return an orthonormal basis that noise is orthogonal to, in which no record is without noise.

    A record that stands alone has eigenvectors nearly of its own, and noise orthogonal to these
    spares it. So its row in them is shortened, until at most `TAKEN` of its variance is given up:
    those who learn again what the record's place tells find its noise there, as they find other
    records' among their neighbours.

    Args:
        base: orthonormal columns that stay as they are, n x b; what a record decides of them is
            given up in any case.
        vectors: n x m, of which as much as possible is kept.
    """
    fixed = leverages(base)
    shares = np.ones(len(base))
    for _ in range(ATTEMPTS):
        found = _beside(base, _directions(vectors * shares[:, None]))
        taken = leverages(found)
        over = (taken > TAKEN) & (fixed <= TAKEN)
        if not over.any():
            return found
        rest = np.maximum(1 - taken, 0.0)
        fewer = np.sqrt(MARGIN * rest * TAKEN / ((1 - TAKEN) * taken))
        shares = np.where(over, shares * fewer, shares)
    return with_vectors(base, vectors[:, : vectors.shape[1] // 2])


def _beside(base: Floats, directions: Floats) -> Floats:
    """Return a basis with the directions that are not close to it."""
    _, cosines, turn = np.linalg.svd(base.T @ directions)
    new = np.ones(directions.shape[1], dtype=np.bool_)
    new[: len(cosines)] = cosines <= CLOSE
    beyond = residual(directions @ turn[new].T, base)
    return np.column_stack([base, np.linalg.qr(beyond)[0]])


def _directions(columns: Floats) -> Floats:
    """Return nearly orthonormal columns of the same span, less what is shorter than rounding."""
    values, turn = np.linalg.eigh(columns.T @ columns)
    kept = values > SMALLEST
    found: Floats = columns @ (turn[:, kept] / np.sqrt(values[kept]))
    return found


def own_weights(fit: KernelFit, target: int, kept: Floats, free: Floats, shares: Floats) -> Floats:
    """Return how much records' own values weigh in VKV'y: n numbers.

    y are the values x, and for lone records a mixture of x and of what the ridge predicts without
    them, which so does not decide its own fit. A larger penalty for the sake of a few lone
    records would smooth away what the others have to tell.

    Args:
        fit: the fit whose predictions are mixed in; V are its leading eigenvectors.
        target: the place of the column.
        kept: what is kept of each leading eigenvector, the diagonal of K: m numbers, 0 to 1.
        free: an orthonormal basis of what the ridge does not shrink, n x f.
        shares: how much of its own value each record keeps, n numbers from 0 to 1.
    """
    vectors = fit.basis[:, : len(kept)]
    found: Floats = shares * np.einsum("ij,ij,j->i", vectors, vectors, kept)
    lone = np.flatnonzero(shares < 1)
    if len(lone):
        # Through what is predicted of lone records near it a record weighs more in its own fit.
        hat = free[lone] @ free.T + (fit.basis[lone] * fit.shrinkage[:, target]) @ fit.basis.T
        factor = (1 - shares[lone]) / np.maximum(1 - fit.own[lone, target], ALONE)
        through = ((vectors[lone] * kept) @ vectors.T) * hat * factor[:, None]
        through[np.arange(len(lone)), lone] = 0.0
        found += through.sum(axis=0)
    return found
