"""The gain of a snooper from a masked table: how much better S and Y predict X than S alone.

The snooper knows S and Y of everybody, and the true X of all people outside a fold. The snooper
uses Y only if Y improves predictions for these people. The gain is relative to the best prediction
from S alone (Dalenius 1977), because the relation E(Y|S) is released on purpose.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import stats

from pramana_core.mask.core.noise import Randomness
from pramana_core.mask.measures.expectations import Expectation, expectation
from pramana_core.mixed import Floats

FOLDS = 5
MOST = 10_000
"""The maximum number of records for fitting E(X|S); inexact fits could look like a gain."""
SOMETHING = 0.98
"""S is informative about a column if left-out errors are below this share of the variance."""
SURE = 2.0
"""The snooper uses Y if it lowers known errors by this many of their standard errors."""
SCALES = (0.5, 1.5)
"""The candidate weights of distances in Y, relative to distances in E(X|S)."""


@dataclass(frozen=True)
class Gain:
    """How much Y improves the prediction of the confidential column at index `place`.

    Attributes:
        without, together: the R2 of out-of-fold predictions from S alone, and from S and Y.
        gain, error: their difference, and its standard error over records.
        p: the probability of such a gain by chance (one-sided paired test).
    """

    place: int
    without: float
    together: float
    gain: float
    error: float
    p: float


def snooper_gains(
    told: Floats,
    true: Floats,
    masked: Floats,
    rng: Randomness,
    *,
    expected: Floats | None = None,
    on_fold: Callable[[], None] = lambda: None,
) -> tuple[Gain, ...]:
    """Return the gain of a snooper for each confidential column.

    `told` is S, n x p; `true` is X, n x q; `masked` is Y, n x k; `expected` is E(Y|S), if known.
    `rng` draws the folds. `on_fold` is called after each fold.
    """
    if expected is None:
        expected = expectation("kernel", told, masked, rng, most=MOST).fitted
    beyond = masked - expected
    size = beyond.std(axis=0)
    beyond = beyond[:, size > 1e-9 * np.maximum(masked.std(axis=0), 1e-300)]
    beyond = beyond / np.maximum(beyond.std(axis=0), 1e-300)
    fold = np.empty(len(true), dtype=np.intp)
    fold[rng.permutation(len(true))] = np.arange(len(true)) % FOLDS
    alone, both = np.empty_like(true), np.empty_like(true)
    for number in range(FOLDS):
        known, outside = fold != number, fold == number
        first = expectation("kernel", told[known], true[known], rng, most=MOST)
        alone[outside] = both[outside] = first.predict(told[outside])
        if beyond.shape[1]:
            both[outside] += _correction(
                true[known], first, beyond[known], alone[outside], beyond[outside], rng
            )
        on_fold()
    return tuple(_gain(place, true, alone, both) for place in range(true.shape[1]))


def _correction(
    true: Floats,
    first: Expectation,
    beyond: Floats,
    alone_queries: Floats,
    beyond_queries: Floats,
    rng: Randomness,
) -> Floats:
    """Return the snooper's correction of E(X|S) in a fold: the best of several fits, or zeros."""
    rest = true - first.left_out
    # Features are in units of X, not of E(X|S): where S is uninformative, only the omitted record
    # moves a left-out mean, and scaling that movement up would reveal the record's value.
    spread = true.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    # Fitted values, not left-out ones: among records alike in S a left-out mean identifies its
    # record by the missing value. Where S is uninformative, fits of noise would do so, too.
    informative = np.mean(rest**2, axis=0) < SOMETHING * spread**2
    weight = np.where(informative, 1 / spread, 0.0)
    fits: list[tuple[Expectation, Floats]] = [
        (expectation("linear", beyond, rest, rng), beyond_queries)
    ]
    for scale in SCALES:
        # The kernel must not standardize again, or the weights would be lost.
        features = np.column_stack([first.fitted * weight, scale * beyond])
        queries = np.column_stack([alone_queries * weight, scale * beyond_queries])
        fits.append((expectation("kernel", features, rest, rng, standardize=False), queries))
    added = np.zeros_like(alone_queries)
    for place in range(true.shape[1]):
        plain = rest[:, place] ** 2
        best, errors = None, plain
        for fit, queries in fits:
            these = (rest - fit.left_out)[:, place] ** 2
            better = plain - these
            sure = better.mean() > SURE * better.std() / np.sqrt(len(better))
            if sure and these.mean() < errors.mean():
                best, errors = (fit, queries), these
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
        # With Y, the snooper predicts worse than the mean, so any difference is not a gain.
        p = max(p, 0.5)
    return Gain(place, 1 - float(first.sum()) / total, together, gain, error, p)
