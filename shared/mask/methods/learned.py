"""E(X|S) learned by kernel regression, so that those who learn it again from Y find the same."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from shared.kernel_regression.fitting import KernelFit, explained, fit_kernel, leave_one_out
from shared.kernel_regression.options import KernelOptions
from shared.mask.core.cautions import NEARLY_TOLD
from shared.mask.core.inputs import Inputs, require_leverages
from shared.mask.core.randomness import Randomness
from shared.mixed.design import basis_of, leverages, residual
from shared.mixed.table import Floats

LEARNED = 0.05
"""Eigenvectors of which the ridge keeps less than this are left out of E(X|S): they are noise."""

ITERATIONS = (np.inf, 64, 32, 16, 8, 4, 2, 1)
"""How often the ridge may be iterated: the first is taken that does not add too much freedom."""

FREEDOM = 2.0
"""At most so many times the freedom of the ridge, ..."""

FITTED = 0.2
"""... and at most this share of the records, unless the ridge has more by itself."""

ATTEMPTS = 16
"""How often lone records are held back until the largest leverage is kept; ..."""

PATIENCE = 8
"""... after so many, what still weighs more is replaced wholly."""

MARGIN = 0.98
"""They are held back a little more than it seems to take."""

SMOOTHER = 10.0
"""How much larger a penalty is tried next if that does not help."""

WIDE = 200
"""Noise is orthogonal to at most so many eigenvectors of the kernel, ..."""

SHARE = 5
"""... and to no more than one for so many records; ..."""

NARROW = 20
"""... where its own distribution is to be kept, to fewer: one for so many records."""

ALONE = 1e-6
"""A record is told by others if their weight in its fitted value is at least this."""

ROUNDING = 1e-12
"""What is shorter, in standard deviations, is rounding."""

UNEVEN = 0.05
"""With a larger leave-one-out R2 of |r| on S the spread of the residuals depends on S."""

LOST = 0.01
"""More of the kernel's trace than this, lost by landmarks, is warned of."""


