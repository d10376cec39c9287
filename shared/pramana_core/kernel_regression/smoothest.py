"""Choosing the smoothest fit whose error cannot be distinguished from the smallest error.

This is the one-standard-error rule (Breiman et al. 1984, 3.4.3), with errors paired record by
record. Smooth fits depend less on any single record.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pramana_core.mixed import Floats
from pramana_core.ties import FITTED_TIE, first_smallest

ERRORS = 0.5
"""The allowed excess of the error, in standard errors; with 1, curves would be visibly flatter."""

TINY = 1e-300

_ALLOWED = ERRORS * (1 + FITTED_TIE)
"""`ERRORS` with a tolerance for rounding."""


@dataclass(frozen=True, eq=False)
class PenaltyFits:
    """Fits of q targets with l ascending penalties at one bandwidth.

    `freedom`, (l,), has the effective number of parameters of each fit. `allowed`, (l,), is true
    for fits that may be chosen. `squares`, n x l x q, has the squared leave-one-out errors in units
    of the target's variance.
    """

    penalties: Floats
    freedom: Floats
    allowed: npt.NDArray[np.bool_]
    squares: Floats


def smoothest(tried: Sequence[PenaltyFits]) -> tuple[int, tuple[float, ...]]:
    """Return the index of one bandwidth for all targets, and the penalty of each target.

    For each target, the fit with the least freedom is chosen among the fits whose error is at most
    `ERRORS` standard errors above the smallest. The bandwidth with the smallest sum of freedoms is
    chosen. If no bandwidth meets the limit for all targets, the bandwidth whose largest excess is
    smallest is chosen.
    """
    excess = [_excess(tried, target) for target in range(tried[0].squares.shape[2])]
    # In case of ties, the last and widest kernel.
    order = range(len(tried) - 1, -1, -1)
    worst = [max(float(one[k].min()) for one in excess) for k in order]
    if min(worst) <= _ALLOWED:
        worst = [sum(_least(tried[k], one[k]) for one in excess) for k in order]
    chosen = order[first_smallest(worst, tie=FITTED_TIE)]
    fits, penalties = tried[chosen], []
    for target, one in enumerate(excess):
        here = one[chosen]
        if here.min() > _ALLOWED:
            (here,) = _excess([fits], target)
        freedom = np.where(here <= _ALLOWED, fits.freedom, np.inf)
        best = len(freedom) - 1 - first_smallest(freedom[::-1], tie=FITTED_TIE)
        penalties.append(float(fits.penalties[best]))
    return chosen, tuple(penalties)


def _least(tried: PenaltyFits, excess: Floats) -> float:
    return float(np.min(np.where(excess <= _ALLOWED, tried.freedom, np.inf)))


def _excess(tried: Sequence[PenaltyFits], target: int) -> list[Floats]:
    means = [np.where(one.allowed, one.squares[:, :, target].mean(axis=0), np.inf) for one in tried]
    if not np.isfinite(np.concatenate(means)).any():
        # If no fit is allowed, take the fit with the least freedom.
        least = min(float(one.freedom.min()) for one in tried)
        return [np.where(one.freedom <= least, 0.0, np.inf) for one in tried]
    place = first_smallest([mean.min() for mean in means], tie=FITTED_TIE)
    best = tried[place].squares[:, first_smallest(means[place], tie=FITTED_TIE), target]
    least = FITTED_TIE * float(best.mean())
    errors = []
    for one in tried:
        worse = one.squares[:, :, target] - best[:, None]
        error = np.maximum(worse.std(axis=0) / np.sqrt(len(worse)), TINY)
        # Fits that differ only by rounding have a zero error.
        excess = np.maximum(worse.mean(axis=0) - least, 0.0) / error
        errors.append(np.where(one.allowed, excess, np.inf))
    return errors
