"""Which numbers pseudo-data may take within an interval: never one outside of it.

The declared range of an attribute narrows what an interval leaves. Where the two have nothing in
common, the interval wins, with the number nearest to the range: a record is always on its path
(proposition 1). For the same reason an attribute of whole numbers takes another where an interval
has no whole number in it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from pramana_core.model_sharing.core.attributes import NumericAttribute
from pramana_core.model_sharing.core.conditions import Interval


@dataclass(frozen=True)
class Extent:
    """The numbers above `low` and at most `high` are drawn from; none below `least` is taken.

    With `whole`, what is drawn is rounded up: all whole numbers of the extent are alike.
    """

    low: float
    high: float
    least: float
    whole: bool


def extent_of(attribute: NumericAttribute, interval: Interval | None) -> Extent:
    """Return what is left of an attribute's range in an interval; without one, all of it."""
    above, up_to = (interval.above, interval.up_to) if interval else (-math.inf, math.inf)
    if up_to < attribute.low:
        last = float(math.floor(up_to)) if attribute.whole else up_to
        return _single(last if above < last else up_to)
    if above >= attribute.high:
        first = float(math.floor(above)) + 1 if attribute.whole else above
        return _single(first if above < first <= up_to else math.nextafter(above, math.inf))
    least = attribute.low if above < attribute.low else math.nextafter(above, math.inf)
    high = min(up_to, attribute.high)
    if attribute.whole:
        first, last = math.ceil(least), math.floor(high)
        if first <= last:
            return Extent(float(first) - 1, float(last), float(first), True)
    if least >= high:
        return _single(high)
    return Extent(max(above, attribute.low), high, least, False)


def _single(number: float) -> Extent:
    return Extent(number, number, number, False)