@dataclass(frozen=True, eq=False)
class Learned:
    """What S tells of the standardized X.

    Attributes:
        fit: the kernel regression it started from.
        expectation: E(X|S), n x q.
        residuals: r = X - E(X|S), n x q.
        learned: how many eigenvectors of the kernel E(X|S) is made of.
        iterations: how often the ridge was iterated; infinite if X was projected onto them.
        held: how many lone records' own values were held back.
        leverages: how much each record's own value weighs in its expectation: n numbers.
    """

    fit: KernelFit
    expectation: Floats = field(repr=False)
    residuals: Floats = field(repr=False)
    learned: int
    iterations: float
    held: int
    leverages: Floats = field(repr=False)

    def orthogonal(self, given: Inputs, *, wide: bool) -> Floats:
        """Return an orthonormal basis of what noise must be orthogonal to.

        Args:
            given: S and X.
            wide: whether as many further eigenvectors of the kernel are in it as there are records
                for, or fewer.

        Returns:
            n x k: the constant, S, what E(X|S) is made of, and X.
        """
        n, q = given.records, given.columns
        room = n - given.basis.shape[1] - 2 * q - 1
        most = min(n // SHARE, WIDE, room)
        count = max(0, most if wide else min(most, max(self.learned, n // NARROW)))
        found = np.linalg.qr(np.column_stack([given.basis, self.fit.basis[:, :count]]))[0]
        return _with(_with(found, self.expectation), given.standard)

    def details(self, given: Inputs) -> dict[str, Any]:
        """Return what was chosen and found, for `Masked.details`."""
        return {
            "bandwidth": self.fit.bandwidth,
            "penalty": self.fit.penalty,
            "freedom": float(self.leverages.sum()),
            "eigenvectors": self.learned,
            "iterations": self.iterations,
            "held_back": self.held,
            "approximation": self.fit.approximation,
            "halving": self.fit.halving,
            "largest_leverage": float(self.leverages.max()),
            "r2": {name: float(r2) for name, r2 in zip(given.x.names, self.fit.r2, strict=True)},
        }

    def warnings(self, given: Inputs) -> tuple[str, ...]:
        """Return what a custodian must know of this relation; names columns, never values."""
        found = []
        uneven = explained(np.abs(self.residuals), self._spread(given))
        told = 1 - np.mean(self.residuals**2, axis=0)
        linearly = 1 - np.mean(given.standard_residuals**2, axis=0)
        for name, spread, r2, line in zip(given.x.names, uneven, told, linearly, strict=True):
            if r2 > NEARLY_TOLD >= line:
                found.append(
                    f"S tells {r2:.1%} of the variation of column {name!r}; its masked values are"
                    " as close to the true ones as that."
                )
            if spread > UNEVEN:
                found.append(
                    f"How far column {name!r} spreads around its expectation depends on S"
                    f" (R2 {spread:.2f}); the noise spreads evenly."
                )
        if self.fit.approximation > LOST:
            found.append(
                f"The landmarks span {1 - self.fit.approximation:.1%} of the kernel; with more of"
                " them the relationships may be learned better."
            )
        return tuple(found)

    def _spread(self, given: Inputs) -> Floats:
        """Return |r| as S tells it, each record's without its own: n x q."""
        count = min(self.learned, given.records // NARROW)
        basis = np.column_stack([given.basis, self.fit.basis[:, :count]])
        sizes = np.abs(self.residuals)
        weights = np.minimum(np.einsum("ij,ij->i", basis, basis), 1.0)
        return leave_one_out(sizes, basis @ (basis.T @ sizes), weights)


def learned(given: Inputs, options: KernelOptions, rng: Randomness, max_leverage: float) -> Learned:
    """Learn E(X|S).

    Args:
        given: S and X.
        options: the kernel regression's; lines are free of the penalty in any case.
        rng: draws landmarks.
        max_leverage: the largest weight of a record's own value in its expectation.

    Raises:
        MaskingError: some records' own values weigh more, with the penalty given or with any.
    """
    options = replace(options, linear=True)
    fit = fit_kernel(given.told, given.standard, options, rng)
    found = _expectation(given, fit, max_leverage)
    while options.penalty is None and found.leverages.max() > max_leverage and found.learned:
        smoother = replace(options, bandwidth=fit.bandwidth, penalty=SMOOTHER * fit.penalty)
        fit = fit_kernel(given.told, given.standard, smoother, rng)
        found = _expectation(given, fit, max_leverage)
    require_leverages(found.leverages, max_leverage, given)
    return found


def _expectation(given: Inputs, fit: KernelFit, max_leverage: float) -> Learned:
    """Return E(X|S) by a kernel regression, lone records held back as far as the bound asks."""
    count = int(np.count_nonzero(fit.shrinkage > LEARNED))
    times, filtered = iterated(fit.shrinkage[:count], given.records)
    vectors = fit.basis[:, :count] * np.sqrt(filtered)
    shares = np.ones(given.records)
    for attempt in range(ATTEMPTS):
        targets = shares[:, None] * given.standard + (1 - shares)[:, None] * fit.left_out
        relation = vectors @ (vectors.T @ targets)
        own = own_weights(vectors, fit, given.basis, shares)
        exact = times == np.inf and bool(np.all(shares == 1))
        weights = given.leverages + own if exact else _weights(given, relation, own)
        over = weights > max_leverage
        if not over.any():
            break
        room = np.maximum(max_leverage - given.leverages, 0.0)[over]
        fewer = MARGIN * np.minimum(1.0, room / (weights - given.leverages)[over])
        shares[over] = shares[over] * fewer if attempt < PATIENCE else 0.0
    span = basis_of(np.column_stack([given.basis, relation]))
    residuals = residual(given.standard, span)
    held = int(np.count_nonzero(shares < 1))
    return Learned(fit, given.standard - residuals, residuals, count, times, held, weights)


def _weights(given: Inputs, relation: Floats, own: Floats) -> Floats:
    """Return how much own values weigh in least squares of X on the constant, S and f: n numbers.

    Besides by f itself, a value moves the regression's coefficients; the leverages of f in it are a
    bound of that.
    """
    if not relation.shape[1] or not np.any(relation):
        return given.leverages + own
    scale = np.linalg.lstsq(relation, given.standard_residuals)[0]
    inside = own * max(1.0, float(np.max(np.diag(scale))))
    found: Floats = given.leverages + inside + leverages(basis_of(relation)) * (1 - inside)
    return found


def iterated(shrinkage: Floats, records: int) -> tuple[float, Floats]:
    """Return how often a ridge is iterated and what it keeps of each eigenvector then: 0 to 1.

    f = (1 - (1 - H)^k) X; twice is Tukey's twicing. What the ridge keeps most of is kept
    wholly then, so that it is not shrunk once more by those who fit f again; but where H shrinks
    many eigenvectors alike, as with many columns of S, this would be to memorize X.
    """
    freedom = float(shrinkage.sum())
    most = min(FREEDOM * freedom, max(freedom, FITTED * records))
    for times in ITERATIONS:
        found: Floats = 1 - (1 - shrinkage) ** times if times < np.inf else np.ones(len(shrinkage))
        if found.sum() <= most * (1 + ROUNDING):
            break
    return times, found


def _with(basis: Floats, values: Floats) -> Floats:
    """Return an orthonormal basis with what columns of variance 1 or less add to it."""
    rest = residual(values, basis)
    lengths = np.linalg.norm(rest, axis=0)
    new = lengths > ROUNDING * np.sqrt(len(values))
    return np.column_stack([basis, basis_of(residual(rest[:, new] / lengths[new], basis))])


def own_weights(vectors: Floats, ridge: KernelFit, free: Floats, shares: Floats) -> Floats:
    """Return how much records' own values weigh in VV'y: n numbers.

    y are the values x, and for lone records a mixture of x and of what the ridge predicts without
    them, which so does not decide its own fit. A larger penalty for the sake of a few lone
    records would smooth away what the others have to tell.

    Args:
        vectors: V, n x m.
        ridge: the fit whose predictions are mixed in.
        free: an orthonormal basis of what the ridge does not shrink, n x f.
        shares: how much of its own value each record keeps, n numbers from 0 to 1.
    """
    found: Floats = shares * np.einsum("ij,ij->i", vectors, vectors)
    lone = np.flatnonzero(shares < 1)
    if len(lone):
        # Through what is predicted of lone records near it a record weighs more in its own fit.
        hat = free[lone] @ free.T + (ridge.basis[lone] * ridge.shrinkage) @ ridge.basis.T
        factor = (1 - shares[lone]) / np.maximum(1 - ridge.leverages[lone], ALONE)
        through = (vectors[lone] @ vectors.T) * hat * factor[:, None]
        through[np.arange(len(lone)), lone] = 0.0
        found += through.sum(axis=0)
    return found
