"""Decisions that do not hang on the last digits: near ties go by the order of the candidates.

Processors and libraries round differently, so that numbers which are equal in exact arithmetic, or
nearly so, compare one way here and another there. What is decided by comparing such numbers is
decided here: what differs by less than a relative tolerance is a tie, and of a tie the first
candidate wins. Callers list their candidates in an order that means something (the simpler first,
then by name) and say so.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

TIE: Final = 1e-9
"""Numbers that differ by less than this share of their scale are equal: far more than rounding
changes in closed forms, far less than anything that matters."""
FITTED_TIE: Final = 1e-5
"""The same for numbers that an iteration ended at, which are exact to its stopping tolerance."""
_ROUNDING: Final = 1e-3
"""This share of a tie is rounding: what differs by no more never gets different levels."""


def first_largest(values: npt.ArrayLike, *, scale: float = 0.0, tie: float = TIE) -> int:
    """Return the index of the first of N values that ties with the largest; NaN never wins.

    Values tie within `tie` times `scale`, the size of the numbers they were computed from, if
    larger than theirs. Raises ValueError: there are no values, or none is a number.
    """
    numbers = np.asarray(values, dtype=float)
    if np.isnan(numbers).all():
        raise ValueError("there is no number to choose the largest of")
    best = float(np.nanmax(numbers))
    if np.isinf(best):
        return int(np.flatnonzero(numbers == best)[0])
    return int(np.flatnonzero(numbers >= best - tie * max(abs(best), scale))[0])


def first_smallest(values: npt.ArrayLike, *, scale: float = 0.0, tie: float = TIE) -> int:
    """Return the place of the first of N values that ties with the smallest.

    See `first_largest`.
    """
    return first_largest(-np.asarray(values, dtype=float), scale=scale, tie=tie)


def first_largest_of_rows(
    rows: npt.ArrayLike, *, scale: float = 0.0, tie: float = TIE
) -> npt.NDArray[np.intp]:
    """Return for each of n rows the index of the first that ties with its largest, else 0."""
    numbers = np.asarray(rows, dtype=float)
    known = np.where(np.isnan(numbers), -np.inf, numbers)
    best = known.max(axis=1, keepdims=True)
    slack = tie * np.maximum(np.abs(best), scale)
    first: npt.NDArray[np.intp] = np.argmax(
        known >= best - np.where(np.isinf(best), 0.0, slack), axis=1
    )
    return first


def descending(
    values: npt.ArrayLike, *, scale: float = 0.0, tie: float = TIE
) -> npt.NDArray[np.intp]:
    """Return the order of N values from the largest down; those that tie stay as they stand.

    What ties is said by `levels`, of which the first here begins at the largest value: nothing
    smaller by more than a tie stands before it. Those that are not a number come last.
    """
    return np.argsort(levels(-np.asarray(values, dtype=float), scale=scale, tie=tie), kind="stable")


def ascending(
    values: npt.ArrayLike, *, scale: float = 0.0, tie: float = TIE
) -> npt.NDArray[np.intp]:
    """Return the order of N values from the smallest up; see `descending`."""
    return np.argsort(levels(values, scale=scale, tie=tie), kind="stable")


def levels(
    values: npt.ArrayLike, *, scale: float = 0.0, tie: float = TIE
) -> npt.NDArray[np.float64]:
    """Return which of N values tie, as levels 0, 1, ... from the smallest up; NaN stays NaN.

    A level has the values within `tie` times the largest finite value, or `scale`, of its smallest.
    Values a thousandth of a tie from each other always share a level.
    """
    numbers = np.asarray(values, dtype=float)
    order = np.argsort(numbers, kind="stable")[: np.count_nonzero(~np.isnan(numbers))]
    found = np.full(numbers.shape, np.nan)
    size = float(np.abs(numbers[np.isfinite(numbers)]).max(initial=0.0))
    found[order] = np.cumsum(_begins(numbers[order], tie * max(size, scale))) - 1
    return found


def _begins(ordered: npt.NDArray[np.float64], slack: float) -> npt.NDArray[np.bool_]:
    """Return which of some values, from the smallest up, begin a level (see `levels`)."""
    gaps = np.full(ordered.shape, np.inf)
    with np.errstate(invalid="ignore"):
        # Infinities that are the same differ by nothing.
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


def reaches(value: float, bound: float, *, scale: float = 0.0, tie: float = TIE) -> bool:
    """Return whether a value is at least a bound, or smaller by no more than a tie; NaN is not."""
    known = not (np.isnan(value) or np.isnan(bound))
    return known and not exceeds(bound, value, scale=scale, tie=tie)
