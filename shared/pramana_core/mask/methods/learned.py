"""E(X|S), learned by kernel regression so that a regression of Y on S recovers it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from pramana_core.kernel_regression.fitting import KernelFit, explained, fit_kernel, leave_one_out
from pramana_core.mask.core.cautions import NEARLY_TOLD, Caution
from pramana_core.mask.core.inputs import Inputs, Limits, require_leverages
from pramana_core.mask.core.noise import Randomness
from pramana_core.mask.methods.lone import ALONE, TAKEN, own_weights, with_vectors
from pramana_core.mask.methods.squares import ROUNDING, Squares, no_squares, squares_left
from pramana_core.mixed import Floats, basis_of, leverages, residual

LEARNED = 0.05
"""Eigenvectors whose factor in the ridge is smaller are left out of E(X|S), as noise."""

ITERATIONS = (np.inf, 64, 32, 16, 8, 4, 2, 1)
"""Numbers of ridge iterations, tried in this order until the degrees of freedom are acceptable."""

FREEDOM, FITTED = 2.0, 0.1
"""Limits on the freedom of an iterated ridge: at most this many times the freedom of the ridge and
this share of the records, but always the freedom of the ridge itself."""

ATTEMPTS, PATIENCE = 16, 8
"""The maximum number of attempts to reduce weights of lone records, and the attempt from which
values that still weigh too much are replaced."""

SURE = 1.0
"""The kernel is used if its errors are below the linear errors by this many standard errors."""

MOST = 0.15
"""If a kernel adds more freedom than this share of the records, it is smoothed. The value exceeds
`FITTED`; otherwise fits at that limit would be smoothed until little remains."""

CURVED, NOTABLE = 0.3, 0.5
"""The target for the weight of a record's own value to which the kernel adds, and the weight above
which the kernel is smoothed."""

BEYOND = 0.1
"""The weight that a kernel may add if S alone already gives a record nearly the target weight."""

MARGIN = 0.98
"""A factor below 1, by which weights of lone records are reduced a little more than needed."""

SMOOTHER = 3.0
"""The factor from one penalty to the next if reducing weights fails or freedom is too large."""

WIDE, SHARE, NARROW = 200, 5, 20
"""Limits on the eigenvectors to which noise is orthogonal: at most `WIDE`, and one for each `SHARE`
records, or for each `NARROW` records if noise must keep its own distribution."""

TINY = 1e-300

UNEVEN = 0.05
"""If the leave-one-out R2 of |r| on S is larger, the spread of the residuals depends on S."""

LARGE = 0.1
"""An expectation with freedom above this share of the records causes a warning."""


@dataclass(frozen=True, eq=False)
class FittedExpectation:
    """The learned expectation E(X|S) of standardized X.

    Attributes:
        fit: the kernel regression from which it was computed.
        expectation, residuals: E(X|S) and X - E(X|S), n x q.
        learned: the number of kernel eigenvectors in E(X|S), the maximum over the columns.
        iterations: the number of ridge iterations for each column; infinite for a projection.
        held: the number of lone records whose weight was reduced.
        own: the weight of each record's own value in its expectation, n x q.
        squares: the added squares and products, which the kernel had missed.
    """

    fit: KernelFit
    expectation: Floats = field(repr=False)
    residuals: Floats = field(repr=False)
    learned: int
    iterations: tuple[float, ...]
    held: int
    own: Floats = field(repr=False)
    squares: Squares = field(repr=False)

    @property
    def leverages(self) -> Floats:
        """The weight of each record's own value, in the column where it is largest, n numbers."""
        found: Floats = self.own.max(axis=1)
        return found

    @property
    def freedom(self) -> Floats:
        """The effective number of parameters of each column's expectation, q numbers."""
        found: Floats = self.own.sum(axis=0)
        return found

    def orthogonal(self, given: Inputs, *, wide: bool) -> Floats:
        """Return an orthonormal basis, n x k, of the constant, S, E(X|S), X, kernel eigenvectors.

        With `wide`, it has as many eigenvectors as n allows, otherwise fewer.
        """
        n, q = given.records, given.columns
        base = np.column_stack([given.basis, self.squares.basis])
        room = n - base.shape[1] - 2 * q - 1
        most = min(n // SHARE, WIDE, room)
        count = max(0, most if wide else min(most, max(self.learned, n // NARROW)))
        found = with_vectors(_with(base, self.expectation), self.fit.basis[:, :count])
        return _with(found, given.standard)

    def details(self, given: Inputs) -> dict[str, Any]:
        """Return the fit's parameters and quality measures, for `Masked.details`."""
        return {
            "bandwidth": self.fit.bandwidth,
            "penalty": min(self.fit.penalties),
            "freedom": float(self.freedom.max()),
            "eigenvectors": self.learned,
            "iterations": min(self.iterations),
            "held_back": self.held,
            "squares": self.squares.names,
            "approximation": self.fit.approximation,
            "largest_leverage": float(self.leverages.max()),
            "r2": {
                name: float(r2) for name, r2 in zip(given.x.names, self._r2(given), strict=True)
            },
        }

    def warnings(self, given: Inputs) -> tuple[Caution, ...]:
        """Return cautions for the custodian about this expectation, without any values."""
        cautions = []
        uneven = explained(np.abs(self.residuals), self._spread(given))
        r2s = 1 - np.mean(self.residuals**2, axis=0)
        linearly = 1 - np.mean(given.standard_residuals**2, axis=0)
        for name, spread, r2, line in zip(given.x.names, uneven, r2s, linearly, strict=True):
            if r2 > NEARLY_TOLD >= line:
                sentence = (
                    f"S explains {r2:.1%} of the variance of column {name!r}, so its masked values"
                    " are close to the true ones."
                )
                cautions.append(Caution(sentence))
            if spread > UNEVEN:
                sentence = (
                    f"The spread of column {name!r} around its expectation depends on S"
                    f" (R2 {spread:.2f}); the spread of the noise does not."
                )
                cautions.append(Caution(sentence))
        share = float(self.freedom.max()) / given.records
        if share > LARGE:
            sentence = (
                f"E(X|S) has {self.freedom.max():.0f} effective parameters for {given.records}"
                f" records ({share:.0%}): on average a record's own true value makes up"
                f" {share:.0%} of its expectation. Mask more records or remove columns from S."
            )
            cautions.append(Caution(sentence))
        return tuple(cautions)

    def _r2(self, given: Inputs) -> Floats:
        left_out = self.residuals / np.maximum(1 - self.own, ALONE)
        return explained(given.standard, given.standard - left_out)

    def _spread(self, given: Inputs) -> Floats:
        count = min(self.learned, given.records // NARROW)
        basis = np.column_stack([given.basis, self.fit.basis[:, :count]])
        sizes = np.abs(self.residuals)
        weights = np.minimum(np.einsum("ij,ij->i", basis, basis), 1.0)[:, None]
        return leave_one_out(sizes, basis @ (basis.T @ sizes), weights)


def learned(given: Inputs, rng: Randomness, limits: Limits) -> FittedExpectation:
    """Learn E(X|S), with limited weights of records' own values. Raises MaskingError."""
    fit = fit_kernel(given.told, given.standard, rng, smooth=True)
    bounds, most = _bounds(given, limits)
    curved = np.ones(given.columns, dtype=np.bool_)
    found = _expectation(given, fit, bounds, curved)
    while _too_free(given, found, most):
        ridge = fit.bandwidth, tuple(SMOOTHER * penalty for penalty in fit.penalties)
        fit = fit_kernel(given.told, given.standard, rng, smooth=True, ridge=ridge)
        found = _expectation(given, fit, bounds, curved)
    if not (curved := _better(given, found)).all():
        found = _expectation(given, fit, bounds, curved)
    found = _with_squares(given, found, bounds, curved, most)
    require_leverages(found.leverages, limits, given)
    return found


def _bounds(given: Inputs, limits: Limits) -> tuple[Floats, Floats]:
    """Return a target and a maximum for the weight of each record's own value, n numbers each."""
    max_leverage, max_told = limits.max_leverage, limits.max_told
    lines = given.leverages + (BEYOND if max_told is None else 0.0)
    if max_leverage == 1 and max_told is None:
        return np.ones(given.records), np.ones(given.records)
    target, most = CURVED, NOTABLE
    if max_told is not None:
        target = most = float(np.sqrt((1 - TAKEN) * max_told / (1 - max_told)))
    target, most = min(target, max_leverage), min(most, max_leverage)
    return np.clip(lines, target, max_leverage), np.clip(lines, most, max_leverage)


def _with_squares(
    given: Inputs,
    found: FittedExpectation,
    bounds: Floats,
    curved: npt.NDArray[np.bool_],
    most: Floats,
) -> FittedExpectation:
    """Return the expectation, with those squares and products that are significant in residuals."""
    squares = squares_left(given, found.expectation, found.residuals)
    if not squares.names:
        return found
    extra = leverages(squares.basis)
    beside = found
    if np.any(found.leverages + extra > bounds):
        beside = _expectation(given, found.fit, bounds - extra, curved)
    plain, curves, own = squares.beside(given, beside.expectation, beside.own)
    if np.any(own.max(axis=1) > np.maximum(most, found.leverages)):
        return found
    residuals = residual(given.standard, basis_of(np.column_stack([plain, curves])))
    return replace(
        beside,
        expectation=given.standard - residuals,
        residuals=residuals,
        own=own,
        squares=squares,
    )


def _too_free(given: Inputs, found: FittedExpectation, bounds: Floats) -> bool:
    added = float(found.freedom.max()) - given.basis.shape[1]
    free = added > MOST * given.records or bool(np.any(found.leverages > bounds))
    return free and found.learned > 0


def _better(given: Inputs, found: FittedExpectation) -> npt.NDArray[np.bool_]:
    """Return for each column whether the kernel predicts left-out records significantly better."""
    lines = given.standard_residuals / np.maximum(1 - given.leverages, ALONE)[:, None]
    curves = found.residuals / np.maximum(1 - found.own, ALONE)
    better = lines**2 - curves**2
    errors = better.std(axis=0) / np.sqrt(given.records)
    sure: npt.NDArray[np.bool_] = better.mean(axis=0) > SURE * errors
    return sure


def _expectation(
    given: Inputs, fit: KernelFit, bounds: Floats, curved: npt.NDArray[np.bool_]
) -> FittedExpectation:
    """Return E(X|S) with limited weights of own values. Only `curved` columns use a kernel."""
    counts = np.count_nonzero(fit.shrinkage > LEARNED, axis=0) * curved
    ways = [iterated(fit.shrinkage[:m, j], given.records) for j, m in enumerate(counts)]
    shares, own = np.ones(given.standard.shape), np.empty(given.standard.shape)
    for attempt in range(ATTEMPTS):
        targets = shares * given.standard + (1 - shares) * fit.left_out
        relation = np.empty(targets.shape)
        for j, (_, kept) in enumerate(ways):
            vectors = fit.basis[:, : len(kept)]
            relation[:, j] = vectors @ (kept * (vectors.T @ targets[:, j]))
            own[:, j] = own_weights(fit, j, kept, given.basis, shares[:, j])
        plain = all(times == np.inf for times, _ in ways) and len(set(counts)) == 1
        exact = plain and bool(np.all(shares == 1))
        weights = given.leverages[:, None] + own if exact else _weights(given, relation, own)
        over = weights > bounds[:, None]
        if not over.any():
            break
        room = np.maximum(bounds - given.leverages, 0.0)[:, None]
        fewer = MARGIN * np.minimum(
            1.0, room / np.maximum(weights - given.leverages[:, None], TINY)
        )
        shares = np.where(over, shares * fewer if attempt < PATIENCE else 0.0, shares)
    span = basis_of(np.column_stack([given.basis, relation]))
    residuals = residual(given.standard, span)
    reduced = int(np.count_nonzero((shares < 1).any(axis=1)))
    times = tuple(times for times, _ in ways)
    expected, most = given.standard - residuals, int(counts.max())
    none = no_squares(given)
    return FittedExpectation(fit, expected, residuals, most, times, reduced, weights, none)


def _weights(given: Inputs, relation: Floats, own: Floats) -> Floats:
    """Return upper limits on own values' weights in the fit of X on S and the relation."""
    related = np.any(relation, axis=0)
    found = given.leverages[:, None] + own
    if not related.any():
        return found
    scale = np.linalg.lstsq(relation[:, related], given.standard_residuals)[0]
    largest = max(1.0, float(np.max(np.diag(scale[:, related]))))
    inside = own * largest
    found = given.leverages[:, None] + inside
    found += leverages(basis_of(relation[:, related]))[:, None] * (1 - inside)
    return found


def iterated(shrinkage: Floats, records: int) -> tuple[float, Floats]:
    """Return the number of ridge iterations, and their factor for each eigenvector, 0 to 1.

    The iterated fit is f = (1 - (1 - H)^k) X, so a second fit to f does not shrink it again. The
    freedom is limited, because many iterations would memorize X.
    """
    freedom = float(shrinkage.sum())
    most = min(FREEDOM * freedom, max(freedom, FITTED * records))
    for times in ITERATIONS:
        found: Floats = 1 - (1 - shrinkage) ** times if times < np.inf else np.ones(len(shrinkage))
        if found.sum() <= most * (1 + ROUNDING):
            break
    return times, found


def _with(basis: Floats, values: Floats) -> Floats:
    rest = residual(values, basis)
    lengths = np.linalg.norm(rest, axis=0)
    new = lengths > ROUNDING * np.sqrt(len(values))
    return np.column_stack([basis, basis_of(residual(rest[:, new] / lengths[new], basis))])
