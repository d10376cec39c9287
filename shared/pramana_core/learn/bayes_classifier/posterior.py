"""The posterior of the class in a network whose every node depends on it, missing values summed
out.

Variable elimination over the missing attributes alone, for all records of one pattern of missing
cells at once: an observed attribute is an index into its table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import logsumexp

from pramana_core.domain import Domain, Variable
from pramana_core.learn.common.record_columns import record_columns_or_missing
from pramana_core.learn.networks.network import BayesNet
from pramana_core.marginals.counts import Codes, Tensor

_AT_ONCE = 1 << 15
"""Records whose scores are added up together."""

_SUMMED_AT_ONCE = 1 << 20
"""The most numbers of one factor while missing values are summed out."""

_LEAST = 1e-300
"""What stands for a probability of 0, which has no logarithm."""

_Factor = tuple[Tensor, tuple[str, ...]]
"""Logarithms for each record, class and category of some missing attributes."""


@dataclass(frozen=True, eq=False)
class LogPosterior:
    """Scores classes by records; `network` is over the inputs and the class, its one root."""

    network: BayesNet
    inputs: Domain
    target: Variable
    weight: float = 1.0

    def scores(self, codes: Mapping[str, Codes]) -> Tensor:
        """Return ln P(class) + weight ln P(what is known of the record | class), (n, classes).

        Raises:
            UnknownVariable, DomainError: see `record_columns_or_missing`.
        """
        columns = dict(
            zip(self.inputs.names, record_columns_or_missing(self.inputs, codes), strict=True)
        )
        length = len(next(iter(columns.values())))
        scores = np.empty((length, self.target.size))
        for start in range(0, length, _AT_ONCE):
            part = {name: column[start : start + _AT_ONCE] for name, column in columns.items()}
            self._fill(scores[start : start + _AT_ONCE], part)
        if self.weight != 1:
            own = self._logs[self.target.name]
            scores = own + self.weight * (scores - own)
        return scores

    def _fill(self, scores: Tensor, columns: Mapping[str, Codes]) -> None:
        absent = np.stack([columns[v.name] == v.size for v in self.inputs], axis=1)
        if not absent.any():
            scores[...] = self._of_pattern(columns, frozenset())
            return
        patterns, pattern = np.unique(absent, axis=0, return_inverse=True)
        for number, row in enumerate(patterns):
            missing = frozenset(np.array(self.inputs.names, dtype=object)[row])
            places = np.flatnonzero(pattern.ravel() == number)
            for some in np.array_split(places, 1 + len(places) // self._most(missing)):
                scores[some] = self._of_pattern({n: c[some] for n, c in columns.items()}, missing)

    def _most(self, missing: frozenset[str]) -> int:
        """Return how many records can be summed together."""
        largest = max((self.inputs[name].size for name in missing), default=1)
        return max(1, _SUMMED_AT_ONCE // (self.target.size * largest**2))

    def _of_pattern(self, columns: Mapping[str, Codes], missing: frozenset[str]) -> Tensor:
        length = len(next(iter(columns.values())))
        scores = np.tile(self._logs[self.target.name], (length, 1))
        factors: list[_Factor] = []
        for name in self._needed(missing):
            scope = (*self.network.structure.parents[name][1:], name)
            known = [n for n in scope if n not in missing]
            left = tuple(n for n in scope if n in missing)
            if not left:
                scores += self._logs[name][tuple(columns[n] for n in known)]
                continue
            # The axes that stay are put last, so that the records' codes index the others.
            axes = [*map(scope.index, known), len(scope), *map(scope.index, left)]
            table = np.transpose(self._logs[name], axes)
            taken = table[tuple(columns[n] for n in known)] if known else table[None]
            factors.append((taken, left))
        for factor, _ in _eliminated(factors):
            scores += factor
        return scores

    def _needed(self, missing: frozenset[str]) -> list[str]:
        """Return the attributes that a posterior depends on: not those that sum to 1."""
        needed: list[str] = []
        asked: set[str] = set()
        for name in reversed(self.network.structure.order):
            if name != self.target.name and (name not in missing or name in asked):
                needed.append(name)
                asked.update(self.network.structure.parents[name])
        return needed

    @cached_property
    def _logs(self) -> dict[str, Tensor]:
        """The logarithms of the tables, the class last: an index of codes gives all classes."""
        tables = self.network.tables
        return {
            name: np.moveaxis(np.log(np.maximum(table, _LEAST)), 0, -1)
            for name, table in tables.items()
        }


def _eliminated(factors: Sequence[_Factor]) -> Iterator[_Factor]:
    """Yield the product of factors with all missing attributes summed out, part by part.

    All are logarithms: a missing attribute may have so many children that their product is too
    small for a number.
    """
    left = list(factors)
    while names := sorted({name for _, scope in left for name in scope}):
        scopes = [set(scope) for _, scope in left]
        name = min(names, key=lambda n: len(set().union(*(s for s in scopes if n in s))))
        met = [factor for factor in left if name in factor[1]]
        left = [factor for factor in left if name not in factor[1]]
        kept = tuple(sorted({n for _, scope in met for n in scope} - {name}))
        product = sum(_spread(factor, (*kept, name)) for factor in met)
        left.append((logsumexp(product, axis=-1), kept))
    yield from left


def _spread(factor: _Factor, names: tuple[str, ...]) -> Tensor:
    """Return a factor with an axis for each name, of length 1 for those it does not depend on."""
    table, scope = factor
    ordered = np.transpose(table, [0, 1, *(2 + scope.index(n) for n in names if n in scope)])
    return np.expand_dims(ordered, tuple(2 + i for i, n in enumerate(names) if n not in scope))
