"""Channels without structure: walk the columns of P, a part at a time.

Also here:

* What each structure of a channel must answer so that every measure works at any size.
* Priors of an attacker, checked once, and the entropy of a distribution.
* Channels made of channels: groups of categories, and categories that cannot occur.
* Channels that keep the truth with one probability or report each other one with another.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Protocol, cast

import numpy as np
import numpy.typing as npt

from pramana_core.channels import LISTED_ENTRIES, require_prior
from pramana_core.errors import LimitExceeded, OptionError
from pramana_core.marginals.counts import Tensor

# What each structure of a channel must answer so that every measure works at any size.
#
# A measure asks a `ChannelStructure` and never a matrix: a mixture answers in closed form, a
# grouped or sampled channel asks its parts, and only a channel without structure walks its columns.
#
# Throughout, a prior is an array of shape (size,) that sums to 1, or None for the uniform one over
# the possible truths. Only reports that can occur under the prior count. An array over the truths
# may have shape (1,) where all its entries are equal, so that 10^12 cells cost nothing.


@dataclass(frozen=True)
class PlausibleTruths:
    """How many truths stay plausible after a report, and how evenly (Ma 3.1.3).

    `fewest` is the smallest number over the reports; `least` and `most` are the smallest and the
    largest divergence, in bits, of a report's posterior from the uniform distribution over the
    truths it leaves plausible.
    """

    fewest: int
    least: float
    most: float

    @staticmethod
    def of_sums(count: npt.NDArray[np.int64], mass: Tensor, logs: Tensor) -> PlausibleTruths:
        """Return the extremes over reports from sums over the truths each leaves plausible.

        Per report: their number, and the sums of w and of w log2 w, w proportional to the
        posterior. The divergence from the uniform is log2 count + logs / mass - log2 mass. A
        report that leaves none counts as 0 truths and no divergence.
        """
        some = (count > 0) & (mass > 0)
        safe = np.where(some, mass, 1.0)
        bits = np.log2(np.where(some, count, 1)) + logs / safe - np.log2(safe)
        bits = np.where(some, np.maximum(bits, 0.0), 0.0)
        return PlausibleTruths(
            int(np.where(some, count, 0).min()), float(bits.min()), float(bits.max())
        )

    @staticmethod
    def over(parts: list[PlausibleTruths]) -> PlausibleTruths:
        """Return the extremes over several sets of reports."""
        return PlausibleTruths(
            min(p.fewest for p in parts), min(p.least for p in parts), max(p.most for p in parts)
        )


class ChannelStructure(ABC):
    """A channel as seen by someone who knows the prior and sees the report."""

    @property
    @abstractmethod
    def size(self) -> int:
        """K, the number of true categories, the impossible ones included."""

    @property
    @abstractmethod
    def gamma(self) -> float:
        """The largest ratio of two entries of a column of P over the possible truths."""

    @abstractmethod
    def information(self, prior: Tensor | None) -> float:
        """Return the mutual information of truth and report, in bits."""

    @abstractmethod
    def extremes(self, prior: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return each truth's smallest and largest posterior over the reports."""

    @abstractmethod
    def bayes_mass(self, weights: Tensor | None) -> float:
        """Return the sum over reports m of max_k weights[k] P[k, m]; weights need not sum to 1."""

    @abstractmethod
    def plausible(self, prior: Tensor | None, threshold: float) -> PlausibleTruths:
        """Return how many truths have a posterior above `threshold`, and how evenly."""

    def uniform(self) -> Tensor:
        """Return the prior that None stands for; impossible truths have 0."""
        return np.array([1 / self.size])


# Priors of an attacker, checked once, and the entropy of a distribution.


def checked_prior(prior: npt.ArrayLike | None, size: int) -> Tensor | None:
    """Return a prior as an array of shape (size,) that sums to 1, or None for the uniform one.

    Raises:
        OptionError: not `size` finite nonnegative numbers that sum to 1 within 1e-9.
    """
    if prior is None:
        return None
    weights = require_prior(cast("Sequence[float]", prior), size)
    exact: Tensor = weights / weights.sum()
    return exact


def entropy(probabilities: Tensor) -> float:
    """Return -sum p log2 p in bits over all entries; 0 log 0 is 0."""
    return -float(log2_terms(probabilities).sum())


def log2_terms(values: Tensor) -> Tensor:
    """Return v log2 v for each entry; 0 log 0 is 0."""
    logs = np.log2(values, out=np.zeros(np.shape(values)), where=np.asarray(values) > 0)
    terms: Tensor = np.asarray(values * logs, dtype=np.float64)
    return terms


