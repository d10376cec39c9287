"""How many variables are let interact where nobody says it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from shared.estimation.core.loglinear import affordable
from shared.plan import Plan

LEAST_ORDER, MOST_ORDER = 2, 8
"""By default the order follows the records, from pairs up to as many as a job may ask for."""


def default_order(plans: Iterable[Plan]) -> int:
    """Return the most variables that records report together, within these bounds.

    What is reported together is then estimated from those reports, and only what is not is filled
    in from smaller tables.
    """
    return min(MOST_ORDER, max((LEAST_ORDER, *(plan.together for plan in plans))))


def fitting_order(most: int, shape: Sequence[int], reports: int) -> int:
    """Return the highest order, pairs at least, up to `most` of a model that can be fitted."""
    least = min(LEAST_ORDER, most)
    tried = range(most, least, -1)
    return next((order for order in tried if affordable(shape, order, reports)), least)
