"""Distributions pooled over all reports that contain their variables, consistent and positive.

Single variables come first, then pairs, then larger sets. Each is estimated by generalized least
squares given the smaller sets, with shrunk interactions (`pooled_priors`). Other tables have the
largest entropy given the tables of their parts (iterative proportional fitting; Deming and Stephan
1940). If noise makes margins contradict each other, the sum of divergences is minimal (Csiszar and
Shields 2004, 5).
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from pramana_core.domain import Domain
from pramana_core.errors import EstimationError, OptionError
from pramana_core.estimation.information import INFORMATION_CELLS
from pramana_core.estimation.pooled_priors import Interaction, learned, solved
from pramana_core.estimation.pooled_readings import PooledReadings, Readings, Single, product
from pramana_core.estimation.pooled_separable import SEPARATED_CELLS, SeparatePair
from pramana_core.marginals.counts import ReportTables, Tensor
from pramana_core.marginals.value_cache import ValueCache
from pramana_core.plan import Plan
from pramana_core.progress import Tick, no_cancel
from pramana_core.ties import first_largest

PRIOR_SETS = 512
"""The maximum number of sets, evenly spread, from which the prior of interactions is learned."""

KEPT_NUMBERS = 1 << 24
"""The maximum count of cached numbers of interactions (128 MB); others are estimated again."""

_LEAST, _LEAST_OF_CELLS = 0.03, 0.2
"""The least share of a variable, and of a shrunk cell, in units of its error.

