"""E(X|S) learned by kernel regression, so that those who learn it again from Y find the same.

Also here:

* What is done about records that stand alone: what is theirs weighs less, and they have noise.
* Squares and products of S that a kernel fit left in the residuals. The smoothest fit that cannot
  be told from the best one by its errors may be too smooth for a weak relationship that an analyst
  would look for first: the slope of a square in a regression of X on S. One number for all records
  is enough to keep it, and tells next to nothing of single ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from pramana_core.kernel_regression.fitting import KernelFit, explained, fit_kernel, leave_one_out
from pramana_core.kernel_regression.options import KernelOptions
from pramana_core.mask.core.cautions import NEARLY_TOLD, Caution, Gravity
from pramana_core.mask.core.inputs import Inputs, require_leverages
from pramana_core.mask.core.noise import Randomness
from pramana_core.mixed import Floats, basis_of, leverages, residual

CLEAR = 4.0
"""So many standard errors, robust to uneven spread, a slope must be from 0 to be added."""

MOST_PAIRED = 10
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
    """Yield squares of numeric columns of S, and products of two."""
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


# What is done about records that stand alone: what is theirs weighs less, and they have noise.

TAKEN = 0.7
"""At most this share of the variance of a record's noise is given up for being orthogonal."""

LONE_ATTEMPTS = 30
"""How often lone records' rows are shortened; then fewer eigenvectors are kept."""

LONE_MARGIN = 0.9
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
    for _ in range(LONE_ATTEMPTS):
        found = _beside(base, _directions(vectors * shares[:, None]))
        taken = leverages(found)
        over = (taken > TAKEN) & (fixed <= TAKEN)
        if not over.any():
            return found
        rest = np.maximum(1 - taken, 0.0)
        fewer = np.sqrt(LONE_MARGIN * rest * TAKEN / ((1 - TAKEN) * taken))
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


LEARNED = 0.05
"""Eigenvectors of which the ridge keeps less than this are left out of E(X|S): they are noise."""

ITERATIONS = (np.inf, 64, 32, 16, 8, 4, 2, 1)
"""How often the ridge may be iterated: the first is taken that does not add too much freedom."""

FREEDOM = 2.0
"""At most so many times the freedom of the ridge, ..."""

FITTED = 0.1
"""... and at most this share of the records, unless the ridge has more by itself."""

ATTEMPTS = 16
"""How often lone records are held back until the largest leverage is kept; ..."""

PATIENCE = 8
"""... after so many, what still weighs more is replaced wholly."""

SURE = 1.0
"""The kernel is used if its errors are smaller than lines' by more standard errors than this."""

MOST = 0.15
"""What the kernel adds has at most this share of the records as freedom; else it is smoothed. It is
more than `FITTED`, or a fit that only just keeps to that would be smoothed, iterated more often for
it, and smoothed until little is left."""

CURVED = 0.3
"""The weight of a record's own value is held to this, as far as the kernel adds to it; ..."""

NOTABLE = 0.5
"""... where it stays above this, the kernel is smoothed."""

BEYOND = 0.1
"""Where S alone gives a record's own value nearly that much weight, the kernel may add so much."""

MARGIN = 0.98
"""They are held back a little more than it seems to take."""

SMOOTHER = 3.0
"""How much larger a penalty is tried next if that does not help, or freedom is too much."""

WIDE = 200
"""Noise is orthogonal to at most so many eigenvectors of the kernel, ..."""

SHARE = 5
"""... and to no more than one for so many records; ..."""

NARROW = 20
"""... where its own distribution is to be kept, to fewer: one for so many records."""

TINY = 1e-300


UNEVEN = 0.05
"""With a larger leave-one-out R2 of |r| on S the spread of the residuals depends on S."""

LARGE = 0.1
"""An expectation with more freedom than this share of the records is warned of."""

LOST = 0.01
"""More of the kernel's trace than this, lost by landmarks, is warned of."""


