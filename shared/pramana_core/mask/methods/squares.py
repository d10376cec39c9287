"""Squares and products of S that a kernel fit missed and the residuals still contain.

The smoothest of equally good fits may miss the slope of a square. One coefficient restores it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from pramana_core.mask.core.inputs import Inputs
from pramana_core.mixed import Floats, basis_of, leverages, residual

CLEAR = 4.0
"""The minimum slope, in standard errors that allow uneven spread, for a square to be added."""

MOST_PAIRED = 10
"""The maximum number of numeric columns of S for which products are tried."""

ROUNDING = 1e-12
"""Columns shorter than this, in standard deviations, are rounding errors."""

NEW = 1e-4
"""The minimum share of a square's variance that S and E(X|S) do not explain."""


@dataclass(frozen=True, eq=False)
class Squares:
    """The squares added to an expectation: their names, and an orthonormal basis, n x k.

    The basis is orthogonal to S.
    """

    names: tuple[str, ...]
    basis: Floats = field(repr=False)

    def beside(
        self, given: Inputs, expectation: Floats, own: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """Return a basis, the rest of the expectation (n x q), and limits on own values' weights.

        The basis is of the constant, S and these squares. The limits apply to the weights of
        records' own values, which are `own`, in the regression of X on the basis and the rest.
        """
        plain = np.column_stack([given.basis, self.basis])
        curves = residual(expectation, plain)
        # In columns without curves only rounding error remains.
        curves *= np.linalg.norm(curves, axis=0) > ROUNDING * np.sqrt(given.records)
        scale = np.diag(np.linalg.lstsq(curves, given.standard)[0])
        inside = (own - given.leverages[:, None]) * np.maximum(scale, 1.0)
        found = leverages(plain)[:, None] + inside
        found += leverages(basis_of(curves))[:, None] * (1 - inside)
        return plain, curves, found


def no_squares(given: Inputs) -> Squares:
    """Return squares without any column."""
    return Squares((), np.empty((given.records, 0)))


def squares_left(given: Inputs, expectation: Floats, residuals: Floats) -> Squares:
    """Return the squares and products of S with a significant slope in residuals, n x q."""
    basis = basis_of(np.column_stack([given.basis, expectation]))
    names, found = [], []
    for name, values in _candidates(given):
        new = residual(values[:, None], basis)
        if float(np.mean(new**2)) < NEW * float(np.mean((values - values.mean()) ** 2)):
            continue
        slopes = np.sum(new * residuals, axis=0) / np.sum(new**2)
        rest = residuals - new * slopes
        errors = np.sqrt(np.sum((new * rest) ** 2, axis=0)) / np.sum(new**2)
        if np.any(np.abs(slopes) > CLEAR * errors):
            names.append(name)
            found.append(residual(values[:, None], given.basis)[:, 0])
    if not found:
        return no_squares(given)
    return Squares(tuple(names), basis_of(np.column_stack(found)))


def _candidates(given: Inputs) -> Iterator[tuple[str, Floats]]:
    sources = given.design.sources
    numeric = [
        place
        for place, (_, category) in enumerate(sources)
        if category is None and len(np.unique(given.told[:, place])) > 2
    ]
    for place in numeric:
        yield f"{sources[place][0]} squared", given.told[:, place] ** 2
    for place, first in enumerate(numeric if len(numeric) <= MOST_PAIRED else []):
        for second in numeric[place + 1 :]:
            name = f"{sources[first][0]} times {sources[second][0]}"
            yield name, given.told[:, first] * given.told[:, second]
