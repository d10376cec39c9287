"""Scores of links: the gain of making one variable a parent of another.

The default score is the log-likelihood ratio of the reports minus (log N)/2 per parameter. Plain
scores treat estimated counts as true counts (Ma 5.5.1), with thresholds eta and C* (5.5.2).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.special import gammaln, xlogy

from pramana_core.errors import LimitExceeded
from pramana_core.learn.common.distributions import project_to_simplex
from pramana_core.learn.common.options import Scoring
from pramana_core.learn.networks.gains import FixedGain, Gain
from pramana_core.marginals.counts import Independence, Marginals, Tensor

CONTEST_CELLS = 1 << 16
"""The maximum number of cells of a table that is used to compare two sets of parents."""

Parents = dict[str, frozenset[str]]
"""A structure: the set of parents of each variable."""


class Judge(Protocol):
    """An object that computes the gains of links by a score."""

    def gain(self, child: str, given: frozenset[str], parent: str) -> Gain:
        """Return the gain of adding `parent` to the parents `given` of `child`."""

    def exchange(self, child: str, given: frozenset[str], old: str, new: str) -> Gain | None:
        """Return the gain of replacing parent `old` by `new`, or None if one of the two links
        cannot be tested.
        """

    def better(self, first: Parents, second: Parents) -> float:
        """Return the gain of the first structure over the second in nats; -inf if unknown."""

    def resampled(
        self, child: str, given: frozenset[str], parent: str, draws: int, rng: np.random.Generator
    ) -> Tensor:
        """Return the gain in bootstrap samples of the records, shape (draws,)."""


def judge_of(marginals: Marginals, scoring: Scoring) -> Judge:
    """Return the object that computes the gains of links by this score from the given marginals."""
    if scoring.name == "likelihood":
        return LikelihoodJudge(marginals)
    return PlainJudge(marginals, scoring)


class _TestedGain:
    """The gain of a parent by a test of independence, with increasingly expensive bounds."""

    def __init__(self, test: Callable[[], Independence], penalty: float):
        self._test = test
        self._steps = 0
        self._saturated = 0.0
        self.penalty = penalty
        self.upper = math.inf
        self.lower = -penalty

    def sharpen(self) -> None:
        self._steps += 1
        if self._steps == 1:
            self.upper = self._test().upper - self.penalty
        elif self._steps == 2:
            self.upper = min(self.upper, self.near[1] - self.penalty)
        elif self._steps == 3:
            self.upper = min(self.upper, self.headroom - self.penalty)
        else:
            alternative = self._test().alternative_log_likelihood
            ratio = max(0.0, alternative - self._saturated + self.headroom)
            self.upper = self.lower = ratio - self.penalty

    @cached_property
    def near(self) -> tuple[float, float]:
        evidence = self._test()
        self._saturated = evidence.saturated
        least, most = evidence.null_bounds
        return self._saturated - most, self._saturated - least

    @cached_property
    def headroom(self) -> float:
        """The reports' log-likelihood under their own shares, minus that under independence."""
        least, most = self.near
        if least == most:
            return most
        return min(most, self._saturated - self._test().null_log_likelihood)


class _ExchangeGain:
    def __init__(self, added: _TestedGain, dropped: _TestedGain):
        self._added = added
        self._dropped = dropped
        self._penalty = added.penalty - dropped.penalty
        self._steps = 0
        self.upper = math.inf
        self.lower = -math.inf

    def sharpen(self) -> None:
        self._steps += 1
        if self._steps == 1:
            if self._added.upper == math.inf:
                self._added.sharpen()
            self.upper = self._added.upper + self._dropped.penalty
        elif self._steps == 2:
            self.upper = min(self.upper, self._added.near[1] - self._penalty)
        elif self._steps == 3:
            most = self._added.near[1] - self._dropped.near[0] - self._penalty
            self.upper = min(self.upper, most)
        else:
            self.upper = self._added.headroom - self._dropped.headroom - self._penalty
            self.lower = self.upper


