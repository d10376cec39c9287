"""The tables that learners ask for, made of the pooled distributions, with their errors."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np

from shared.domain import Domain
from shared.errors import LimitExceeded
from shared.estimation.core.information import INFORMATION_CELLS
from shared.estimation.pooled.independence import PooledIndependence
from shared.estimation.pooled.laws import Laws, Level, Names
from shared.estimation.pooled.maxent import product, slopes
from shared.estimation.tables.pooled import PooledTable
from shared.marginals.counts import Reports, Tensor
from shared.plan import Plan
from shared.progress import Tick, unstopped


class PooledTables:
    """Tables of reports of few variables at a time, in counts; see `Laws`."""

    def __init__(
        self,
        sources: Sequence[tuple[Reports, Plan]],
        domain: Domain,
        order: int = 2,
        tick: Tick = unstopped,
    ):
        self._domain, self._order, self._tick = domain, order, tick
        self._sources = tuple(sources)
        self._laws = Laws(sources, domain, order, tick)
        self._tables: dict[Names, PooledTable] = {}

    @functools.cached_property
    def records(self) -> int:
        """The number of records."""
        return sum(reports.records for reports, _ in self._sources)

    def table(self, domain: Domain) -> PooledTable:
        """Return the table over some variables.

        Raises:
            EstimationError: no record reports one of them.
            LimitExceeded: they have more than `INFORMATION_CELLS` cells.
        """
        self._require_small(domain)
        names = tuple(sorted(domain.names, key=self._domain.axis))
        if names not in self._tables:
            self._tick()
            self._tables[names] = self._made(names)
        return _turned(self._tables[names], domain)

    def _require_small(self, domain: Domain) -> None:
        if domain.size > INFORMATION_CELLS:
            raise LimitExceeded(
                f"A table of {domain.size} cells is too large; at most {INFORMATION_CELLS} are"
                " estimated from overlapping sets.",
                remedy="Ask for fewer variables at once, or for each pair of them.",
            )

    def unbiased(self, domain: Domain) -> PooledTable | None:
        """Return the table before shrinkage; None where no record reports all its variables."""
        names = tuple(sorted(domain.names, key=self._domain.axis))
        if len(names) > max(self._order, 1) or not self._is_told(names):
            return None
        return self.table(domain).unshrunk

    def independence(
        self, left: Sequence[str], right: Sequence[str], given: Sequence[str]
    ) -> PooledIndependence:
        """Return the evidence on the independence of some variables given others.

        Raises:
            EstimationError: no record reports one of them.
            LimitExceeded: their table has more than `INFORMATION_CELLS` cells.
        """
        names = tuple(sorted((*left, *right, *given), key=self._domain.axis))
        self._require_small(self._domain.project(names))
        self._tick()
        parts = self._laws.parts(names)
        crossing = [p for p in parts if set(p) & set(left) and set(p) & set(right)]
        if not crossing:
            return PooledIndependence(np.zeros(0), np.zeros((0, 0)))
        rest = [part for part in parts if part not in crossing]
        root, moved = self._parameters(names, [*rest, *crossing])
        null = self._laws.entropic(names, rest)
        functions = [self._functions(names, part) for part in crossing]
        tested = np.hstack(functions)
        others = [self._functions(names, (name,)) for name in names]
        others += [self._functions(names, part) for part in rest]
        follow = tested.T @ slopes(null, np.hstack(others))
        known = follow.shape[1]
        told = np.concatenate(
            [self._functions(part, part).T @ self._laws.law(part) for part in crossing]
        )
        # Before shrinkage, both what is told and what is predicted.
        difference = told - moved[known:] - (null @ tested - follow @ moved[:known])
        return PooledIndependence(difference, root[known:] - follow @ root[:known])

    def _is_told(self, names: Names) -> bool:
        return len(names) == 1 or self._laws.level(names) is not None

    def _made(self, names: Names) -> PooledTable:
        law = self._laws.law(names)
        parts = self._laws.parts(names) if len(names) > 1 else []
        functions = [self._functions(names, (name,)) for name in names]
        functions += [self._functions(names, part) for part in parts]
        turned = slopes(law, np.hstack(functions))
        root, moved = self._parameters(names, parts)
        domain = self._domain.project(names)
        records = self.records
        return PooledTable(
            domain,
            records * law.reshape(domain.shape),
            records,
            root=records * (turned @ root).reshape(*domain.shape, -1),
            moved=records * (turned @ moved).reshape(domain.shape),
            told=len(names) == 1 or names in parts,
        )

    def _functions(self, names: Names, part: Names) -> Tensor:
        """Return the functions of a set's interaction, over the cells of more variables."""
        factors = [
            self._laws.single(name).functions
            if name in part
            else np.ones((self._domain[name].size, 1))
            for name in names
        ]
        return product(factors)

    def _parameters(self, names: Names, parts: Sequence[Names]) -> tuple[Tensor, Tensor]:
        """Return the error of all mean parameters, as a root, and how far shrinkage moved them.

        The parameters are the means of the functions of single variables and of each set's
        interaction. Their errors come from those of the variables' estimates, s, and of each set's
        y; a set's parameter is that of its estimate before shrinkage,

            X'(H t + (I - Q H) z) ,  z the table of largest entropy for what is told of its parts.
        """
        singles = [self._laws.single(name) for name in names]
        joint, places = self._joint(names, parts)
        root = _root(joint)
        made: dict[Names, tuple[Tensor, Tensor]] = {}
        for name, single in zip(names, singles, strict=True):
            off = single.functions.T @ (single.law - single.told.shares)
            made[name,] = (single.functions.T @ root[places[name,]], off)
        for part in parts:
            level = self._laws.told(part)
            lower: list[Names] = [(name,) for name in part]
            lower += [p for p in parts if set(p) < set(part)]
            turned = slopes(level.base, np.hstack([self._functions(part, p) for p in lower]))
            carried = (level.functions.T - level.taken) @ turned
            errors = np.vstack([made[p][0] for p in lower])
            offs = np.concatenate([made[p][1] for p in lower])
            mean = level.taken @ level.told.shares
            mean = mean + (level.functions.T - level.taken) @ (level.base - turned @ offs)
            off = level.functions.T @ self._laws.law(part) - mean
            made[part] = (root[places[part]] + carried @ errors, off)
        order: list[Names] = [*((name,) for name in names), *parts]
        return (
            np.vstack([made[part][0] for part in order]),
            np.concatenate([made[part][1] for part in order]),
        )

    def _joint(self, names: Names, parts: Sequence[Names]) -> tuple[Tensor, dict[Names, slice]]:
        """Return the covariance of all variables' estimates and all sets' y, and their places."""
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
            level, law = self._laws.told(part), self._laws.law(part)
            noise = level.told.covariance(law)
            joint[places[part], places[part]] = level.taken @ noise @ level.taken.T
            self._crossed(joint, places, part, level, law)
        return joint, places

    def _crossed(
        self, joint: Tensor, places: dict[Names, slice], part: Names, level: Level, law: Tensor
    ) -> None:
        """Add what the same records make of a set's variables and of its interaction."""
        sums = [
            _margin_sums([self._domain[n].size for n in part], axis) for axis in range(len(part))
        ]
        each = [self._laws.single(name).per_record for name in part]
        for weight, reading in zip(level.told.weights, level.told.readings, strict=True):
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
    """Return the matrix that sums cells to one axis."""
    factors = [np.eye(s) if a == axis else np.ones((1, s)) for a, s in enumerate(shape)]
    return product(factors)


def _root(covariance: Tensor) -> Tensor:
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)), dtype=np.float64)


def _turned(table: PooledTable, domain: Domain) -> PooledTable:
    """Return the table with its axes in a domain's order."""
    if table.domain.names == domain.names:
        return table
    order = [table.domain.axis(name) for name in domain.names]
    return PooledTable(
        domain,
        table.counts.transpose(order),
        table.records,
        root=table.root.transpose([*order, len(order)]),
        moved=table.moved.transpose(order),
        told=table.told,
    )