A cell with few reports is not impossible, but larger values move more from frequent to rare cells.
On the Adult data, a larger value is best for logarithms of shares, and a smaller value for the
shares of frequent cells; this is a compromise.
"""

Names = tuple[str, ...]

LEAST_ORDER, MOST_ORDER = 2, 8
"""The limits of the default order, which follows the records."""


def default_order(plans: Iterable[Plan]) -> int:
    """Return how many variables records report together, within `LEAST_ORDER` .. `MOST_ORDER`."""
    return min(MOST_ORDER, max((LEAST_ORDER, *(plan.together for plan in plans))))


Margins = Mapping[tuple[int, ...], Tensor]

CLOSE = 1e-10
"""The largest difference in probability at which margins count as satisfied."""

_ROUNDS, _PARALLEL, _TINY = 500, 200, 1e-300


def fitted(start: Tensor, margins: Margins) -> Tensor:
    """Return the table with given margins, by axes, that diverges least from a positive table."""
    table, off, last = start, np.inf, np.inf
    for turn in range(_ROUNDS):
        table = _scaled(table, margins)
        off = _off(table, margins)
        if off <= CLOSE:
            return table
        if turn % 50 == 49:
            if off > 0.5 * last:
                break
            last = off
    if off > 1e-7:
        for _ in range(_PARALLEL):
            parts = [_scaled(table, {axes: margin}) for axes, margin in margins.items()]
            table = np.mean(parts, axis=0)
        singles: dict[tuple[int, ...], Tensor] = {}
        for axes, margin in margins.items():
            for place, axis in enumerate(axes):
                gone = tuple(p for p in range(len(axes)) if p != place)
                singles[axis,] = margin.sum(axis=gone)
        for _ in range(_ROUNDS):
            table = _scaled(table, singles)
            if _off(table, singles) <= CLOSE:
                break
    return table


def _scaled(table: Tensor, margins: Margins) -> Tensor:
    for axes, margin in margins.items():
        gone = tuple(a for a in range(table.ndim) if a not in axes)
        now = table.sum(axis=gone, keepdims=True)
        # Every starting cell is positive; rounding may make one 0, which then stays 0.
        table = table * (margin.reshape(now.shape) / np.maximum(now, _TINY))
    return table


def _off(table: Tensor, margins: Margins) -> float:
    return max(
        float(
            np.abs(table.sum(axis=tuple(a for a in range(table.ndim) if a not in axes)) - m).max()
        )
        for axes, m in margins.items()
    )


def slopes(table: Tensor, functions: Tensor) -> Tensor:
    """Return the derivatives of an exponential family's cells by its means, cells x parameters.

    They are diag(m) X (X' diag(m) X)^-1 for the probabilities m and the centred statistics X.
    """
    cells = table.ravel()
    centred = functions - cells @ functions
    weighted = cells[:, None] * centred
    information = centred.T @ weighted
    try:
        found: Tensor = solved(information, weighted.T).T
    except np.linalg.LinAlgError:
        # Nearly empty cells leave a direction without information.
        found = np.asarray(np.linalg.lstsq(information, weighted.T, rcond=1e-12)[0].T, np.float64)
    return found


@dataclass(frozen=True, eq=False)
class Level:
    """A reported set's interaction given all smaller sets, by generalized least squares.

    y = H (t - b) with H = (Q' V^-1 Q)^-1 Q' V^-1. t is the reports' estimate, V its covariance, b
    the table of largest entropy for the smaller sets, and Q = diag(product of margins) X.
    """

    pooled: PooledReadings
    base: Tensor
    functions: Tensor
    spread: Tensor
    taken: Tensor
    found: Interaction


class Laws:
    """The estimated distributions over few variables at a time, from sources of one population.

    `order` is the largest number of variables that interact; `tick` is called throughout. Raises
    OptionError.
    """

    def __init__(
        self,
        sources: Sequence[tuple[ReportTables, Plan]],
        domain: Domain,
        order: int = 2,
        tick: Tick = no_cancel,
    ):
        if order < 1:
            raise OptionError(f"order must be at least 1, not {order}.", where="order")
        self._domain, self._order, self._tick = domain, order, tick
        self._readings = Readings(sources, domain, tick)
        self._singles: dict[str, Single] = {}
        self._levels: ValueCache[Names, Level | None] = ValueCache(KEPT_NUMBERS, _numbers)
        self._pairs: ValueCache[Names, SeparatePair | None] = ValueCache(
            KEPT_NUMBERS, lambda pair: 1 if pair is None else 10 * pair.pooled.shares.size
        )
        self._laws: dict[Names, Tensor] = {}
        self._priors: dict[int, Tensor] = {}

    def single(self, name: str) -> Single:
        """Return one variable's distribution. Raises EstimationError if it cannot be estimated."""
        if name not in self._singles:
            readings = self._readings.of([name])
            if readings is None:
                raise EstimationError(
                    f"The reports do not determine the counts of {name!r}.",
                    where=name,
                    remedy="Request other variables, or let the plan report this one.",
                )
            size = len(readings.shares)
            flat = np.full(size, 1 / size)
            at = np.maximum(readings.shares, 0.0)
            at = 0.99 * at / at.sum() + 0.01 * flat
            law = _likeliest(readings.shares, readings.covariance(at))
            basis = linalg.null_space(np.sqrt(law)[None, :])
            self._singles[name] = Single(readings, law, basis / np.sqrt(law)[:, None])
        return self._singles[name]

    def level(self, names: Names) -> Level | None:
        """Return the interaction of up to `order` variables, or None if no record reports it."""
        return self.beyond(names) if len(names) <= self._order else None

    def beyond(self, names: Names) -> Level | None:
        """Return the interaction of any number of variables, or None if no record reports it."""
        return self._levels.get(names, lambda: self._estimated(names))

    def separate(self, names: Names) -> SeparatePair | None:
        """Return the `SeparatePair` of two variables, or None if they are estimated by cell."""
        return self._pairs.get(names, lambda: self._separated(names))

    def _separated(self, names: Names) -> SeparatePair | None:
        cells = math.prod(self._domain[name].size for name in names)
        if len(names) != 2 or self._order < 2 or not SEPARATED_CELLS < cells <= INFORMATION_CELLS:
            return None
        readings = self._readings.of(names)
        if readings is None or any(r.decoder.noise is None for r in readings.readings):
            return None
        one, other = names
        return SeparatePair(readings, (self.single(one), self.single(other)))

    def can_estimate(self, names: Names) -> bool:
        """Return whether reports determine the interaction of two or more variables."""
        return self.separate(names) is not None or self.level(names) is not None

    def reported(self, names: Names) -> Level:
        """Return the interaction of variables reported together. Raises EstimationError."""
        level = self.beyond(names)
        if level is None:
            raise EstimationError(f"No record reports {list(names)} together.")
        return level

    def _estimated(self, names: Names) -> Level | None:
        cells = math.prod(self._domain[name].size for name in names)
        if cells > INFORMATION_CELLS:
            return None
        readings = self._readings.of(names)
        if readings is None:
            return None
        singles = [self.single(name) for name in names]
        base = self.base(names)
        functions = product([single.functions for single in singles])
        whole = product([single.law for single in singles])
        spread = whole[:, None] * functions
        noise = readings.covariance(base)
        # The sum of all cells is known, so noise is added in its direction for the inverse.
        scale = float(np.trace(noise)) / cells
        filled = noise + scale / cells
        filled[np.diag_indices(cells)] += 1e-9 * scale
        weighed = solved(filled, spread)
        information = spread.T @ weighed
        both = np.hstack([weighed.T, np.eye(len(information))])
        both = solved((information + information.T) / 2, both)
        taken, covariance = both[:, :cells], both[:, cells:]
        half = base[:, None] * functions
        found = Interaction(
            taken @ (readings.shares - base), (covariance + covariance.T) / 2, half.T @ half
        )
        return Level(readings, base, functions, spread, taken, found)

    def _prior(self, size: int) -> Tensor:
        if size not in self._priors:
            every = [n for n in self._readings.together(size) if len(n) == size]
            if not every:
                every = list(itertools.combinations(self._domain.names, size))
            some = np.unique(
                np.linspace(0, len(every) - 1, min(len(every), PRIOR_SETS)).astype(int)
            )
            found = []
            for place in some:
                self._tick()
                pair = self.separate(every[place])
                level = self.level(every[place]) if pair is None else None
                if pair is not None:
                    found.append(pair.likelihoods)
                elif level is not None:
                    found.append(level.found.likelihoods)
            self._priors[size] = learned(found)
        return self._priors[size]

    def base(self, names: Names) -> Tensor:
        """Return the distribution of largest entropy for the distributions of smaller sets."""
        if len(names) == 2:
            return product([self.single(name).law for name in names])
        return self.entropic(names, self.parts(names, len(names) - 1))

    def parts(self, names: Names, most: int | None = None) -> list[Names]:
        """Return the estimated sets of up to `most` (default: all) variables, smallest first."""
        found: list[Names] = []
        largest = len(names) if most is None else most
        for size in range(2, min(largest, self._order) + 1):
            found += [
                part for part in itertools.combinations(names, size) if self.can_estimate(part)
            ]
        return found

    def entropic(self, names: Names, parts: Sequence[Names]) -> Tensor:
        """Return the distribution of largest entropy that has the given sets' distributions."""
        shape = [self._domain[name].size for name in names]
        start = product([self.single(name).law for name in names])
        largest = [p for p in parts if not any(set(p) < set(q) for q in parts)]
        if not largest:
            return np.asarray(start, dtype=np.float64)
        margins = {}
        for part in largest:
            axes = tuple(names.index(name) for name in part)
            margins[axes] = self.law(part).reshape([shape[axis] for axis in axes])
        alone = set(names) - {name for part in largest for name in part}
        for name in alone:
            margins[names.index(name),] = self.single(name).law
        return fitted(start.reshape(shape), margins).ravel()

    def law(self, names: Names) -> Tensor:
        """Return the estimated distribution over some variables, in C order."""
        if len(names) == 1:
            return self.single(names[0]).law
        if names not in self._laws:
            pair = self.separate(names)
            level = self.level(names) if pair is None else None
            between = self.between(names)
            if pair is not None:
                law = self._positive(names, self.base(names), *pair.posterior(self._prior(2)))
            elif level is not None:
                law = self._shrunk(names, level)
            elif between is not None:
                place = between.index(next(name for name in between if name not in names))
                shape = [self._domain[name].size for name in between]
                law = self.law(between).reshape(shape).sum(axis=place).ravel()
            else:
                law = self.entropic(names, self.parts(names))
            self._laws[names] = law
        return self._laws[names]

    def between(self, names: Names) -> Names | None:
        """Return two variables never reported together and their linking variable, or None."""
        if len(names) != 2 or self._order < 2 or self.can_estimate(names):
            return None
        partners = [self._partners.get(name, frozenset()) for name in names]
        shared = sorted(partners[0] & partners[1], key=self._domain.axis)
        ties = [min(self._tie(name, end) for end in names) for name in shared]
        if not ties or max(ties) <= 0:
            return None
        middle = shared[first_largest(ties)]
        return tuple(sorted((*names, middle), key=self._domain.axis))

    def _tie(self, first: str, second: str) -> float:
        names = tuple(sorted((first, second), key=self._domain.axis))
        if not self.can_estimate(names):
            return 0.0
        one, other = (self.single(name).functions for name in names)
        return float(np.square(one.T @ self.law(names).reshape(len(one), -1) @ other).sum())

    @functools.cached_property
    def _partners(self) -> dict[str, frozenset[str]]:
        """For each variable, the variables that sampled blocks report together with it."""
        found: dict[str, set[str]] = {}
        for first, second in self._readings.together(2):
            found.setdefault(first, set()).add(second)
            found.setdefault(second, set()).add(first)
        return {name: frozenset(others) for name, others in found.items()}

    def _shrunk(self, names: Names, level: Level) -> Tensor:
        mean, covariance = level.found.posterior(self._prior(len(names)))
        half = level.spread @ covariance
        error = np.sqrt(np.maximum((half * level.spread).sum(axis=1), 0.0))
        return self._positive(names, level.base, level.base + level.spread @ mean, error)

    def _positive(self, names: Names, lower: Tensor, law: Tensor, error: Tensor) -> Tensor:
        """Return a distribution without negative cells, with the margins of the smaller sets."""
        shape = [self._domain[name].size for name in names]
        base = lower.reshape(shape)
        law = np.maximum(law.reshape(shape), _LEAST_OF_CELLS * error.reshape(shape) + 1e-3 * base)
        margins = {}
        for axes in itertools.combinations(range(len(names)), len(names) - 1):
            gone = tuple(a for a in range(len(names)) if a not in axes)
            margins[axes] = base.sum(axis=gone)
        return fitted((law / law.sum()).reshape(shape), margins).ravel()


def _numbers(level: Level | None) -> int:
    if level is None:
        return 1
    cells, parameters = level.spread.shape
    return int(3 * cells * parameters + 7 * parameters**2)


def _likeliest(shares: Tensor, covariance: Tensor) -> Tensor:
    """Return the distribution nearest to the shares, with distances measured in their errors."""
    from scipy.optimize import nnls

    cells = len(shares)
    # The direction in which no distribution can move gets a small error, so the sum is kept.
    errors = covariance + np.trace(covariance) / cells**2 * 1e-4
    root = linalg.cholesky(errors + 1e-12 * np.trace(errors) * np.eye(cells), lower=True)
    found, _ = nnls(
        linalg.solve_triangular(root, np.eye(cells), lower=True),
        linalg.solve_triangular(root, shares, lower=True),
    )
    law = np.maximum(found, _LEAST * np.sqrt(np.diag(covariance)))
    return np.asarray(law / law.sum(), dtype=np.float64)