@dataclass(frozen=True, eq=False)
class FittedExpectation:
    """What S tells of the standardized X.

    Attributes:
        fit: the kernel regression it started from.
        expectation: E(X|S), n x q.
        residuals: r = X - E(X|S), n x q.
        learned: how many eigenvectors of the kernel E(X|S) is made of, at most.
        iterations: how often the ridge was iterated, of each column; infinite where X was projected
            onto eigenvectors.
        held: how many lone records' own values were held back.
        own: how much each record's own value weighs in its expectation: n x q.
        squares: what the kernel left of squares and products, and was added.
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
        """How much own values weigh, in the column where it is most: n numbers."""
        found: Floats = self.own.max(axis=1)
        return found

    @property
    def freedom(self) -> Floats:
        """The effective number of parameters of each column's expectation: q numbers."""
        found: Floats = self.own.sum(axis=0)
        return found

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
        base = np.column_stack([given.basis, self.squares.basis])
        room = n - base.shape[1] - 2 * q - 1
        most = min(n // SHARE, WIDE, room)
        count = max(0, most if wide else min(most, max(self.learned, n // NARROW)))
        found = with_vectors(_with(base, self.expectation), self.fit.basis[:, :count])
        return _with(found, given.standard)

    def details(self, given: Inputs) -> dict[str, Any]:
        """Return what was chosen and found, for `Masked.details`."""
        return {
            "bandwidth": self.fit.bandwidth,
            "penalty": self.fit.penalty,
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
        """Return what a custodian must know of this relation; names columns, never values."""
        found = []
        uneven = explained(np.abs(self.residuals), self._spread(given))
        told = 1 - np.mean(self.residuals**2, axis=0)
        linearly = 1 - np.mean(given.standard_residuals**2, axis=0)
        for name, spread, r2, line in zip(given.x.names, uneven, told, linearly, strict=True):
            if r2 > NEARLY_TOLD >= line:
                said = (
                    f"S tells {r2:.1%} of the variation of column {name!r}; its masked values are"
                    " as close to the true ones as that."
                )
                found.append(Caution(said))
            if spread > UNEVEN:
                said = (
                    f"How far column {name!r} spreads around its expectation depends on S"
                    f" (R2 {spread:.2f}); the noise spreads evenly."
                )
                found.append(Caution(said))
        share = float(self.freedom.max()) / given.records
        if share > LARGE:
            said = (
                f"What S tells has {self.freedom.max():.0f} effective parameters for"
                f" {given.records} records ({share:.0%}): on average a record's own true value"
                f" makes up {share:.0%} of its expectation. Mask more records or tell fewer columns"
                " of S."
            )
            found.append(Caution(said))
        if self.fit.approximation > LOST:
            said = (
                f"The landmarks span {1 - self.fit.approximation:.1%} of the kernel; with more of"
                " them the relationships may be learned better."
            )
            found.append(Caution(said, Gravity.NOTE))
        return tuple(found)

    def _r2(self, given: Inputs) -> Floats:
        """Return the share of X that left-out records' expectations tell, at least: q numbers."""
        left_out = self.residuals / np.maximum(1 - self.own, ALONE)
        return explained(given.standard, given.standard - left_out)

    def _spread(self, given: Inputs) -> Floats:
        """Return |r| as S tells it, each record's without its own: n x q."""
        count = min(self.learned, given.records // NARROW)
        basis = np.column_stack([given.basis, self.fit.basis[:, :count]])
        sizes = np.abs(self.residuals)
        weights = np.minimum(np.einsum("ij,ij->i", basis, basis), 1.0)[:, None]
        return leave_one_out(sizes, basis @ (basis.T @ sizes), weights)


def learned(
    given: Inputs,
    options: KernelOptions,
    rng: Randomness,
    max_leverage: float,
    max_told: float | None = None,
) -> FittedExpectation:
    """Learn E(X|S).

    Args:
        given: S and X.
        options: the kernel regression's; lines are free of the penalty in any case.
        rng: draws landmarks.
        max_leverage: the largest weight of a record's own value in its expectation.
        max_told: the share of what S leaves of a record that may be told; what curves add to its
            weight keeps to it.

    Raises:
        MaskingError: some records' own values weigh more, with the penalty given or with any.
    """
    options = replace(options, linear=True, smoothest=True)
    fit = fit_kernel(given.told, given.standard, options, rng)
    bounds, most = _bounds(given, max_leverage, max_told)
    curved = np.ones(given.columns, dtype=np.bool_)
    found = _expectation(given, fit, bounds, curved)
    while options.penalty is None and _too_free(given, found, most):
        penalties = tuple(SMOOTHER * penalty for penalty in fit.penalties)
        smoother = replace(options, bandwidth=fit.bandwidth, penalty=penalties)
        fit = fit_kernel(given.told, given.standard, smoother, rng)
        found = _expectation(given, fit, bounds, curved)
    if options.penalty is None and not (curved := _better(given, found)).all():
        found = _expectation(given, fit, bounds, curved)
    found = _with_squares(given, found, bounds, curved, most)
    require_leverages(found.leverages, max_leverage, given)
    return found


def _bounds(given: Inputs, max_leverage: float, max_told: float | None) -> tuple[Floats, Floats]:
    """Return to how much each record's own value is held, and how much it may weigh: n each.

    What the kernel adds is held to `CURVED`, and may weigh `NOTABLE`; or to what the least noise
    hides so far that no more than `max_told` is told. What S tells by lines may weigh
    `max_leverage`.
    """
    lines = given.leverages + (BEYOND if max_told is None else 0.0)
    if max_leverage == 1 and max_told is None:
        return np.ones(given.records), np.ones(given.records)
    held, most = CURVED, NOTABLE
    if max_told is not None:
        held = most = float(np.sqrt((1 - TAKEN) * max_told / (1 - max_told)))
    held, most = min(held, max_leverage), min(most, max_leverage)
    return np.clip(lines, held, max_leverage), np.clip(lines, most, max_leverage)


def _with_squares(
    given: Inputs,
    found: FittedExpectation,
    bounds: Floats,
    curved: npt.NDArray[np.bool_],
    most: Floats,
) -> FittedExpectation:
    """Return the expectation with squares and products that the residuals surely show, too."""
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
    """Return whether a smoother kernel is needed, and there is one."""
    added = float(found.freedom.max()) - given.basis.shape[1]
    free = added > MOST * given.records or bool(np.any(found.leverages > bounds))
    return free and found.learned > 0


def _better(given: Inputs, found: FittedExpectation) -> npt.NDArray[np.bool_]:
    """Return of which columns the kernel tells more than lines do, by errors of left-out records:
    q truth values. Where it does not surely, lines tell less of single records."""
    lines = given.standard_residuals / np.maximum(1 - given.leverages, ALONE)[:, None]
    curves = found.residuals / np.maximum(1 - found.own, ALONE)
    better = lines**2 - curves**2
    errors = better.std(axis=0) / np.sqrt(given.records)
    sure: npt.NDArray[np.bool_] = better.mean(axis=0) > SURE * errors
    return sure


def _expectation(
    given: Inputs, fit: KernelFit, bounds: Floats, curved: npt.NDArray[np.bool_]
) -> FittedExpectation:
    """Return E(X|S) by a kernel regression, lone records held back as far as the bounds ask.

    Args:
        given: S and X.
        fit: the kernel regression.
        bounds: of the weight of each record's own value, n numbers.
        curved: for which columns it is used, q truth values; the others are told by lines.
    """
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
    held = int(np.count_nonzero((shares < 1).any(axis=1)))
    times = tuple(times for times, _ in ways)
    expected, most = given.standard - residuals, int(counts.max())
    none = no_squares(given)
    return FittedExpectation(fit, expected, residuals, most, times, held, weights, none)


def _weights(given: Inputs, relation: Floats, own: Floats) -> Floats:
    """Return how much own values weigh in least squares of X on the constant, S and f: n x q.

    Besides by f itself, a value moves the regression's coefficients; the leverages of f in it are a
    bound of that.
    """
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
