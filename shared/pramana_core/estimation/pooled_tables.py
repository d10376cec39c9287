"""The tables of pooled distributions for learners, with their errors.

X and Z are independent given others if no interaction contains variables of both. Wald's statistic
of those interactions tests this, on the estimates before shrinkage. Half of the statistic serves as
the log-likelihood ratio, because the statistic and twice that ratio have the same chi-square
distribution under independence.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import special

from pramana_core.domain import Domain
from pramana_core.errors import LimitExceeded, OptionError
from pramana_core.estimation.information import INFORMATION_CELLS
from pramana_core.estimation.pooled_laws import (
    KEPT_NUMBERS,
    Laws,
    Level,
    Names,
    default_order,
    slopes,
)
from pramana_core.estimation.pooled_readings import product
from pramana_core.estimation.pooled_separable import SeparatePair
from pramana_core.estimation.table_estimates import FactoredTable
from pramana_core.marginals.counts import Independence, ReportTables, Tensor
from pramana_core.marginals.lack_of_fit import LackOfFit
from pramana_core.marginals.value_cache import ValueCache
from pramana_core.plan import Plan
from pramana_core.progress import Tick, no_cancel

_RANK = 1e-10


@dataclass(frozen=True, eq=False)
class PooledIndependence(Independence):
    """Wald's evidence of dependence: a `difference` with covariance R R', where R is the `root`."""

    difference: Tensor
    root: Tensor

    @property
    def degrees_of_freedom(self) -> int:
        """The number of parameters of the interactions; 0 if no interaction is estimated."""
        return len(self.difference)

    @cached_property
    def ratio(self) -> float:
        """Half of Wald's statistic."""
        return float(0.5 * np.square(self._whitened @ self.difference).sum())

    def resampled(self, draws: int, rng: np.random.Generator) -> Tensor:
        """Return the ratio for normal deviates with the difference's covariance, shape (draws,)."""
        noise = rng.standard_normal((draws, self.root.shape[1])) @ self.root.T
        turned = (self.difference + noise) @ self._whitened.T
        found: Tensor = 0.5 * np.square(turned).sum(axis=1)
        return found

    @cached_property
    def _whitened(self) -> Tensor:
        """W with W'W the inverse of R R', restricted to directions with a nonzero error."""
        if not self.difference.size:
            return np.zeros((0, 0))
        vectors, scales, _ = np.linalg.svd(self.root, full_matrices=False)
        kept = scales > _RANK * scales.max(initial=0.0)
        return np.asarray((vectors[:, kept] / scales[kept]).T, dtype=np.float64)


MOST_TESTS = 64
"""The maximum number of sets that are tested for omitted interactions."""


