"""How owners share the epsilon of a record where each reports its part of a set by itself."""

from __future__ import annotations

import functools
import heapq
import itertools
import math
from collections.abc import Sequence

_STEPS = 512
"""The epsilon is dealt out in so many equal steps."""


def kept(cells: int, epsilon: float) -> float:
    """Return how often the most accurate symmetric channel keeps one of so many cells."""
    return math.expm1(epsilon) / (math.expm1(epsilon) + cells)


@functools.lru_cache(maxsize=1 << 16)
def shares(cells: Sequence[int], most: Sequence[float], epsilon: float) -> tuple[float, ...]:
    """Return each part's epsilon, so that all parts are kept together as often as can be.

    Independent reports of the parts have the Fisher information prod w_i^2 about the contrasts of
    the interaction of all of them, w_i how often part i is kept. log w_i is concave in its epsilon,
    so that steps to where they gain most are the best.

    Args:
        cells: the cells of each part.
        most: the largest epsilon that each may have.
        epsilon: what they have together.
    """
    step = epsilon / _STEPS

    def gain(part: int, steps: int) -> float:
        if (steps + 1) * step > most[part] * (1 + 1e-12):
            return 0.0
        return math.log(kept(cells[part], (steps + 1) * step) / kept(cells[part], steps * step))

    # Every part begins with one step: with none it would say nothing.
    taken = [1] * len(cells)
    queue = [(-gain(part, 1), part) for part in range(len(cells))]
    heapq.heapify(queue)
    for _ in itertools.repeat(None, _STEPS - len(cells)):
        best, part = queue[0]
        if best == 0.0:
            break
        taken[part] += 1
        heapq.heapreplace(queue, (-gain(part, taken[part]), part))
    return tuple(float(min(most[part], steps * step)) for part, steps in enumerate(taken))
