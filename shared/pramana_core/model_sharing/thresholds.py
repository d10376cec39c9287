"""Thresholds that tell of no record: the shortest number between two neighbours.

Their middle would tell the one record's value to whoever knows the other.
"""

from __future__ import annotations

import math
from fractions import Fraction

MOST_DIGITS = 18
"""Floats that differ do so within so many digits."""


def between(left: float, right: float, *, whole: bool = False) -> float:
    """Return the number of fewest decimal digits between two, of such the nearest to their middle.

    Args:
        left: a number.
        right: a greater one.
        whole: whether both are whole: then the threshold is, too, and may be `left` itself.

    Returns:
        A number that is at least `left` and below `right`: neither of both unless there is no other
        (`left`, where the two are whole and follow one another, or are neighbours among floats).
    """
    low, high = Fraction(left), Fraction(right)
    if whole and high - low == 1:
        return left  # To be at most 3 is to be below 4: no other whole number parts the two.
    middle = (Fraction(left) + Fraction(right)) / 2
    largest = max(abs(left), abs(right))
    top = math.floor(math.log10(largest)) + 1
    # So many digits nearer to zero the difference of the two begins.
    shift = max(0, top - 1 - math.floor(math.log10(right - left)))
    for power in range(top, top - MOST_DIGITS - shift, -1):
        if whole and power < 0:
            break
        step = Fraction(10) ** power
        first, last = math.floor(low / step) + 1, math.ceil(high / step) - 1
        if first <= last:
            found = float(min(max(round(middle / step), first), last) * step)
            if left < found < right:
                return found
    return left