def require_belief(probability: float, where: str) -> None:
    """Raise OptionError unless a probability is strictly between 0 and 1."""
    if not 0 < probability < 1:
        raise OptionError(
            f"A {where.replace('_', ' ')} of {probability} is not between 0 and 1.",
            where=where,
            remedy="Give a probability above 0 and below 1.",
        )


def require_possible(prior: Tensor, possible: npt.NDArray[np.bool_]) -> None:
    """Raise OptionError if a prior gives weight to a truth that is not possible."""
    if np.any(prior[~possible]):
        raise OptionError(
            "The prior gives weight to categories that are declared impossible.",
            where="prior",
            remedy="Set them to 0 and divide by the sum.",
        )


_CHUNK_CELLS = 1 << 20


class Listable(Protocol):
    """What can list its K x L matrix: every channel, if it is small."""

    @property
    def shape(self) -> tuple[int, int]:
        """(K, L)."""

    def matrix(self) -> Tensor:
        """Return the matrix of probabilities."""


@dataclass(frozen=True, eq=False)
class ColumnsStructure(ChannelStructure):
    """Any channel, by the columns of its matrix.

    Every method raises LimitExceeded above `LISTED_ENTRIES` entries, before anything is made;
    only gamma does not where the family knows its own.
    """

    channel: Listable
    known_gamma: float | None = None

    @property
    def size(self) -> int:
        return self.channel.shape[0]

    @cached_property
    def gamma(self) -> float:
        if self.known_gamma is not None:
            return self.known_gamma
        worst = 1.0
        for part in self._columns():
            possible = part[:, part.max(axis=0) > 0]
            high, low = possible.max(axis=0), possible.min(axis=0)
            if np.any(low == 0):
                return math.inf
            worst = max(worst, float((high / low).max(initial=1.0)))
        return worst

    def information(self, prior: Tensor | None) -> float:
        given = self._explicit(prior)
        known = sum(float(given @ log2_terms(part).sum(axis=1)) for part in self._columns())
        return sum(entropy(given @ part) for part in self._columns()) + known

    def extremes(self, prior: Tensor | None) -> tuple[Tensor, Tensor]:
        low, high = np.ones(self.size), np.zeros(self.size)
        for posterior in self._posteriors(self._explicit(prior)):
            low = np.minimum(low, posterior.min(axis=1, initial=1.0))
            high = np.maximum(high, posterior.max(axis=1, initial=0.0))
        return low, high

    def bayes_mass(self, weights: Tensor | None) -> float:
        given = self._explicit(weights)[:, None]
        return sum(float((given * part).max(axis=0).sum()) for part in self._columns())

    def plausible(self, prior: Tensor | None, threshold: float) -> PlausibleTruths:
        parts = [
            _plausible(posterior, threshold)
            for posterior in self._posteriors(self._explicit(prior))
            if posterior.size
        ]
        return PlausibleTruths.over(parts)

    def _explicit(self, prior: Tensor | None) -> Tensor:
        self._require_listable()
        return np.full(self.size, 1 / self.size) if prior is None else prior

    def _columns(self) -> Iterator[Tensor]:
        self._require_listable()
        matrix = self.channel.matrix()
        width = max(1, _CHUNK_CELLS // len(matrix))
        for start in range(0, matrix.shape[1], width):
            yield matrix[:, start : start + width]

    def _posteriors(self, prior: Tensor) -> Iterator[Tensor]:
        """Yield the posteriors given each report that can occur: truths by reports."""
        for part in self._columns():
            joint = prior[:, None] * part
            total = joint.sum(axis=0)
            yield joint[:, total > 0] / total[total > 0]

    def _require_listable(self) -> None:
        true, reported = self.channel.shape
        if true * reported > LISTED_ENTRIES:
            raise LimitExceeded(
                f"What a {true} x {reported} channel without closed form reveals would need its"
                f" whole matrix; at most {LISTED_ENTRIES} entries are listed.",
                where="channel",
                remedy="Use a symmetric, mixture or grouped channel, randomize fewer variables"
                " together, or ask with the uniform prior.",
            )


def _plausible(posterior: Tensor, threshold: float) -> PlausibleTruths:
    kept = np.where(posterior > threshold, posterior, 0.0)
    count = np.count_nonzero(kept, axis=0)
    return PlausibleTruths.of_sums(count, kept.sum(axis=0), log2_terms(kept).sum(axis=0))


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
