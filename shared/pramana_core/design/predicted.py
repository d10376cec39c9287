"""What is predicted of a plan's tables: their errors, and how much of an association is left."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from pramana_core.design.goal import Goal
from pramana_core.marginals.counts import Tensor
from pramana_core.ties import TIE

MODERATE = 0.09
"""Mean squared relative deviation of a moderate association: Cohen's w = 0.3 (1988, 7.2.3)."""


@dataclass(frozen=True)
class PredictedErrors:
    """Mean relative standard errors of the wanted cells, by the number of variables of the table.

    Lengths of which the reports cannot tell every table are left out. `score` is the root of the
    mean square over the lengths, infinite where one is left out; `missing` then says why.

    `loss` is what designs are compared by: one minus the mean over tables of the correlation
    between an association as it is estimated and as it is, (1 + v / w^2)^(-1/2). There v is the
    mean relative variance of a table's cells and w^2 the mean squared relative deviation of cells
    from independence where an association is moderate (`MODERATE`). It grows as v does where v is
    small, and hardly any more where a table is hopeless. `kept` is the mean of its square: how much
    of a moderate association is left where noise is shrunk away.
    `noise` has each table's share in what counts and its v / w^2.
    """

    by_length: Mapping[int, float]
    score: float
    missing: str = ""
    loss: float = math.inf
    noise: Mapping[tuple[str, ...], tuple[float, float]] = field(default_factory=dict, repr=False)

    @property
    def kept(self) -> float:
        """How much of a moderate association is left, from 0 to 1."""
        return self.kept_with(1.0)

    def kept_with(self, factor: float) -> float:
        """Return the same with so many times the records."""
        return math.fsum(share / (1 + noise / factor) for share, noise in self.noise.values())


NOTHING = PredictedErrors({}, math.inf)


def wanted_cells(
    goal: Goal, names: Sequence[str], reference: Mapping[str, Tensor]
) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Return which cells of a table count: those above the minimum support, or its largest."""
    shares = shares_of(names, reference)
    wanted = (shares >= (1 - TIE) * goal.minimum_support) & (shares > 0)
    if not wanted.any():
        wanted = shares >= (1 - TIE) * shares.max()
    return np.asarray(wanted)


def shares_of(names: Sequence[str], reference: Mapping[str, Tensor]) -> Tensor:
    made = functools.reduce(np.multiply.outer, (reference[n] for n in names))
    return np.asarray(made, dtype=np.float64)


def summary(
    goal: Goal,
    reference: Mapping[str, Tensor],
    squares: Mapping[tuple[str, ...], Tensor],
    missing: str,
) -> PredictedErrors:
    """Return the errors of tables from the relative variances of their cells that count."""
    by_length = {}
    for length, sets in goal.by_length().items():
        if all(names in squares for names in sets):
            each = [np.sqrt(squares[names]) for names in sets]
            by_length[length] = float(sum(map(np.sum, each)) / sum(map(np.size, each)))
    means = {names: float(np.mean(each)) for names, each in squares.items()}
    known = len(by_length) == len(goal.by_length())
    noise = {
        n: (goal.shares[n], m * counted(goal, n, reference) / MODERATE) for n, m in means.items()
    }
    if not known:
        return PredictedErrors(by_length, math.inf, missing, math.inf, noise)
    score = math.sqrt(math.fsum(goal.shares[n] * m for n, m in means.items()))
    loss = 1 - math.fsum(share / math.sqrt(1 + each) for share, each in noise.values())
    return PredictedErrors(by_length, score, missing, loss, noise)


def counted(goal: Goal, names: Sequence[str], reference: Mapping[str, Tensor]) -> float:
    """Return by what a table's squared errors count less: none is larger than the support's.

    Cells whose expected share is below the minimum support count only where they turn out to be as
    frequent as that; the error is then relative to the support.
    """
    largest = math.prod(float(reference[name].max()) for name in names)
    if not goal.minimum_support:
        return 1.0
    share = min(1.0, largest / goal.minimum_support)
    return share * share
