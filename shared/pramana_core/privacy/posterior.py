"""Beliefs and guesses of an attacker who gives all categories equal prior probability.

`gamma` bounds beliefs for every prior; the results here are exact for equal priors. Reports of
probability zero do not count. The reports of a channel form kinds that reveal equally much.
`report_kinds` lists the kinds without the channel's matrix: a mixture has one kind, and a grouped
or sampled channel has the kinds of its parts. Only a channel without structure has one kind for
each column of P.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import singledispatch

import numpy as np

from pramana_core.channels import (
    RESOLUTION,
    Coordinated,
    Grouped,
    RandomSymmetric,
    Sampled,
    SubsetSelection,
    Transition,
)
from pramana_core.errors import LimitExceeded, OptionError
from pramana_core.marginals.counts import Tensor
from pramana_core.privacy.gamma import (
    Part,
    listed_matrix,
    parts_of,
    require_belief,
)

_CELLS = 1 << 1000
"""The maximum number of true categories whose equal share is representable as a float."""


@dataclass(frozen=True, eq=False)
class ReportKind:
    """A set of reports that reveal equally much.

    A report is of this kind with probability `share`. After such a report, `times[i]` categories
    have the posterior `posteriors[i]`, and all others have probability zero.
    """

    share: float
    posteriors: Tensor
    times: tuple[int, ...]

    def within(self, share: float, cells: int = 1) -> ReportKind:
        """Return this kind as part of a larger channel, with a `share` of that channel's reports.

        Each category is divided into `cells` equally likely cells of the larger channel.
        """
        times = tuple(cells * times for times in self.times)
        return ReportKind(self.share * share, self.posteriors / cells, times)


@singledispatch
def report_kinds(channel: Part) -> tuple[ReportKind, ...]:
    """Return the kinds of a channel's possible reports under equal priors.

    Raises:
        LimitExceeded: the channel has too many categories and no closed form.
    """
    size = channel.shape[0]
    if channel.exact_mixture is not None:
        posteriors = np.array([float(value) for value in channel.exact_mixture])
        return (ReportKind(1.0, posteriors, (1, size - 1)),)
    matrix = listed_matrix(channel)
    totals = matrix.sum(axis=0)
    ones = (1,) * size
    return tuple(
        ReportKind(float(total) / size, column / total, ones)
        for column, total in zip(matrix.T, totals, strict=True)
        if total > 0
    )


@report_kinds.register
def _(channel: Grouped) -> tuple[ReportKind, ...]:
    alone = (ReportKind(1.0, np.ones(1), (1,)),)
    return tuple(
        kind.within(len(members) / channel.shape[0])
        for members, part in zip(channel.groups, channel.channels, strict=True)
        for kind in (alone if part is None else report_kinds(part))
    )


@report_kinds.register
def _(channel: SubsetSelection) -> tuple[ReportKind, ...]:
    times = (channel.chosen, channel.size - channel.chosen)
    return (ReportKind(1.0, np.array(channel.likelihoods), times),)


@report_kinds.register
def _(channel: Sampled) -> tuple[ReportKind, ...]:
    size = math.prod(channel.sizes)
    if size > _CELLS:
        raise LimitExceeded(
            f"A record of {len(channel.sizes)} variables has too many cells to give each a"
            " posterior.",
            where="channel",
            remedy="Request gamma and the bounds that follow from it, or fewer variables.",
        )
    parts = parts_of(channel)
    known = {part: report_kinds(part) for part in {part for _, _, part in parts}}
    found = [
        kind.within(weight / RESOLUTION, size // part.shape[0])
        for _, weight, part in parts
        for kind in known[part]
    ]
    if channel.silent:
        found.append(ReportKind(channel.silent / RESOLUTION, np.array([1 / size]), (size,)))
    return tuple(found)


@dataclass(frozen=True)
class AttackerAccuracy:
    """The probability that the best guess of the true category is right.

    `blind` is the probability without a report, `expected` the mean over reports, and `worst` the
    probability after the most revealing report.
    """

    blind: float
    expected: float
    worst: float


@dataclass(frozen=True)
class KAnonymity:
    """Ma's pair (K_p, Dist_K), and the divergence of the least protected report.

    `categories` is K_p. The divergence of a report, in bits, is that of the posterior from the
    uniform distribution over the plausible categories. `least_divergence` is the smallest over all
    reports (Dist_K), and `worst_divergence` the largest. log2 K_p bits would mean certainty.
    """

    categories: int
    least_divergence: float
    worst_divergence: float


def conditional_entropy(channel: Transition) -> float:
    """Return H(X | X~) in bits: the entropy of the true category given the report (Ma 3.1.1).

    Two to the power of this entropy is the average conditional privacy of Agrawal and Aggarwal.
    Since it is an average, single reports may still reveal everything.

    Raises:
        LimitExceeded: the channel has too many categories and no closed form.
    """
    return math.fsum(
        -kind.share * float(_log2_terms(kind.posteriors) @ np.array(kind.times, dtype=np.float64))
        for kind in report_kinds(channel)
    )


def attacker_accuracy(channel: Transition) -> AttackerAccuracy:
    """Return how often the Bayes guess, the category with the largest posterior, is right.

    Raises:
        LimitExceeded: the channel has too many categories and no closed form.
    """
    kinds = report_kinds(channel)
    largest = [float(kind.posteriors.max()) for kind in kinds]
    expected = math.fsum(kind.share * most for kind, most in zip(kinds, largest, strict=True))
    return AttackerAccuracy(1 / channel.shape[0], expected, max(largest))


def worst_posterior(channel: Transition) -> Tensor:
    """Return the largest posterior that any report gives each of K true categories, shape (K,).

    Raises:
        LimitExceeded: there are too many categories and reports.
    """
    matrices = [listed_matrix(part) for part in _by_choice(channel)]
    columns = [matrix / np.where(seen := matrix.sum(axis=0), seen, 1.0) for matrix in matrices]
    worst = np.max([column.max(axis=1) for column in columns], axis=0)
    silent = isinstance(channel, Coordinated) and channel.silent
    return np.maximum(worst, 1 / channel.shape[0]) if silent else np.asarray(worst)


def _by_choice(channel: Transition) -> list[Transition]:
    if not isinstance(channel, Coordinated):
        return [channel]
    return [
        Sampled(channel.sizes, (replace(choice, weight=RESOLUTION),)) for choice in channel.choices
    ]


def k_anonymity(channel: Transition, threshold: float = 0.0) -> KAnonymity:
    """Return the probabilistic K-anonymity of a channel (Ma 3.1.3).

    A category is plausible after a report if its posterior is above `threshold`. Ma's definition
    uses 0; Ma 8 (b) requires more. Posteriors are rescaled to the plausible categories before the
    comparison with the uniform distribution.

    Raises:
        OptionError: `threshold` is not in [0, 1), or no category is plausible after some report.
        LimitExceeded: the channel has too many categories and no closed form.
    """
    if not 0 <= threshold < 1:
        raise OptionError(
            f"threshold must be at least 0 and below 1, not {threshold}.",
            where="threshold",
            remedy="Give a small probability, such as 0.01; 0 counts every possible category.",
        )
    found = [_plausible(kind, threshold) for kind in report_kinds(channel)]
    counts, divergences = zip(*found, strict=True)
    if min(counts) == 0:
        raise OptionError(
            f"For at least one report, no category has a posterior above {threshold}.",
            where="threshold",
            remedy="Lower the threshold: it must be below the largest posterior of each report.",
        )
    return KAnonymity(min(counts), min(divergences), max(divergences))


def _plausible(kind: ReportKind, threshold: float) -> tuple[int, float]:
    """Return the number of plausible categories and their divergence from uniform in bits."""
    kept = np.flatnonzero(kind.posteriors > threshold)
    times = [kind.times[place] for place in kept]
    count = sum(times)
    if not count:
        return 0, 0.0
    posteriors, repeated = kind.posteriors[kept], np.array(times, dtype=np.float64)
    mass, logs = float(posteriors @ repeated), float(_log2_terms(posteriors) @ repeated)
    return count, max(math.log2(count) + logs / mass - math.log2(mass), 0.0)


def _log2_terms(values: Tensor) -> Tensor:
    """Return v log2 v for each entry; 0 log 0 is 0."""
    logs = np.log2(values, out=np.zeros(values.shape), where=values > 0)
    return np.asarray(values * logs, dtype=np.float64)


def posterior_range(channel: RandomSymmetric, prior_of_property: float) -> tuple[float, float]:
    """Return the smallest and the largest posterior of a property under RAN-GD (FRAPP 4.1).

    A record's matrix is secret, so its worst-case posterior may lie anywhere in this range. If the
    matrix has gamma x + r on the diagonal and x - r / (n - 1) elsewhere, and P is the prior of the
    property, the posterior is

        rho_2(r) = P (gamma x + r) / (P (gamma x + r) + (1 - P) (x - r / (n - 1)))

    The range is from rho_2(-alpha) to rho_2(alpha). (FRAPP's numerator, P gamma x + r, lacks the
    parentheses.)

    Raises:
        OptionError: `prior_of_property` is not strictly between 0 and 1.
    """
    require_belief(prior_of_property, "prior_of_property")
    low, high = (
        prior_of_property * keep / (prior_of_property * keep + (1 - prior_of_property) * off)
        for off in (channel.off_units + s for s in (channel.spread_units, -channel.spread_units))
        for keep in [RESOLUTION - (channel.size - 1) * off]
    )
    return low, high
