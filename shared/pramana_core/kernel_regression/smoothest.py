"""The smoothest fit that cannot be told from the best one: after the one-standard-error rule.

A fit with the least leave-one-out error has the least of many numbers that chance moves; there
are nearly always fits with much less freedom whose errors differ from it by less than chance.
Where a fit is released they are the better choice: what it says of each record is more that of
others. The rule is that of Breiman et al. (1984, 3.4.3), with errors paired record by record.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pramana_core.mixed import Floats
from pramana_core.ties import FITTED_TIE, first_smallest

ERRORS = 0.5
"""So many standard errors worse than the best is not told from the best. With a whole one, curves
that are released and learned again are visibly flatter."""

TINY = 1e-300

_REACHED = ERRORS * (1 + FITTED_TIE)
"""What is larger by rounding alone is not larger."""


@dataclass(frozen=True, eq=False)
class PenaltyFits:
    """Fits of q targets with l penalties at one bandwidth.

    Attributes:
        penalties: l numbers, from small to large.
        freedom: the effective number of parameters, l numbers.
        allowed: which are considered, l truth values.
        squares: squared errors of left-out records, in variances of the target: n x l x q.
    """

    penalties: Floats
    freedom: Floats
    allowed: npt.NDArray[np.bool_]
    squares: Floats


def smoothest(tried: Sequence[PenaltyFits]) -> tuple[int, tuple[float, ...]]:
    """Return the place of one bandwidth for all targets, and the penalty of each.

    Each target's fit is the one with the least freedom whose mean squared error is at most
    `ERRORS` standard errors of the paired difference above that target's least one. The bandwidth
    is the one at which all targets have such a fit and these have the least freedom in sum. If
    there is none, it is the one at which the worst target loses least, counted in standard errors;
    there the rule is applied among the fits at this bandwidth.
    """
    excess = [_excess(tried, target) for target in range(tried[0].squares.shape[2])]
    # Of equals the widest kernel, which is the last.
    places = range(len(tried) - 1, -1, -1)
    worst = [max(float(one[place].min()) for one in excess) for place in places]
    if min(worst) <= _REACHED:
        worst = [sum(_least(tried[place], one[place]) for one in excess) for place in places]
    place = places[first_smallest(worst, tie=FITTED_TIE)]
    penalties = []
    for target, one in enumerate(excess):
        here = one[place] if one[place].min() <= _REACHED else _excess([tried[place]], target)[0]
        wanted = np.where(here <= _REACHED, tried[place].freedom, np.inf)
        best = len(wanted) - 1 - first_smallest(wanted[::-1], tie=FITTED_TIE)
        penalties.append(float(tried[place].penalties[best]))
    return place, tuple(penalties)


def _least(tried: PenaltyFits, excess: Floats) -> float:
    """Return the least freedom of the fits that are as good as the best."""
    return float(np.min(np.where(excess <= _REACHED, tried.freedom, np.inf)))


def _excess(tried: Sequence[PenaltyFits], target: int) -> list[Floats]:
    """Return by how many standard errors each fit's error is above the best fit's, at least 0."""
    means = [np.where(one.allowed, one.squares[:, :, target].mean(axis=0), np.inf) for one in tried]
    if not np.isfinite(np.concatenate(means)).any():
        # None is allowed: the one with the least freedom.
        least = min(float(one.freedom.min()) for one in tried)
        return [np.where(one.freedom <= least, 0.0, np.inf) for one in tried]
    place = first_smallest([mean.min() for mean in means], tie=FITTED_TIE)
    best = tried[place].squares[:, first_smallest(means[place], tie=FITTED_TIE), target]
    least = FITTED_TIE * float(best.mean())
    found = []
    for one in tried:
        worse = one.squares[:, :, target] - best[:, None]
        error = np.maximum(worse.std(axis=0) / np.sqrt(len(worse)), TINY)
        # Fits that are the same but for rounding have no error between them.
        excess = np.maximum(worse.mean(axis=0) - least, 0.0) / error
        found.append(np.where(one.allowed, excess, np.inf))
    return found
