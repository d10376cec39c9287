"""What kind of dependence there is between columns: none, linear, monotonic, or neither.

Each fit's R2 is out of sample. A more flexible fit counts only if it explains more by `SURE`
standard errors of the difference and by a share of variance that matters; noise passes that rarely
(the tests count it).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from pramana_core.mask.advice.fits import (
    ExplainedVariance,
    by_curves,
    by_lines,
    by_monotonic_curves,
    explained,
    gained,
)
from pramana_core.mask.core.inputs import normal_scores
from pramana_core.mask.core.noise import Randomness
from pramana_core.mixed.table import Floats
from pramana_core.ties import FITTED_TIE, exceeds, first_largest, reaches

Kind = Literal["none", "linear", "monotonic", "non-monotonic"]
KINDS: tuple[Kind, ...] = ("none", "linear", "monotonic", "non-monotonic")

SURE = 3.0
"""Standard errors by which a more flexible fit must be better."""

MATTERS = 0.02
"""The share of a column's variance that it must explain beyond the simpler fit."""

MATTERS_OF_REST = 0.05
"""The same for what S leaves of columns and monotonic fits: of S a trace remains in the rest."""


@dataclass(frozen=True)
class Evidence:
    """How well a column is explained out of sample by others, by three kinds of fit.

    Attributes:
        about: which columns, such as "age, gender -> debt" or "x1 -> x2 given S".
        kind: the simplest kind of relationship that explains as much as any.
        linear: R2 of linear least squares, in the columns' units.
        curved: R2 of a kernel fit, in the columns' units.
        monotonic: R2 of the best monotonic fit, of the column's normal scores: lines in normal
            scores as a normal copula has them, sums of monotonic curves, and curves of sums.
        any_shape: R2 of a kernel fit in normal scores.
        beyond_linear: curved - linear, on the same records.
        beyond_monotonic: any_shape - monotonic.
    """

    about: str
    kind: Kind
    linear: ExplainedVariance
    curved: ExplainedVariance
    monotonic: ExplainedVariance
    any_shape: ExplainedVariance
    beyond_linear: ExplainedVariance
    beyond_monotonic: ExplainedVariance


@dataclass(frozen=True)
class Features:
    """What a column is explained by.

    Attributes:
        ordered: the numbers, n x k.
        others: indicators of categories, n x j.
        beside: columns that only the flexible fit may use, n x i: whether a relationship changes
            with them is then part of the question.
    """

    ordered: Floats
    others: Floats
    beside: Floats | None = None

    @property
    def matrix(self) -> Floats:
        """Numbers and indicators, n x (k + j)."""
        return np.column_stack([self.ordered, self.others])

    @property
    def flexible(self) -> Floats:
        """All that the flexible fit uses, n x (k + j + i)."""
        return self.matrix if self.beside is None else np.column_stack([self.matrix, self.beside])

    @property
    def scored(self) -> Features:
        """The same with normal scores in the place of numbers."""
        return Features(scores_of(self.ordered), self.others, self.beside)


def dependence(
    about: str, features: Features, target: Floats, rng: Randomness, *, least: float = MATTERS
) -> Evidence:
    """Return how a column depends on others.

    Args:
        about: how the evidence is called.
        features: of n records.
        target: the column, n.
        rng: draws folds and landmarks.
        least: the share of variance that a kernel must explain beyond monotonic fits.
    """
    scores = scores_of(target[:, None])[:, 0]
    lines = by_lines(features.matrix, target)
    curves = by_curves(features.flexible, target, rng)
    scored = features.scored
    score_lines = by_lines(scored.matrix, scores)
    rising = by_monotonic_curves(scored.ordered, scored.others, scores, rng)
    fits = (score_lines, *rising)
    shares = [explained(scores, fit).share for fit in fits]
    best = fits[first_largest(shares, scale=1.0, tie=FITTED_TIE)]
    free = by_curves(scored.flexible, scores, rng)
    beyond_linear = gained(target, lines, curves)
    beyond_monotonic = gained(scores, best, free)
    linear, curved = explained(target, lines), explained(target, curves)
    monotonic, any_shape = explained(scores, best), explained(scores, free)
    found = any(map(matters, (linear, curved, monotonic, any_shape)))
    kind = _kind(found, matters(beyond_linear), matters(beyond_monotonic, least))
    return Evidence(
        about, kind, linear, curved, monotonic, any_shape, beyond_linear, beyond_monotonic
    )


def matters(gain: ExplainedVariance, least: float = MATTERS) -> bool:
    """Whether a gain is neither chance nor too small to matter."""
    return reaches(gain.share, least) and exceeds(gain.share, SURE * gain.error)


def _kind(found: bool, beyond_linear: bool, beyond_monotonic: bool) -> Kind:
    if not found:
        return "none"
    if beyond_linear:
        return "non-monotonic" if beyond_monotonic else "monotonic"
    return "linear"


def scores_of(values: Floats) -> Floats:
    """Return normal scores of columns; there may be none."""
    return normal_scores(values) if values.shape[1] else values