@dataclass(frozen=True)
class LikelihoodJudge:
    """The default score: the likelihood of the reports with the penalty of the BIC.

    The gains of links come from separate tables and may contradict each other. Therefore two
    structures are compared on one table: the table of all variables (`Marginals.explanation`) if
    possible, otherwise the table of the variables whose parents differ, and of these parents.
    """

    marginals: Marginals
    _known: dict[tuple[frozenset[str], frozenset[str]], _TestedGain | FixedGain] = field(
        default_factory=dict
    )
    _explained: dict[frozenset[tuple[str, frozenset[str]]], float | None] = field(
        default_factory=dict
    )

    def gain(self, child: str, given: frozenset[str], parent: str) -> _TestedGain | FixedGain:
        """Return the gain of a parent (see `Judge.gain`). A reversed link has the same gain."""
        key = (frozenset((child, parent)), given)
        if key not in self._known:
            self._known[key] = self._make(child, given, parent)
        return self._known[key]

    def exchange(self, child: str, given: frozenset[str], old: str, new: str) -> Gain | None:
        """Return the gain of replacing a parent; see `Judge.exchange`."""
        added = self.gain(child, given, new)
        dropped = self.gain(child, given - {old} | {new}, old)
        if isinstance(added, FixedGain) or isinstance(dropped, FixedGain):
            return None
        return _ExchangeGain(added, dropped)

    def better(self, first: Parents, second: Parents) -> float:
        """Return the gain of one structure over another; see `Judge.better`."""
        if first == second:
            return 0.0
        changed = [node for node in first if first[node] != second[node]]
        concerned = {*changed}.union(*(first[node] | second[node] for node in changed))
        for nodes in (set(first), concerned):
            score, other = (self._explain(parents, nodes) for parents in (first, second))
            if score is not None and other is not None:
                return score - other
        return sum(self._contest(node, first[node], second[node]) for node in changed)

    def _contest(self, child: str, first: frozenset[str], second: frozenset[str]) -> float:
        """Return the gain of some parents over others; -inf if their table is too large."""
        domain = self.marginals.domain
        if domain.project([child, *(first | second)]).size > CONTEST_CELLS:
            return -math.inf
        worth = 0.0
        for sign, kept, dropped in ((1, second, first - second), (-1, first, second - first)):
            if dropped:
                try:
                    evidence = self.marginals.independence([child], sorted(dropped), sorted(kept))
                except LimitExceeded:
                    return -math.inf
                penalty = math.log(self.marginals.records) / 2 * evidence.degrees_of_freedom
                worth += sign * (evidence.ratio - penalty)
        return worth

    def _explain(self, parents: Parents, nodes: Collection[str]) -> float | None:
        within = {
            node: given.intersection(nodes) for node, given in parents.items() if node in nodes
        }
        key = frozenset(within.items())
        if key not in self._explained:
            explained = self.marginals.explanation(within)
            self._explained[key] = None
            if explained is not None:
                penalty = math.log(self.marginals.records) / 2 * explained.parameters
                self._explained[key] = explained.log_likelihood - penalty
        return self._explained[key]

    def resampled(
        self, child: str, given: frozenset[str], parent: str, draws: int, rng: np.random.Generator
    ) -> Tensor:
        """Return the gains in bootstrap samples; see `Judge.resampled`."""
        left, right = sorted((child, parent))
        evidence = self.marginals.independence([left], [right], sorted(given))
        return evidence.resampled(draws, rng) - self._penalty(child, given, parent)

    def _penalty(self, child: str, given: frozenset[str], parent: str) -> float:
        domain = self.marginals.domain
        configurations = math.prod(domain[name].size for name in given)
        degrees = (domain[child].size - 1) * (domain[parent].size - 1) * configurations
        return math.log(self.marginals.records) / 2 * degrees

    def _make(self, child: str, given: frozenset[str], parent: str) -> _TestedGain | FixedGain:
        penalty, domain = self._penalty(child, given, parent), self.marginals.domain
        left, right = sorted((child, parent))
        # The entropy of the smaller variable may be less than the penalty.
        most = self.marginals.records * math.log(min(domain[left].size, domain[right].size))
        if most <= penalty or not self.marginals.jointly_reported([left, right, *given]):
            return FixedGain(-penalty)
        return _TestedGain(
            lambda: self.marginals.independence([left], [right], sorted(given)), penalty
        )


