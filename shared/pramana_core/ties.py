"""Comparisons that do not depend on the last digits: candidates that nearly tie stay in order.

Processors and libraries round differently, so numbers that are equal in exact arithmetic, or nearly
so, can compare differently on two machines. Here, numbers that differ by less than a relative
tolerance tie, and the first candidate of a tie wins. Callers list their candidates in a meaningful
order (simpler candidates first, then by name) and document it.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

TIE: Final = 1e-9
"""The relative difference below which numbers tie: far above rounding, far below what matters."""
FITTED_TIE: Final = 1e-5
"""The tolerance for results of an iteration, which are exact only to its stopping tolerance."""
_ROUNDING: Final = 1e-3
"""Numbers that differ by at most this share of a tie always have the same level."""


def first_largest(values: npt.ArrayLike, *, scale: float = 0.0, tie: float = TIE) -> int:
    """Return the index of the first of N values that ties with the largest; NaN never wins.

    Values tie if they differ by at most `tie` times the largest magnitude, or times `scale` if that
    is larger. `scale` is the size of the numbers that the values were computed from. Raises
    ValueError: no value is a number.
    """
    numbers = np.asarray(values, dtype=float)
    if np.isnan(numbers).all():
        raise ValueError("the values contain no number, so no value is the largest")
    best = float(np.nanmax(numbers))
    if np.isinf(best):
        return int(np.flatnonzero(numbers == best)[0])
    return int(np.flatnonzero(numbers >= best - tie * max(abs(best), scale))[0])


def first_smallest(values: npt.ArrayLike, *, scale: float = 0.0, tie: float = TIE) -> int:
    """Return the index of the first value that ties with the smallest: see `first_largest`."""
    return first_largest(-np.asarray(values, dtype=float), scale=scale, tie=tie)


def first_largest_of_rows(rows: npt.ArrayLike, *, scale: float = 0.0) -> npt.NDArray[np.intp]:
    """Return, for each of n rows, the index of the first value that ties with the largest, or 0."""
    numbers = np.asarray(rows, dtype=float)
    known = np.where(np.isnan(numbers), -np.inf, numbers)
    best = known.max(axis=1, keepdims=True)
    slack = TIE * np.maximum(np.abs(best), scale)
    first: npt.NDArray[np.intp] = np.argmax(
        known >= best - np.where(np.isinf(best), 0.0, slack), axis=1
    )
    return first


def descending(
    values: npt.ArrayLike, *, scale: float = 0.0, tie: float = TIE
) -> npt.NDArray[np.intp]:
    """Return the indices of N values from the largest to the smallest; ties stay in order.

    Values tie as in `levels`, except that the first level starts at the largest value. A value that
    is smaller by more than a tie never comes before a larger one. NaN comes last.
    """
    return np.argsort(levels(-np.asarray(values, dtype=float), scale=scale, tie=tie), kind="stable")


def ascending(
    values: npt.ArrayLike, *, scale: float = 0.0, tie: float = TIE
) -> npt.NDArray[np.intp]:
    """Return the indices of N values from the smallest to the largest; see `descending`."""
    return np.argsort(levels(values, scale=scale, tie=tie), kind="stable")


def levels(
    values: npt.ArrayLike, *, scale: float = 0.0, tie: float = TIE
) -> npt.NDArray[np.float64]:
    """Return the levels 0, 1, ... of N values, from the smallest value up; NaN for NaN.

    The values of a level tie. A level contains the values that exceed its smallest value by at most
    `tie` times the largest finite value, or `scale` if larger. Values within a thousandth of a tie
    always share a level.
    """
    numbers = np.asarray(values, dtype=float)
    order = np.argsort(numbers, kind="stable")[: np.count_nonzero(~np.isnan(numbers))]
    found = np.full(numbers.shape, np.nan)
    size = float(np.abs(numbers[np.isfinite(numbers)]).max(initial=0.0))
    found[order] = np.cumsum(_begins(numbers[order], tie * max(size, scale))) - 1
    return found


def _begins(ordered: npt.NDArray[np.float64], slack: float) -> npt.NDArray[np.bool_]:
    """Return a mask of the ascending values that start a level (see `levels`)."""
    gaps = np.full(ordered.shape, np.inf)
    with np.errstate(invalid="ignore"):
        # Equal infinities differ by zero.
        gaps[1:] = np.where(ordered[1:] == ordered[:-1], 0.0, np.diff(ordered))
    begins = gaps > slack
    before = np.maximum.accumulate(np.where(begins, np.arange(len(ordered)), 0))
    first = 0
    for place in np.flatnonzero((gaps > _ROUNDING * slack) & ~begins).tolist():
        first = max(first, int(before[place]))
        if ordered[place] > ordered[first] + slack:
            begins[place] = True
            first = place
    return begins


def exceeds(value: float, bound: float, *, scale: float = 0.0, tie: float = TIE) -> bool:
    """Return whether a value is larger than a bound by more than a tie."""
    if np.isinf(value) or np.isinf(bound):
        return value > bound
    return value > bound + tie * max(abs(value), abs(bound), scale)


def reaches(value: float, bound: float) -> bool:
    """Return whether a value is at least a bound, or ties with it; False for NaN."""
    known = not (np.isnan(value) or np.isnan(bound))
    return known and not exceeds(bound, value)
