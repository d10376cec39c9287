"""Supports made consistent: no itemset above a subset of it, none below 0 or above 1.

The consistent supports x are the nearest to the estimates y, in standard errors: they minimize
the sum of ((x - y) / se)^2 under x(superset) <= x(subset). That is an isotonic regression over the
lattice of itemsets; cutting its solution to [0, 1] solves the problem with those bounds. It is
solved in its dual, one multiplier per pair of an itemset and a subset one item shorter, by
accelerated projected ascent (Nesterov; restarted as O'Donoghue and Candes do) over the pairs that
were out of order, and ended by a sweep from short to long after which the order holds exactly.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pramana_core.errors import NotConverged
from pramana_core.marginals.support_counts import Flags, Floats, Indices

GAP = 5e-7
"""The duality gap per itemset at which the solution is taken: the root of the mean square of what
is left to the nearest point is sqrt(2 GAP) = 0.001 standard errors."""

_EXACT = 1e-6
"""An estimate without an error counts as one with this share of the largest error."""


def consistent_supports(
    supports: Sequence[Floats],
    errors: Sequence[Floats],
    subsets: Sequence[Indices],
    *,
    rounds: int = 500,
    steps: int = 100,
) -> list[Floats]:
    """Return the nearest consistent supports, by length.

    Args:
        supports: the estimates of the itemsets of each length, from 1; NaN where there is none.
        errors: their standard errors.
        subsets: for each itemset the places of its subsets one item shorter in the length before,
            shape (n, k); ignored for length 1.
        rounds: at most so many; each begins by looking for pairs that are out of order.
        steps: of ascent, in each round.

    Raises:
        NotConverged: the solution was not reached in the steps allowed.
    """
    lattice = _Lattice.of(supports, errors, subsets)
    multipliers = np.zeros(len(lattice.upper))
    active = np.zeros(len(lattice.upper), dtype=np.bool_)
    for _ in range(rounds):
        point = lattice.point(multipliers)
        ordered = lattice.swept(point)
        if lattice.gap(ordered, point, multipliers) <= GAP * lattice.size:
            return [np.clip(part, 0.0, 1.0) for part in lattice.by_length(ordered)]
        active |= point[lattice.lower] > point[lattice.upper]
        multipliers[active] = lattice.ascended(multipliers[active], active, steps)
    raise NotConverged(
        f"Consistent supports were not reached in {rounds * steps} steps.",
        remedy="Ask for the estimates as they are, or raise the minimum support.",
    )


class _Lattice:
    """All itemsets one after another; `upper` and `lower` are the subset and the superset of each
    pair."""

    def __init__(
        self,
        estimates: Floats,
        weights: Floats,
        places: Sequence[Indices],
        sizes: Sequence[int],
    ) -> None:
        self._estimates, self._weights, self._places = estimates, weights, places
        self._ends = np.cumsum(sizes)
        known = ~np.isnan(estimates)
        lower, upper = [], []
        for number, above in enumerate(places, start=1):
            own = np.broadcast_to(
                np.arange(self._ends[number - 1], self._ends[number])[:, None], above.shape
            )
            lower.append(own.ravel())
            upper.append(above.ravel())
        nothing = np.zeros(0, dtype=np.int64)
        below, above = np.concatenate([nothing, *lower]), np.concatenate([nothing, *upper])
        self.lower, self.upper = below[known[below]], above[known[below]]

    @property
    def size(self) -> int:
        """The number of itemsets."""
        return len(self._estimates)

    @classmethod
    def of(
        cls, supports: Sequence[Floats], errors: Sequence[Floats], subsets: Sequence[Indices]
    ) -> _Lattice:
        sizes = [len(part) for part in supports]
        starts = np.cumsum([0, *sizes])
        places = [part + starts[k] for k, part in enumerate(subsets[1:])]
        estimates, error = np.concatenate(supports), np.concatenate(errors)
        largest = np.nanmax(error, initial=0.0) or 1.0
        weights = np.square(largest / np.maximum(error, _EXACT * largest)) / largest**2
        return cls(estimates, weights, places, sizes)

    def by_length(self, values: Floats) -> list[Floats]:
        return np.split(values, self._ends[:-1])

    def point(self, multipliers: Floats) -> Floats:
        """Return the supports that minimize the Lagrangian."""
        return self._estimates + self._pulled(multipliers, slice(None)) / self._weights

    def _pulled(self, multipliers: Floats, pairs: Flags | slice) -> Floats:
        size = len(self._estimates)
        up = np.bincount(self.upper[pairs], multipliers, minlength=size)
        return np.asarray(up - np.bincount(self.lower[pairs], multipliers, minlength=size))

    def swept(self, point: Floats) -> Floats:
        """Return the point with each itemset brought down to the lowest of its subsets."""
        ordered = point.copy()
        for number, above in enumerate(self._places, start=1):
            own = slice(self._ends[number - 1], self._ends[number])
            ordered[own] = np.minimum(ordered[own], ordered[above].min(axis=1, initial=np.inf))
        return ordered

    def gap(self, ordered: Floats, point: Floats, multipliers: Floats) -> float:
        """Return how much worse than the best the ordered point can be, at most."""
        distance = self._weights * np.square(ordered - self._estimates)
        bound = self._weights * np.square(point - self._estimates)
        pull = multipliers @ (point[self.lower] - point[self.upper])
        return float(np.nansum(distance - bound) / 2 - pull)

    def ascended(self, start: Floats, active: Flags, steps: int) -> Floats:
        """Return multipliers of the active pairs after some steps of ascent."""
        upper, lower = self.upper[active], self.lower[active]
        ends = np.concatenate([upper, lower])
        degree = np.bincount(ends, minlength=len(self._weights)) / self._weights
        # The curvature of the dual along a pair, at most: both ends share pairs with others.
        curvature = degree[upper] + degree[lower]
        current, ahead, pace = start, start, 1.0
        for _ in range(steps):
            moved = self._estimates + self._pulled(ahead, active) / self._weights
            following = np.maximum(0.0, ahead + (moved[lower] - moved[upper]) / curvature)
            if (following - ahead) * curvature @ (following - current) < 0:
                pace = 1.0
            faster = (1 + np.sqrt(1 + 4 * pace**2)) / 2
            ahead = following + (pace - 1) / faster * (following - current)
            current, pace = following, faster
        return current