class PooledTables:
    """Tables of counts from reports of few variables at a time; see `Laws`."""

    def __init__(
        self,
        sources: Sequence[tuple[ReportTables, Plan]],
        domain: Domain,
        order: int | None = None,
        tick: Tick = no_cancel,
    ):
        self.order = default_order(plan for _, plan in sources) if order is None else order
        self._domain, self._tick = domain, tick
        self._sources = tuple(sources)
        self._laws = Laws(sources, domain, self.order, tick)
        self._fits: dict[Names, LackOfFit] = {}
        self._tables: ValueCache[Names, FactoredTable] = ValueCache(
            KEPT_NUMBERS, lambda table: 3 * table.counts.size + table.root.size
        )

    @functools.cached_property
    def records(self) -> int:
        """The number of records."""
        return sum(reports.records for reports, _ in self._sources)

    def table(self, domain: Domain) -> FactoredTable:
        """Return the table over some variables.

        Raises EstimationError: no record reports a variable. LimitExceeded: the table has more than
        `INFORMATION_CELLS` cells.
        """
        self._require_small(domain)
        names = tuple(sorted(domain.names, key=self._domain.axis))
        return _turned(self._tables.get(names, lambda: self._made(names)), domain)

    def may_tell(self, variables: Sequence[str]) -> bool:
        """Return whether all these variables may interact and their table is small enough."""
        if len(variables) > self.order:
            return False
        return math.prod(self._domain[name].size for name in variables) <= INFORMATION_CELLS

    def _require_small(self, domain: Domain) -> None:
        if domain.size > INFORMATION_CELLS:
            raise LimitExceeded(
                f"A table of {domain.size} cells is too large; at most {INFORMATION_CELLS} are"
                " estimated from overlapping sets.",
                remedy="Request fewer variables at once, or each pair separately.",
            )

    def unbiased(self, domain: Domain) -> FactoredTable | None:
        """Return the table before shrinkage, or None if no record reports all its variables."""
        names = tuple(sorted(domain.names, key=self._domain.axis))
        if len(names) > max(self.order, 1) or not (
            len(names) == 1 or self._laws.can_estimate(names)
        ):
            return None
        return self.table(domain).unshrunk

    def independence(
        self, left: Sequence[str], right: Sequence[str], given: Sequence[str]
    ) -> PooledIndependence:
        """Return the evidence on the independence of some variables given others.

        Raises OptionError: a variable is named twice, or a side has none. EstimationError: no
        record reports a variable. LimitExceeded: the table has more than `INFORMATION_CELLS` cells.
        """
        every = (*left, *right, *given)
        if not left or not right or len(set(every)) < len(every):
            raise OptionError(
                f"A test of independence needs distinct variables, not {list(left)} and"
                f" {list(right)} given {list(given)}."
            )
        names = tuple(sorted(every, key=self._domain.axis))
        self._require_small(self._domain.project(names))
        self._tick()
        parts = self._laws.parts(names)
        crossing = [p for p in parts if set(p) & set(left) and set(p) & set(right)]
        return self._tested(names, [part for part in parts if part not in crossing], crossing)

    def lack_of_fit(self, tables: Collection[Names]) -> tuple[LackOfFit, ...]:
        """Return tests of interactions of one more variable than the order, within some tables."""
        found: dict[Names, LackOfFit] = {}
        silent: set[str] = set()
        size = self.order + 1
        for names in [names for names in tables if len(names) >= size]:
            read = [p for p in itertools.combinations(names, size) if self._laws.beyond(p)]
            silent.update(() if read else names)
            for part in read[:MOST_TESTS]:
                if part not in found and len(found) < MOST_TESTS:
                    if part not in self._fits:
                        self._fits[part] = self._tested_fit(part)
                    found[part] = self._fits[part]
        if not silent:
            return tuple(found.values())
        untested = LackOfFit.untested(
            tuple(sorted(silent, key=self._domain.axis)),
            self.order,
            f"No block reports {size} of the variables of some tables together.",
        )
        return (*found.values(), untested)

    def _tested_fit(self, part: Names) -> LackOfFit:
        self._tick()
        test = self._tested(part, self._laws.parts(part, len(part) - 1), [part])
        freedom = float(test.degrees_of_freedom)
        p_value = float(special.gammaincc(freedom / 2, test.ratio))
        return LackOfFit(part, self.order, 2 * test.ratio / freedom, freedom, p_value)

    def _tested(
        self, names: Names, kept: Sequence[Names], left: Sequence[Names]
    ) -> PooledIndependence:
        if not left:
            return PooledIndependence(np.zeros(0), np.zeros((0, 0)))
        root, means = self._parameters(names, [*kept, *left])
        null = self._laws.entropic(names, kept)
        tested = np.hstack([self._functions(names, part) for part in left])
        others = [self._functions(names, (name,)) for name in names]
        others += [self._functions(names, part) for part in kept]
        known = np.hstack(others)
        follow = tested.T @ slopes(null, known)
        number = known.shape[1]
        # Before shrinkage, for both the estimated and the predicted means.
        predicted = tested.T @ null - follow @ (self._means(names, kept) - means[:number])
        return PooledIndependence(
            means[number:] - predicted, root[number:] - follow @ root[:number]
        )

    def _means(self, names: Names, parts: Sequence[Names]) -> Tensor:
        """Return the mean parameters of the estimated distributions; see `_parameters`."""
        found = [self._laws.single(n).functions.T @ self._laws.law((n,)) for n in names]
        found += [self._functions(part, part).T @ self._laws.law(part) for part in parts]
        return np.concatenate(found)

    def _made(self, names: Names) -> FactoredTable:
        self._tick()
        between = self._laws.between(names)
        if between is not None:
            whole, gone = self._made(between), [n not in names for n in between].index(True)
            return FactoredTable(
                self._domain.project(names),
                whole.counts.sum(axis=gone),
                whole.records,
                root=whole.root.sum(axis=gone),
                moved=whole.moved.sum(axis=gone),
                reported=False,
            )
        law, pair = self._laws.law(names), self._laws.separate(names)
        if pair is not None:
            return self._of_pair(names, pair, law)
        parts = self._laws.parts(names) if len(names) > 1 else []
        functions = [self._functions(names, (name,)) for name in names]
        functions += [self._functions(names, part) for part in parts]
        turned = slopes(law, np.hstack(functions))
        root, means = self._parameters(names, parts)
        moved = self._means(names, parts) - means
        domain = self._domain.project(names)
        records = self.records
        return FactoredTable(
            domain,
            records * law.reshape(domain.shape),
            records,
            root=records * (turned @ root).reshape(*domain.shape, -1),
            moved=records * (turned @ moved).reshape(domain.shape),
            reported=len(names) == 1 or names in parts,
        )

    def _of_pair(self, names: Names, pair: SeparatePair, law: Tensor) -> FactoredTable:
        domain, records = self._domain.project(names), self.records
        table = law.reshape(domain.shape)
        return FactoredTable(
            domain,
            records * table,
            records,
            root=records * pair.root(table).reshape(*domain.shape, -1),
            moved=records * (table - pair.unshrunk),
        )

    def _functions(self, names: Names, part: Names) -> Tensor:
        factors = [
            self._laws.single(name).functions
            if name in part
            else np.ones((self._domain[name].size, 1))
            for name in names
        ]
        return product(factors)

    def _parameters(self, names: Names, parts: Sequence[Names]) -> tuple[Tensor, Tensor]:
        """Return a square root of the mean parameters' covariance matrix, and their values."""
        singles = [self._laws.single(name) for name in names]
        joint, places = self._joint(names, parts)
        root = _root(joint)
        made: dict[Names, tuple[Tensor, Tensor]] = {}
        for name, single in zip(names, singles, strict=True):
            mean = single.functions.T @ single.pooled.shares
            made[name,] = (single.functions.T @ root[places[name,]], mean)
        for part in parts:
            level = self._laws.reported(part)
            lower: list[Names] = [(name,) for name in part]
            lower += [p for p in parts if set(p) < set(part)]
            turned = slopes(level.base, np.hstack([self._functions(part, p) for p in lower]))
            carried = (level.functions.T - level.taken) @ turned
            errors = np.vstack([made[p][0] for p in lower])
            off = self._means(part, lower[len(part) :])
            off = off - np.concatenate([made[p][1] for p in lower])
            mean = level.taken @ level.pooled.shares - carried @ off
            mean = mean + (level.functions.T - level.taken) @ level.base
            made[part] = (root[places[part]] + carried @ errors, mean)
        order: list[Names] = [*((name,) for name in names), *parts]
        return (
            np.vstack([made[part][0] for part in order]),
            np.concatenate([made[part][1] for part in order]),
        )

    def _joint(self, names: Names, parts: Sequence[Names]) -> tuple[Tensor, dict[Names, slice]]:
        order: list[Names] = [*((name,) for name in names), *parts]
        places: dict[Names, slice] = {}
        start = 0
        for part in order:
            if len(part) == 1:
                width = self._domain[part[0]].size
            else:
                width = math.prod(self._domain[name].size - 1 for name in part)
            places[part] = slice(start, start + width)
            start += width
        joint = np.zeros((start, start))
        for name in names:
            joint[places[name,], places[name,]] = self._laws.single(name).noise
        for part in parts:
            level = self._laws.reported(part)
            law = self._laws.law(part) if len(part) <= self.order else level.base
            noise = level.pooled.covariance(law)
            joint[places[part], places[part]] = level.taken @ noise @ level.taken.T
            self._crossed(joint, places, part, level, law)
        return joint, places

    def _crossed(
        self, joint: Tensor, places: dict[Names, slice], part: Names, level: Level, law: Tensor
    ) -> None:
        sums = [
            _margin_sums([self._domain[n].size for n in part], axis) for axis in range(len(part))
        ]
        each = [self._laws.single(name).per_record for name in part]
        for weight, reading in zip(level.pooled.weights, level.pooled.readings, strict=True):
            spread = reading.spread(law)
            share = [
                known.get(key, 1 / reading.records)
                for known, key in zip(each, reading.alone, strict=True)
            ]
            for axis, name in enumerate(part):
                cross = weight * share[axis] * level.taken @ spread @ sums[axis].T
                joint[places[part], places[name,]] += cross
                joint[places[name,], places[part]] += cross.T
            if len(part) > 2:
                continue
            both = share[0] * share[1] * reading.records * sums[0] @ spread @ sums[1].T
            joint[places[part[0],], places[part[1],]] += both
            joint[places[part[1],], places[part[0],]] += both.T


def _margin_sums(shape: Sequence[int], axis: int) -> Tensor:
    """Return the matrix that sums a table's cells over all axes but one."""
    factors = [np.eye(s) if a == axis else np.ones((1, s)) for a, s in enumerate(shape)]
    return product(factors)


def _root(covariance: Tensor) -> Tensor:
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)), dtype=np.float64)


def _turned(table: FactoredTable, domain: Domain) -> FactoredTable:
    if table.domain.names == domain.names:
        return table
    order = [table.domain.axis(name) for name in domain.names]
    return FactoredTable(
        domain,
        table.counts.transpose(order),
        table.records,
        root=table.root.transpose([*order, len(order)]),
        moved=table.moved.transpose(order),
        reported=table.reported,
    )
