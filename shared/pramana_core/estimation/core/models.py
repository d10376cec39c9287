"""Models of a true table: which variables it lets depend on which, and what is likely under it.

And how many variables are let interact where nobody says it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pramana_core.estimation.core.loglinear import STEP_COST, affordable
from pramana_core.marginals.counts import Tensor
from pramana_core.marginals.support_counts import Flags, Indices
from pramana_core.plan import Plan

Axes = tuple[int, ...]

_INSIDE, _FAR = 0.05, 1e9


@dataclass(frozen=True)
class FactoredModel:
    """Distributions that factor, as a Bayesian network does: some axes given others.

    Args:
        shape: the true table.
        factors: sets of axes that share none, each with the axes that it is given. Axes in no
            factor have any distribution given all others. Without factors every distribution is
            of the model.
    """

    shape: tuple[int, ...]
    factors: tuple[tuple[Axes, Axes], ...] = ()

    @property
    def probabilities(self) -> int:
        """How many conditional probabilities make up a distribution, those that follow included."""
        return sum(math.prod(self.shape[a] for a in (*own, *given)) for own, given in self.every)

    @cached_property
    def rest(self) -> Axes:
        """The axes in no factor."""
        return self._others(tuple(axis for own, _ in self.factors for axis in own))

    @property
    def every(self) -> tuple[tuple[Axes, Axes], ...]:
        """The factors, and that of the axes in none."""
        rest = ((self.rest, self._others(self.rest)),) if self.rest else ()
        return (*self.factors, *rest)

    def fit(self, counts: Tensor) -> Tensor:
        """Return the most likely distributions of expected true counts (cells..., sets)."""
        product: Tensor | float = 1.0 if self.factors else counts
        for over, under, even in self._margins if self.factors else ():
            if over is not None:
                factor = counts.sum(axis=over, keepdims=True)
                if under is not None:
                    factor = _share(factor, counts.sum(axis=under, keepdims=True), even)
                product = product * factor
            elif under is not None:
                margin = counts.sum(axis=under, keepdims=True)
                product = _share(product * np.ones_like(margin), margin, even)
        distribution: Tensor = product / np.sum(product, axis=tuple(range(counts.ndim - 1)))
        return distribution

    @cached_property
    def _margins(self) -> list[tuple[Axes | None, Axes | None, float]]:
        """Of each factor: what its margin sums over, and that of what it is given.

        Margins of one factor that are divided by in another are left out of both. Where nothing
        is expected of what is given, any distribution is as likely: an even one is taken.
        """
        above: list[Axes | None] = [self._others((*own, *given)) for own, given in self.every]
        below = [self._others(given) if given else None for _, given in self.every]
        for place, gone in enumerate(above):
            if gone in below:
                below[below.index(gone)] = None
                above[place] = None
        sizes = [math.prod(self.shape[axis] for axis in own) for own, _ in self.every]
        even = [0.0 if gone is None else 1 / size for gone, size in zip(above, sizes, strict=True)]
        return list(zip(above, below, even, strict=True))

    def _others(self, axes: Axes) -> Axes:
        return tuple(axis for axis in range(len(self.shape)) if axis not in axes)


class Effects:
    """How the logarithms of a model's cells follow those of its conditional probabilities."""

    def __init__(self, model: FactoredModel):
        self._shape = model.shape
        codes = np.indices(model.shape).reshape(len(model.shape), -1)
        self._parts: list[tuple[Tensor, Indices, Tensor]] = []
        for own, given in model.every:
            sizes = [model.shape[axis] for axis in (*given, *own)]
            of_cell = np.ravel_multi_index([codes[axis] for axis in (*given, *own)], sizes)
            rows = np.arange(math.prod(sizes)) // math.prod(model.shape[axis] for axis in own)
            same_row = (rows[of_cell][:, None] == rows).astype(np.float64)
            self._parts.append((np.eye(len(rows))[of_cell], rows, same_row))
        factor = np.repeat(np.arange(len(self._parts)), [len(rows) for _, rows, _ in self._parts])
        self.apart: Flags = factor[:, None] != factor
        """Which pairs of parameters are of different factors."""

    def at(self, theta: Tensor) -> tuple[Tensor, Tensor]:
        """Return the derivatives at a distribution, (cells), along which each row sums to 1 still.

        Returns:
            A matrix (cells, parameters), and the probability of what each parameter is of.
        """
        columns, masses = [], []
        for of_cell, rows, same_row in self._parts:
            mass = np.asarray(theta @ of_cell, dtype=np.float64)
            given = np.asarray(np.bincount(rows, mass)[rows], dtype=np.float64)
            columns.append(of_cell - same_row * _share(mass, given, 0.0))
            masses.append(mass)
        return np.hstack(columns), np.concatenate(masses)

    def moved(self, theta: Tensor, effects: Tensor, move: Tensor) -> Tensor:
        """Return the cells, in their shape, when each probability grows by a share of itself.

        What would be negative, or near 0, is put well inside; what has no bound gets one.
        """
        ends = np.cumsum([len(rows) for _, rows, _ in self._parts])[:-1]
        parts = zip(np.split(effects, ends, axis=1), np.split(move, ends), strict=True)
        grown = [np.clip(1 + own @ share, _INSIDE, _FAR) for own, share in parts]
        moved: Tensor = (theta * np.prod(grown, axis=0)).reshape(self._shape)
        return moved


def _share(part: Tensor, whole: Tensor, otherwise: float) -> Tensor:
    """Return part / whole, and another value where the whole is 0."""
    share: Tensor = np.full(part.shape, otherwise)
    np.divide(part, whole, out=share, where=whole > 0)
    return share


LEAST_ORDER, MOST_ORDER = 2, 8
"""By default the order follows the records, from pairs up to as many as a job may ask for."""


def default_order(plans: Iterable[Plan]) -> int:
    """Return the most variables that records report together, within these bounds.

    What is reported together is then estimated from those reports, and only what is not is filled
    in from smaller tables.
    """
    return min(MOST_ORDER, max((LEAST_ORDER, *(plan.together for plan in plans))))


QUICK_COST = 1 << 23
"""Of a model of all variables, interactions of more than pairs may cost a step so much."""


def fitting_order(most: int, shape: Sequence[int], reports: int, cost: int = STEP_COST) -> int:
    """Return the highest order, pairs at least, up to `most` of a model that can be fitted.

    Args:
        most: the highest order wanted.
        shape: the categories of the variables.
        reports: how many different reports there are.
        cost: what a step of its fit may cost where more than pairs interact (`affordable`).
    """
    least = min(LEAST_ORDER, most)
    tried = range(most, least, -1)
    return next((order for order in tried if affordable(shape, order, reports, cost)), least)