@dataclass(frozen=True)
class PlainJudge:
    """Computes gains from estimated counts, made nonnegative and treated as true (Ma 5.5.1)."""

    marginals: Marginals
    scoring: Scoring
    _scores: dict[tuple[str, frozenset[str]], float] = field(default_factory=dict)

    def gain(self, child: str, given: frozenset[str], parent: str) -> Gain:
        """Return the gain of a parent; see `Judge.gain`."""
        old = self.score(child, given)
        return FixedGain(self.score(child, given | {parent}) - self.scoring.eta * old)

    def exchange(self, child: str, given: frozenset[str], old: str, new: str) -> Gain | None:
        """Return the gain of replacing a parent; see `Judge.exchange`."""
        return FixedGain(self.score(child, given - {old} | {new}) - self.score(child, given))

    def better(self, first: Parents, second: Parents) -> float:
        """Return the gain of one structure over another; see `Judge.better`. The larger of two sets
        of parents must have a score better by the margin of `Scoring.eta`."""
        changed = [child for child in first if first[child] != second[child]]
        return sum(self._better(child, first[child], second[child]) for child in changed)

    def _better(self, child: str, first: frozenset[str], second: frozenset[str]) -> float:
        if len(first) < len(second):
            return -self._better(child, second, first)
        demanded = self.scoring.eta if len(first) > len(second) else 1.0
        return self.score(child, first) - demanded * self.score(child, second)

    def score(self, child: str, parents: frozenset[str]) -> float:
        """Return the score of a child with its parents, in nats."""
        key = (child, parents)
        if key not in self._scores:
            table = self.marginals.marginal([*sorted(parents), child]).counts
            self._scores[key] = float(self._of(table[None])[0])
        return self._scores[key]

    def resampled(
        self, child: str, given: frozenset[str], parent: str, draws: int, rng: np.random.Generator
    ) -> Tensor:
        """Return the gains in bootstrap samples; see `Judge.resampled`."""
        names = [parent, *sorted(given), child]
        tables = self.marginals.marginal(names).resampled(draws, rng)
        return self._of(tables) - self.scoring.eta * self._of(tables.sum(axis=1))

    def _of(self, tables: Tensor) -> Tensor:
        counts = nonnegative(tables, self.marginals.records)
        rows = counts.reshape(len(counts), -1, counts.shape[-1])
        if self.scoring.name == "bic":
            parameters = rows.shape[1] * (rows.shape[2] - 1)
            penalty = self.scoring.c_star * math.log(self.marginals.records) / 2 * parameters
            return _log_likelihood(rows) - penalty
        alpha = self.scoring.alpha
        if self.scoring.name == "bdeu":
            alpha = self.scoring.equivalent_sample_size / (rows.shape[1] * rows.shape[2])
        return _dirichlet(rows, alpha)


def nonnegative(tables: Tensor, records: int) -> Tensor:
    """Return the nearest tables (Euclidean) with nonnegative counts whose sum is `records`."""
    flat = tables.reshape(len(tables), -1) / records
    shares = flat / flat.sum(axis=1, keepdims=True)
    projected = project_to_simplex(shares) if shares.min() < 0 else shares
    counts: Tensor = (projected * records).reshape(tables.shape)
    return counts


def _log_likelihood(rows: Tensor) -> Tensor:
    """Return sum N_ijk log(N_ijk / N_ij) of each table, (tables, configurations, categories)."""
    margins = rows.sum(axis=-1)
    value: Tensor = xlogy(rows, rows).sum(axis=(1, 2)) - xlogy(margins, margins).sum(axis=1)
    return value


def _dirichlet(rows: Tensor, alpha: float) -> Tensor:
    """Return each table's log marginal likelihood under a Dirichlet prior (Ma 5.5.1)."""
    size = rows.shape[-1]
    margins = rows.sum(axis=-1)
    of_rows = (gammaln(alpha * size) - gammaln(alpha * size + margins)).sum(axis=-1)
    of_cells = (gammaln(alpha + rows) - gammaln(alpha)).sum(axis=(1, 2))
    value: Tensor = of_rows + of_cells
    return value
