"""The pocket algorithm on expected counts (Ma 6.2).

Ma's algorithm draws reports and then cells. This module first sums over the reports, so it draws
cells with weights that are their expected counts. Only a misclassified draw changes the weights, so
the length of the run of correct draws before it is geometric. The paper keeps the weights with the
longest run; the default here keeps the weights with the fewest errors.
"""

from __future__ import annotations

import numpy as np

from pramana_core.learn.common.options import Keep
from pramana_core.learn.linear.columns import ClassCounts, DesignMatrix
from pramana_core.marginals.counts import Tensor
from pramana_core.progress import Tick
from pramana_core.ties import TIE, exceeds

_NONE = 1e-12
_TICKS = 64


def pocket(
    design: DesignMatrix,
    source: ClassCounts,
    positive: int,
    start: Tensor,
    steps: int,
    rng: np.random.Generator,
    tick: Tick,
    keep: Keep = "fewest-wrong",
) -> Tensor:
    """Return the kept weights, (size,), scaled so that the weights without the intercept have
    length 1 (or 0).

    `design` has scaled columns. `source` has nonnegative counts by class. `start` are the initial
    weights, and `steps` is the maximum number of updates. For `keep` see `LinearOptions`.
    """
    ones = source.of_class(positive)
    others = source.totals - ones
    records = float(source.totals.sum())
    weights = start.copy()
    # For the fewest errors, weights must beat the prediction of one class for all records.
    best = np.zeros(design.size)
    best[0] = 1.0 if exceeds(ones.sum(), others.sum()) else -1.0
    least = float(min(ones.sum(), others.sum()))
    longest = -1.0
    for step in range(steps + 1):
        if step % _TICKS == 0:
            tick()
        # A cell on the plane counts as negative, whatever its rounding. The rounding scale is at
        # least 1, the size of one row's scores, because weights may return to 0.
        scores = design.scores(source.cells, weights)
        above = scores > TIE * max(float(np.abs(scores).max()), 1.0)
        wrong = np.cumsum(np.where(above, others, ones))
        perfect = wrong[-1] <= _NONE * records
        run = np.inf
        if keep == "longest-run" and not perfect:
            run = rng.geometric(min(wrong[-1] / records, 1.0)) - 1.0
        fewer = keep == "fewest-wrong" and wrong[-1] < least - TIE * records
        if fewer or (keep == "longest-run" and run > longest):
            best, least, longest = weights.copy(), float(wrong[-1]), run
        if perfect or step == steps:
            break
        cell = int(np.searchsorted(wrong, rng.random() * wrong[-1], side="right"))
        row = design.rows(source.cells, min(cell, len(wrong) - 1))
        weights += -row if above[cell] else row
    length = float(np.linalg.norm(best[1:]))
    return best / length if length > 0 else best
