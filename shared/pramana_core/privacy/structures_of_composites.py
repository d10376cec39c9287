"""Channels made of channels: groups of categories, and categories that cannot occur.

Also here:

* Channels that keep the truth with one probability or report each other one with another.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from pramana_core.marginals.counts import Tensor
from pramana_core.privacy.structures_of_columns import (
    ChannelStructure,
    PlausibleTruths,
    entropy,
    log2_terms,
    require_possible,
)

Codes = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class GroupedStructure(ChannelStructure):
    """A block-diagonal channel: the report tells the group, and a part hides within it.

    `members[g]` are the categories of group g in the order its part takes them.
    """

    members: tuple[Codes, ...]
    parts: tuple[ChannelStructure, ...]

    @cached_property
    def size(self) -> int:
        return sum(len(codes) for codes in self.members)

    @cached_property
    def gamma(self) -> float:
        return self.parts[0].gamma if len(self.parts) == 1 else math.inf

    def information(self, prior: Tensor | None) -> float:
        shares, within = self._divide(prior)
        inside = sum(
            share * part.information(p)
            for share, part, p in zip(shares, self.parts, within, strict=True)
            if share > 0
        )
        return entropy(np.array(shares)) + inside

    def extremes(self, prior: Tensor | None) -> tuple[Tensor, Tensor]:
        shares, within = self._divide(prior)
        low, high = np.zeros(self.size), np.zeros(self.size)
        alone = np.count_nonzero(shares) == 1
        for share, codes, part, p in zip(shares, self.members, self.parts, within, strict=True):
            if share > 0:
                least, high[codes] = part.extremes(p)
                if alone:
                    # Otherwise the report of another group rules these categories out.
                    low[codes] = least
        return low, high

    def bayes_mass(self, weights: Tensor | None) -> float:
        given = self.uniform() if weights is None else weights
        pairs = zip(self.members, self.parts, strict=True)
        return sum(part.bayes_mass(given[codes]) for codes, part in pairs)

    def plausible(self, prior: Tensor | None, threshold: float) -> PlausibleTruths:
        shares, within = self._divide(prior)
        parts = zip(shares, self.parts, within, strict=True)
        return PlausibleTruths.over([part.plausible(p, threshold) for s, part, p in parts if s > 0])

    def uniform(self) -> Tensor:
        possible = np.zeros(self.size)
        for codes, part in zip(self.members, self.parts, strict=True):
            possible[codes] = part.uniform() > 0
        uniform: Tensor = possible / possible.sum()
        return uniform

    def _divide(self, prior: Tensor | None) -> tuple[list[float], list[Tensor | None]]:
        """Return the probability of each group and the prior within each."""
        given = self.uniform() if prior is None else prior
        shares = [float(given[codes].sum()) for codes in self.members]
        if prior is None:
            return shares, [None] * len(shares)
        pairs = zip(self.members, shares, strict=True)
        return shares, [prior[codes] / share if share else None for codes, share in pairs]


@dataclass(frozen=True)
class RevealedStructure(ChannelStructure):
    """One category alone, as in a group of one: once that is known nothing is left to hide."""

    @property
    def size(self) -> int:
        return 1

    @property
    def gamma(self) -> float:
        return 1.0

    def information(self, prior: Tensor | None) -> float:  # noqa: ARG002 - the interface's
        return 0.0

    def extremes(self, prior: Tensor | None) -> tuple[Tensor, Tensor]:  # noqa: ARG002
        return np.ones(1), np.ones(1)

    def bayes_mass(self, weights: Tensor | None) -> float:
        return 1.0 if weights is None else float(weights[0])

    def plausible(self, prior: Tensor | None, threshold: float) -> PlausibleTruths:  # noqa: ARG002
        return PlausibleTruths(int(threshold < 1), 0.0, 0.0)


@dataclass(frozen=True, eq=False)
class PossibleStructure(ChannelStructure):
    """A channel over some of the categories; the others never occur, as truth or as report.

    Raises:
        OptionError: from each method, if a prior gives weight to an impossible category.
    """

    cells: int
    possible: Codes
    part: ChannelStructure

    @property
    def size(self) -> int:
        return self.cells

    @property
    def gamma(self) -> float:
        return self.part.gamma

    def information(self, prior: Tensor | None) -> float:
        return self.part.information(self._among(prior))

    def extremes(self, prior: Tensor | None) -> tuple[Tensor, Tensor]:
        low, high = np.zeros(self.cells), np.zeros(self.cells)
        low[self.possible], high[self.possible] = self.part.extremes(self._among(prior))
        return low, high

    def bayes_mass(self, weights: Tensor | None) -> float:
        return self.part.bayes_mass(self._among(weights))

    def plausible(self, prior: Tensor | None, threshold: float) -> PlausibleTruths:
        return self.part.plausible(self._among(prior), threshold)

    def uniform(self) -> Tensor:
        prior = np.zeros(self.cells)
        prior[self.possible] = self.part.uniform()
        return prior

    def _among(self, prior: Tensor | None) -> Tensor | None:
        if prior is None:
            return None
        can_be = np.zeros(self.cells, dtype=bool)
        can_be[self.possible] = True
        require_possible(prior, can_be)
        return prior[self.possible]


# Channels that keep the truth with one probability or report each other one with another.


@dataclass(frozen=True)
class MixtureStructure(ChannelStructure):
    """P = (keep - off) I + off 11' over `cells` categories: all is known from two numbers.

    Identity, Symmetric and FRAPP's gamma-diagonal matrix have this form. So has, for what it
    reveals, a variable that is withheld: keep = off.
    """

    cells: int
    keep: Fraction
    off: Fraction

    @property
    def size(self) -> int:
        return self.cells

    @property
    def gamma(self) -> float:
        low, high = sorted((self.keep, self.off))
        return float(high / low) if low else math.inf

    @property
    def _spread(self) -> float:
        return float(self.keep - self.off)

    @property
    def _row_entropy(self) -> float:
        terms = log2_terms(np.array([float(self.keep), float(self.off)]))
        return -float(terms[0] + (self.cells - 1) * terms[1])

    def information(self, prior: Tensor | None) -> float:
        if prior is None:
            return math.log2(self.cells) - self._row_entropy
        return entropy(self._reports(prior)) - self._row_entropy

    def extremes(self, prior: Tensor | None) -> tuple[Tensor, Tensor]:
        keep, off = float(self.keep), float(self.off)
        if prior is None:
            return np.array([min(keep, off)]), np.array([max(keep, off)])
        reports = self._reports(prior)
        occurs = reports > 0
        own = np.divide(keep * prior, reports, out=np.zeros_like(prior), where=occurs)
        if off == 0:
            elsewhere = occurs.sum() - occurs > 0
            return np.where(elsewhere, 0.0, own), own
        # The report of another category says the more about k the rarer that report is.
        rarest = off * prior / _best_other(np.where(occurs, reports, np.inf), np.minimum)
        largest = _best_other(np.where(occurs, reports, 0.0), np.maximum)
        commonest = np.divide(
            off * prior, largest, out=np.full_like(prior, np.inf), where=largest > 0
        )
        return np.minimum(np.where(occurs, own, np.inf), commonest), np.maximum(own, rarest)

    def bayes_mass(self, weights: Tensor | None) -> float:
        keep, off = float(self.keep), float(self.off)
        if weights is None:
            return max(keep, off)
        return float(np.maximum(keep * weights, off * _best_other(weights, np.maximum)).sum())

    def plausible(self, prior: Tensor | None, threshold: float) -> PlausibleTruths:
        if prior is None:
            return self._plausible_uniformly(threshold)
        reports = self._reports(prior)
        occurs = reports > 0
        p, total = prior[occurs], reports[occurs]
        keep, off = float(self.keep), float(self.off)
        ordered = np.sort(prior)
        # Of the other categories those above this prior stay plausible: a tail of the sorted ones.
        cut = threshold * total / off if off else np.full_like(p, np.inf)
        first = np.searchsorted(ordered, cut, side="right")
        count = len(ordered) - first - (p > cut)
        mass = off * (_tail(ordered)[first] - np.where(p > cut, p, 0.0))
        logs = _tail(log2_terms(off * ordered))[first]
        logs = logs - np.where(p > cut, log2_terms(off * p), 0.0)
        own = keep * p
        stays = own > threshold * total
        return PlausibleTruths.of_sums(
            count + stays,
            np.where(count > 0, mass, 0.0) + np.where(stays, own, 0.0),
            np.where(count > 0, logs, 0.0) + np.where(stays, log2_terms(own), 0.0),
        )

    def _plausible_uniformly(self, threshold: float) -> PlausibleTruths:
        posterior = np.array([float(self.keep), float(self.off)])
        stays = posterior > threshold
        times = np.where(stays, [1, self.cells - 1], 0)
        count = int(times[0]) + int(times[1])
        return PlausibleTruths.of_sums(
            np.array([count]),
            np.array([float(times @ posterior)]),
            np.array([float(times @ log2_terms(posterior))]),
        )

    def _reports(self, prior: Tensor) -> Tensor:
        """Return the probability of each report."""
        reports: Tensor = np.maximum(float(self.off) + self._spread * prior, 0.0)
        return reports


def _best_other(values: Tensor, best: np.ufunc) -> Tensor:
    """Return for each entry the best (np.minimum or np.maximum) of all the other entries."""
    first = int(np.argmin(values) if best is np.minimum else np.argmax(values))
    others = np.delete(values, first)
    result = np.full(values.shape, values[first])
    result[first] = best.reduce(others)
    return result


def _tail(ordered: Tensor) -> Tensor:
    """Return the sums from each entry to the last, and a 0 behind them."""
    return np.append(np.cumsum(ordered[::-1])[::-1], 0.0)
