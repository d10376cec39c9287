"""What a snooper gains, and whom he finds: measures of what a masked table gives away.

What he gains is how much better S and Y together predict X than S alone does. The snooper knows S
and Y of everybody and the true X of all people outside a fold, and predicts X of those in it. He is
as clever as a snooper who may look at results: whether Y helps is found out among the people whose
X he knows, and if it does not he goes by S alone. Useless columns therefore cost him next to
nothing, and a gain near zero means that there is nothing to be gained.

What he sees of Y is how far it lies from E(Y|S). That the released relation E(Y|S) is itself a
better estimate of E(X|S) than the one he makes of fewer people is no gain here: the relation is
released on purpose.

A gain is measured against the best that can be done with S alone (Dalenius 1977). So E(X|S) is a
curve for a linear snooper too; his lines are over what Y adds. One who has nothing but straight
lines over S gains from every curve that Y shows him, though S alone tells it: "lines-only".

Record linkage is how often the masked record nearest to a person's true one is that person's own.
A snooper who knows S and X of a person looks for the nearest released record. Where S has unusual
values S alone finds it, whatever is done to X; the measures say what Y adds. Y drawn again, with
what lies beyond E(Y|S) taken from another record alike in S, shows how often a record would be
found if Y told nothing but S.

Also here:

* Canonical correlations of X with Y given S, over all records and within pieces of S.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy import stats
from scipy.optimize import linear_sum_assignment
from scipy.spatial import cKDTree

from pramana_core.mask.core.noise import Randomness
from pramana_core.mask.measures.compared import Expectation, Kind, Rows, expectation, pieces_of
from pramana_core.mixed import Floats, basis_of, residual, with_constant
from pramana_core.ties import first_largest

Snooper = Literal["kernel", "linear", "lines-only"]

FOLDS = 5
MOST = 10_000
"""What S tells is fitted on at most so many records: an error of it could pass for a gain."""
SOMETHING = 0.98
"""S tells something of a column if its left-out errors are below this share of the variance."""
SURE = 2.0
"""A snooper uses Y if his own errors fall by so many of their standard errors."""
SCALES = (0.5, 1.5)
"""How much distances in Y count against distances in E(X|S), for kernels."""


@dataclass(frozen=True)
class Gain:
    """How much Y adds to the prediction of one confidential column.

    Attributes:
        place: the column's place in X.
        without: the R2 of predictions from S alone, out of fold.
        together: the R2 of predictions from S and Y.
        gain: together - without, on the same records.
        error: its standard error: over records, by their paired squared errors.
        p: the probability of such a gain by chance (one-sided paired test).
    """

    place: int
    without: float
    together: float
    gain: float
    error: float
    p: float


@dataclass(frozen=True, eq=False)
class KnowledgeFromS:
    """What a snooper knows without Y: the folds, and E(X|S) learned outside each of them."""

    fold: npt.NDArray[np.intp]
    learned: tuple[Expectation, ...]


def by_s_alone(snooper: Snooper, told: Floats, true: Floats, rng: Randomness) -> KnowledgeFromS:
    """Return E(X|S) as a snooper learns it outside each fold: nothing of Y takes part.

    Args:
        snooper: "lines-only" learns straight lines, the others curves.
        told: S, n x p.
        true: X, n x q.
        rng: draws the folds and the records that kernels are made of.
    """
    n = len(true)
    fold = np.empty(n, dtype=np.intp)
    fold[rng.permutation(n)] = np.arange(n) % FOLDS
    learned = []
    for number in range(FOLDS):
        known = fold != number
        learned.append(expectation(_shape(snooper), told[known], true[known], rng, most=MOST))
    return KnowledgeFromS(fold, tuple(learned))


def snooper_gains(
    snooper: Snooper,
    told: Floats,
    true: Floats,
    masked: Floats,
    rng: Randomness,
    *,
    by_s: KnowledgeFromS | None = None,
    expected: Floats | None = None,
    on_fold: Callable[[], None] = lambda: None,
) -> tuple[Gain, ...]:
    """Return the gain of a snooper for each confidential column.

    Args:
        snooper: "linear" (curves over S, straight lines over what Y adds), "kernel" (curves over
            both) or "lines-only" (straight lines over S and Y).
        told: S, n x p.
        true: X, n x q.
        masked: Y, n x k.
        rng: draws the folds.
        by_s: what `by_s_alone` returned for the same S and X, if it is at hand.
        expected: fitted E(Y|S), n x k, if it is at hand.
        on_fold: called after each fold.
    """
    if expected is None:
        expected = expectation(_shape(snooper), told, masked, rng, most=MOST).fitted
    beyond = masked - expected
    size = beyond.std(axis=0)
    beyond = beyond[:, size > 1e-9 * np.maximum(masked.std(axis=0), 1e-300)]
    beyond = beyond / np.maximum(beyond.std(axis=0), 1e-300)
    by_s = by_s or by_s_alone(snooper, told, true, rng)
    alone, both = np.empty_like(true), np.empty_like(true)
    for number, first in enumerate(by_s.learned):
        known, asked = by_s.fold != number, by_s.fold == number
        alone[asked] = first.predict(told[asked])
        both[asked] = alone[asked]
        if beyond.shape[1]:
            both[asked] += _learned(
                snooper, true[known], first, beyond[known], alone[asked], beyond[asked], rng
            )
        on_fold()
    return tuple(_gain(place, true, alone, both) for place in range(true.shape[1]))


def _shape(snooper: Snooper) -> Kind:
    return "linear" if snooper == "lines-only" else "kernel"


def _learned(
    snooper: Snooper,
    true: Floats,
    first: Expectation,
    beyond: Floats,
    alone_asked: Floats,
    beyond_asked: Floats,
    rng: Randomness,
) -> Floats:
    """Return what a snooper adds to E(X|S) for those asked, having tried several ways on the known.

    Each column of X goes by the way whose left-out errors are smallest, or by none.
    """
    rest = true - first.left_out
    # In units of X, not of E(X|S): where S tells nothing, all that moves a left-out mean is the
    # record left out, and stretched it would give its own value away.
    spread = true.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    # Fitted, not left-out, values: among records alike in S a left-out mean tells whose it is by
    # the value that it lacks. Where S tells nothing, fits of noise would do so, too.
    told = np.mean(rest**2, axis=0) < SOMETHING * spread**2
    weight = np.where(told, 1 / spread, 0.0)
    ways: list[tuple[Expectation, Floats]] = [
        (expectation("linear", beyond, rest, rng), beyond_asked)
    ]
    for scale in SCALES if snooper == "kernel" else ():
        # Stretched columns stay stretched: the kernel must not standardize them again.
        features = np.column_stack([first.fitted * weight, scale * beyond])
        asked = np.column_stack([alone_asked * weight, scale * beyond_asked])
        ways.append((expectation("kernel", features, rest, rng, standardize=False), asked))
    added = np.zeros_like(alone_asked)
    for place in range(true.shape[1]):
        plain = rest[:, place] ** 2
        best, errors = None, plain
        for way, asked in ways:
            these = (rest - way.left_out)[:, place] ** 2
            better = plain - these
            sure = better.mean() > SURE * better.std() / np.sqrt(len(better))
            if sure and these.mean() < errors.mean():
                best, errors = (way, asked), these
        if best is not None:
            added[:, place] = best[0].predict(best[1])[:, place]
    return added


def _gain(place: int, true: Floats, alone: Floats, both: Floats) -> Gain:
    n = len(true)
    target = true[:, place]
    total = float(np.sum((target - target.mean()) ** 2))
    first, second = (target - alone[:, place]) ** 2, (target - both[:, place]) ** 2
    better = (first - second) * n / total
    gain, error = float(better.mean()), float(better.std(ddof=1) / np.sqrt(n))
    together = 1 - float(second.sum()) / total
    p = float(stats.t.sf(gain / error, n - 1)) if error > 0 else 0.5
    if together <= 0:
        # Worse than the mean, whatever he was before: he knows nothing.
        p = max(p, 0.5)
    return Gain(place, 1 - float(first.sum()) / total, together, gain, error, p)


ALIKE = 10
"""How many records that are alike in S a person hides among."""
TIES = 8
MOST_MATCHED = 500
MOST_RANKED = 1_000
CHUNK = 4_000_000
"""At most so many distances are held at a time."""


@dataclass(frozen=True)
class Linkage:
    """How often a snooper links a record, and how often he would if Y told nothing beyond S.

    Attributes:
        rate: the share linked rightly; a tie of m records counts 1/m.
        chance: the share that would be linked if Y were independent of X given S.
        error: the standard error of `rate - chance`.
        p: the probability of such a rate by chance (one-sided).
        records: of how many records.
    """

    rate: float
    chance: float
    error: float
    p: float
    records: int


def nearest(true: Floats, released: Floats, own: npt.NDArray[np.intp]) -> Floats:
    """Return for each true record 1 if the nearest released one is its own, 1/m of m that tie.

    Args:
        true: n x k.
        released: N x k in the same units.
        own: the place of each record's own among the released ones: n.
    """
    if not true.shape[1]:
        return np.full(len(true), 1 / len(released))
    different, place, counts = np.unique(released, axis=0, return_inverse=True, return_counts=True)
    ties = min(TIES, len(different))
    far, near = _query(different, true, ties)
    level = far <= far[:, :1] * (1 + 1e-9) + 1e-12
    crowd = np.where(level, counts[near], 0).sum(axis=1)
    hit = (level & (near == place.reshape(-1)[own][:, None])).any(axis=1)
    found: Floats = np.where(hit, 1 / crowd, 0.0)
    return found


def linkage(true: Floats, masked: Floats, instead: Floats) -> Linkage:
    """Return the rate of linking by Y alone, against that of Y drawn again.

    Args:
        true: X, n x q, in standard deviations of X.
        masked: Y in the same units.
        instead: Y as it would be if it told nothing of X but S (`redrawn`).
    """
    everyone = np.arange(len(true))
    return _against(nearest(true, masked, everyone), nearest(true, instead, everyone))


def linkage_among_alike(
    told: Floats,
    true: Floats,
    masked: Floats,
    expected: Floats,
    rng: Randomness,
    *,
    alike: int = ALIKE,
) -> Linkage:
    """Return how often Y finds a person among those who are alike in S; by chance 1 in `alike`.

    What is left of their differences in S is taken out of Y first: each one's Y is moved to where
    it would be at the person's S. So this is what Y adds to S, however well S identifies people.

    Args:
        told: S standardized, n x p.
        true: X, n x q, in standard deviations of X.
        masked: Y in the same units.
        expected: fitted E(Y|S), in the same units; 0 for columns that are not to be moved.
        rng: breaks ties in S.
        alike: how many records a person is among, himself included.
    """
    n = len(true)
    others = _neighbours(told, min(alike, n) - 1, rng)
    crowd = np.column_stack([np.arange(n), others])
    beyond = masked - expected
    distance = np.empty(crowd.shape)
    for place in range(crowd.shape[1]):
        moved = expected + beyond[crowd[:, place]]
        distance[:, place] = np.linalg.norm(moved - true, axis=1)
    least = distance.min(axis=1, keepdims=True)
    level = distance <= least * (1 + 1e-9) + 1e-12
    credit = np.where(level[:, 0], 1 / level.sum(axis=1), 0.0)
    chance = 1 / crowd.shape[1]
    # Crowds overlap, so that credits are not independent; the spread is that of single ones.
    error = float(np.sqrt(max(credit.var(), chance * (1 - chance)) / n))
    rate = float(credit.mean())
    return Linkage(rate, chance, error, float(stats.norm.sf((rate - chance) / error)), n)


def linkage_by_matching(true: Floats, masked: Floats, instead: Floats, rng: Randomness) -> Linkage:
    """Return the rate of the best one-to-one matching of X and Y, on at most 500 records.

    A snooper who knows all records uses that each is released once: he pairs them so that the sum
    of squared distances is smallest.
    """
    chosen = rng.permutation(len(true))[:MOST_MATCHED]
    # Of pairings that are equally good the solver prefers some by their places: were those of Y
    # in the order of X, records with equal values would all be paired rightly.
    mixed = rng.permutation(len(chosen))
    rates = []
    for released in (masked, instead):
        gaps = true[chosen][:, None, :] - released[chosen[mixed]][None, :, :]
        rows, columns = linear_sum_assignment((gaps**2).sum(axis=2))
        rates.append((rows == mixed[columns]).astype(np.float64))
    return _against(*rates)


def mean_rank(true: Floats, masked: Floats, instead: Floats, rng: Randomness) -> Linkage:
    """Return the mean share of records whose Y is farther from a person's X than the own Y is.

    1 is always the nearest, 1/2 is a coin; on at most 1,000 persons against all records.
    """
    chosen = rng.permutation(len(true))[:MOST_RANKED]
    own, other = np.empty(len(chosen)), np.empty(len(chosen))
    step = max(1, CHUNK // len(masked))
    for start in range(0, len(chosen), step):
        part = chosen[start : start + step]
        for released, found in ((masked, own), (instead, other)):
            distance = np.zeros((len(part), len(released)))
            for place in range(true.shape[1]):
                distance += (true[part, place][:, None] - released[:, place][None, :]) ** 2
            level = distance[np.arange(len(part)), part][:, None]
            farther = (distance > level).mean(axis=1) + (distance == level).mean(axis=1) / 2
            found[start : start + step] = farther
    return _against(own, other)


def redrawn(told: Floats, masked: Floats, expected: Floats, rng: Randomness) -> Floats:
    """Return Y as it would be if it told nothing of X but S: n x q.

    Each record has its own E(Y|S), and what lies beyond it of another record alike in S, drawn
    among the nine nearest.

    Args:
        told: S standardized, n x p.
        masked: Y, n x q.
        expected: fitted E(Y|S), n x q; 0 for columns that are taken from the other as they are.
        rng: the randomness.
    """
    n = len(told)
    others = _neighbours(told, min(ALIKE, n) - 1, rng)
    chosen = others[np.arange(n), rng.permutation(n) % others.shape[1]]
    found: Floats = expected + (masked - expected)[chosen]
    return found


def _neighbours(told: Floats, count: int, rng: Randomness) -> npt.NDArray[np.intp]:
    """Return the places of the nearest other records in S, ties drawn at random: n x count."""
    n = len(told)
    # A hair's breadth of noise breaks ties, and keeps the tree from searching equal records.
    hair = 1e-7 * rng.standard_normal((n, max(1, told.shape[1])))
    points = hair if not told.shape[1] else told + hair
    near = _query(points, points, count + 1)[1]
    own = near == np.arange(n)[:, None]
    own[~own.any(axis=1), -1] = True
    found: npt.NDArray[np.intp] = near[~own].reshape(n, count)
    return found


def _query(points: Floats, asked: Floats, count: int) -> tuple[Floats, npt.NDArray[np.intp]]:
    """Return distances and places of the nearest points, nearest first: n x count each."""
    far, near = cKDTree(points).query(asked, k=range(1, count + 1))
    return np.asarray(far, dtype=np.float64), np.asarray(near, dtype=np.intp)


def _against(own: Floats, other: Floats) -> Linkage:
    """Return a rate against that of Y drawn again, by the paired difference of records."""
    n = len(own)
    rate, chance = float(own.mean()), float(other.mean())
    error = float(np.std(own - other, ddof=1) / np.sqrt(n))
    p = float(stats.norm.sf((rate - chance) / error)) if error > 0 else float(rate <= chance)
    return Linkage(rate, chance, error, p, n)


# Canonical correlations of X with Y given S, over all records and within pieces of S.
#
# Over all records they can be 0 although Y tells X exactly, as when Y is X for the young and -X for
# the old; within intervals of S they are then 1 (AlAhmadi VI.1.2, table 4). Given S by a straight
# line, a curve that X and Y share by way of S looks like a disclosure; it is none. So the fitted
# E(X|S) and E(Y|S) of a kernel can be given, too (AlAhmadi, table 17).

MOST_PIECES = 8
FEWEST_RECORDS = 25
"""A piece has at least this many records beyond four for each column involved."""


@dataclass(frozen=True)
class Canonical:
    """Canonical correlations and the test that all of them are zero.

    Attributes:
        correlations: from the largest down, 0 to 1; empty if X or Y has nothing left given S, or if
            there are so few records that some correlation would be 1 whatever Y is.
        statistic: Bartlett's of Wilks' lambda, chi-square if X and Y are independent given S.
        freedom: its degrees of freedom.
        p: the probability of a statistic at least as large by chance.
        error: the standard error of the largest correlation.
        chance: the largest correlation that chance reaches once in twenty.
        records: how many records it was computed on.
    """

    correlations: tuple[float, ...]
    statistic: float
    freedom: int
    p: float
    error: float
    chance: float
    records: int

    @property
    def largest(self) -> float:
        """The largest correlation; 0 if there is none."""
        return self.correlations[0] if self.correlations else 0.0


@dataclass(frozen=True)
class Piecewise:
    """The canonical correlations within each piece of S.

    Attributes:
        pieces: those of each piece.
        p: the smallest of their probabilities times the number of pieces (Bonferroni), at most 1.
    """

    pieces: tuple[Canonical, ...]
    p: float

    @property
    def largest(self) -> Canonical:
        """The piece with the largest correlation."""
        return self.pieces[first_largest([piece.largest for piece in self.pieces], scale=1.0)]


def canonical(true: Floats, masked: Floats, given: Floats, *, tests: int = 1) -> Canonical:
    """Return the canonical correlations of X and Y given some columns.

    Args:
        true: X, n x q.
        masked: Y, n x k.
        given: what both are regressed on first, besides the constant, n x p; p may be 0.
        tests: how many such tests are made together; `chance` is then the largest of all that
            chance reaches once in twenty.
    """
    basis = basis_of(with_constant(given))
    left, right = _residual_basis(true, basis), _residual_basis(masked, basis)
    records = len(true)
    freedom = left.shape[1] * right.shape[1]
    weight = records - basis.shape[1] - (left.shape[1] + right.shape[1] + 1) / 2
    if not freedom or records - basis.shape[1] <= left.shape[1] + right.shape[1]:
        return Canonical((), 0.0, 0, 1.0, 0.0, 0.0, records)
    found = np.clip(np.linalg.svd(left.T @ right, compute_uv=False), 0.0, 1.0)
    unexplained = 1 - found**2
    unexplained[unexplained < 1e-12] = 0.0
    with np.errstate(divide="ignore"):
        statistic = float(-weight * np.log(unexplained).sum()) + 0.0
    bound = float(stats.chi2.isf(0.05 / tests, freedom))
    return Canonical(
        tuple(float(value) for value in found),
        statistic,
        freedom,
        float(stats.chi2.sf(statistic, freedom)),
        float(unexplained[0] / np.sqrt(records - basis.shape[1])),
        float(np.sqrt(-np.expm1(-bound / weight))),
        records,
    )


def piecewise(
    told: Floats,
    true: Floats,
    masked: Floats,
    *,
    given: Floats | None = None,
    most: int = MOST_PIECES,
) -> Piecewise:
    """Return the canonical correlations within pieces of records that are alike in S.

    Args:
        told: S standardized, n x p: makes the pieces, and is regressed on within each.
        true: X, n x q.
        masked: Y, n x k.
        given: further columns regressed on within each piece, such as fitted E(X|S) and E(Y|S).
        most: the largest number of pieces.
    """
    columns = told if given is None else np.column_stack([told, given])
    least = FEWEST_RECORDS + 4 * (columns.shape[1] + true.shape[1] + masked.shape[1])
    pieces = pieces_of(told, most, least)

    def within(rows: Rows) -> Canonical:
        return canonical(true[rows], masked[rows], columns[rows], tests=len(pieces))

    found = tuple(within(rows) for rows in pieces)
    return Piecewise(found, min(1.0, len(found) * min(piece.p for piece in found)))


def _residual_basis(values: Floats, basis: Floats) -> Floats:
    """Return an orthonormal basis of what a basis leaves of columns that vary."""
    size = np.linalg.norm(values - values.mean(axis=0), axis=0)
    rest = residual(values, basis)
    kept = np.linalg.norm(rest, axis=0) > 1e-7 * np.where(size > 0, size, np.inf)
    return basis_of(rest[:, kept])
