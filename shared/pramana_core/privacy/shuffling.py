"""The central bound: a record's loss to an attacker who cannot assign reports to records.

A release is a set of reports sorted by keyed pseudonyms. Without the linkage secret and the draw
keys, this order is a uniform permutation, so a report hides among the reports of the other records:
the shuffle model. Two tables of n records are neighbours if they differ in one record; n is public.
A bound is a central epsilon at a delta. Against attackers who can assign reports, only the local
bound (`Amplification`) holds. They are the owner, a peer, and a miner that colludes with an owner.

Releases count as follows:

* All reports under the same pseudonyms are one joint report of the record:
  `ShuffledReport.together`. Releasing the same draw again adds nothing; a new draw adds one. If a
  channel may depend on earlier reports, only the worst report with the same local loss is assumed.
* Releases under different linkage secrets are shuffled separately: their `CentralLoss` adds.
* An attacker who knows facts about a record, such as its public columns, owners or batch, searches
  only the records that share them: n is `smallest_group`. The records that changed between a
  release and its replacement are also a group. A withdrawn release counts, because it was seen.
* An attacker who knows in advance which set a record reports searches only the records of that set:
  `known_set_loss`.

Pages and models computed from true records are outside this bound.

The upper bound is a variation-ratio reduction (Wang et al. 2023; Feldman, McMillan, Talwar 2022).
With gamma p and total variation beta, alpha = beta / (p - 1) and rho = 1 - alpha - p alpha, the two
true records are reported as p alpha Q + alpha R + rho S and alpha Q + p alpha R + rho S. Every
other record is reported as at least alpha Q + alpha R + (rho / p) S, a blanket (Balle et al. 2019).
A report's score under the blanket is a variable Y with four values, and for n reports

    delta <= E[max(0, Y_1 + ... + Y_n)] / n,   e = e^epsilon
    Y = p - e, 1 - e p, p (1 - e), 0   with probabilities   alpha, alpha, rho / p and the rest.

(If rho > 0, counting only the reports outside Q and R does not give a bound, because the record's
own S would hide among reports that it cannot equal. For five categories, gamma 19, 30 records and
epsilon .5 the true value is .24332, that count gives .24327 and the blanket .24889.) A larger p or
beta never gives a smaller delta. The distribution of the sum is an n-fold convolution. Each value
is split between two points of a grid, which preserves means and so can only raise delta.

At gamma 19 and delta 1e-6 the largest beta gives epsilon .528 for 2,000 records, .218 for 10,000,
.116 for 32,561 and .0634 for 100,000. With half the clones, 1 / (p + 1) instead of 2 / (p + 1) (see
Feldman, McMillan, Talwar 2021), it would be .79, .318, .168 and .092.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, singledispatch
from typing import Self

import numpy as np
import numpy.typing as npt

from pramana_core.channels import (
    LISTED_ENTRIES,
    OneHot,
    Product,
    Sampled,
    SubsetSelection,
    Transition,
)
from pramana_core.errors import OptionError
from pramana_core.marginals.counts import Tensor
from pramana_core.plan import Plan
from pramana_core.privacy.gamma import (
    Amplification,
    Part,
    composed,
    listed_matrix,
    parts_of,
    record_loss,
)

DELTA = 1e-8
"""The delta of stated central bounds."""

GAMMA_LIMIT = 1e4
"""The largest local gamma under a central bound alone."""

LEAST_EPSILON = 1e-9
"""The smallest central epsilon that may be requested; no channel estimates anything under less."""

_LARGEST_EPSILON = 100.0
"""The local epsilon above which no number of records hides a report and e^epsilon overflows."""

_RELATIVE_ERROR = 1e-9
"""An upper bound on the relative error of a sum's terms; tested in integer arithmetic."""

_TAIL = 50.0
"""Sums omit tails with a probability of 2 e^-50, which the bounds add."""

_TRANSFORM_ERROR = 1e-12
"""An upper bound on a convolved mean's error, in units of the grid's end; tested on exact sums."""

_GRID = 32
"""The grid points per root mean square of a report's score, up to 2^22 points in all."""

_PAIRS = 1 << 28
"""The maximum number of entries of a listed matrix whose rows are compared pairwise."""


@dataclass(frozen=True)
class CentralLoss:
    """A central bound from the shuffled reports: epsilon, except with probability delta."""

    epsilon: float
    delta: float

    @classmethod
    def of(cls, epsilon: float | None, delta: float | None = None) -> Self | None:
        """Return the bound that two options request, if any; delta is `DELTA` by default.

        Raises OptionError if the epsilon is below `LEAST_EPSILON`.
        """
        if epsilon is None:
            return None
        if not epsilon >= LEAST_EPSILON:
            raise OptionError(
                f"A central epsilon must be at least {LEAST_EPSILON:g}, not {epsilon:g}; with less,"
                " reports are pure noise.",
                where="central_epsilon",
            )
        return cls(epsilon, DELTA if delta is None else delta)

    def __add__(self, other: CentralLoss) -> CentralLoss:
        """Return the loss from two releases under different linkage secrets."""
        return CentralLoss(self.epsilon + other.epsilon, self.delta + other.delta)


@dataclass(frozen=True)
class ShuffledReport:
    """All reports of one record, as parameters of the shuffle model.

    By default, it is the report that reveals most under the local bound: a randomized yes or no.

    Args:
        amplification: the local bound.
        variation: an upper bound on the total variation between the reports of any two records.
        set_variation: the same bound if the set of variables that the record reports is known.
        set_weights: the probability of the rarest set, for each independent draw of a set; 0 if it
            is unknown.
        silent: the probability that a record reports no set, if the only report is of a set.
    """

    amplification: Amplification
    variation: float = 1.0
    set_variation: float = 1.0
    set_weights: tuple[float, ...] = ()
    silent: float = 0.0

    @classmethod
    def of_gamma(cls, gamma: float) -> Self:
        """Return the worst report for a local gamma. Raises OptionError if it is below 1."""
        return cls(Amplification.of_gamma(gamma))

    @classmethod
    def of(cls, released: Transition | Plan, *, adaptive: bool = False) -> ShuffledReport:
        """Return a record's report by a channel, or by all randomized blocks of a plan.

        A plan with only public columns has no bound. For `adaptive` blocks, see `together`.

        Raises:
            LimitExceeded: see `gamma`.
        """
        if isinstance(released, Plan):
            channels = [block.channel for block in released.blocks]
            noisy = [cls.of(c) for c in channels if not (c.is_identity or c.withheld)]
            return cls.together(noisy, adaptive=adaptive) if noisy else cls(record_loss(released))
        amplification = Amplification.of(released)
        if not isinstance(released, Sampled):
            variation = total_variation(released)
            return cls(amplification, variation, variation)
        parts = parts_of(released)
        # Thousands of sets share one or two channels.
        known = {part: total_variation(part) for part in {part for _, _, part in parts}}
        return cls(
            amplification,
            math.fsum(weight * known[part] for _, weight, part in parts) / 2**32,
            max(known.values()),
            (min(weight for _, weight, _ in parts) / 2**32,),
            released.silent / 2**32,
        )

    @classmethod
    def together(
        cls, reports: Iterable[ShuffledReport], *, adaptive: bool = False
    ) -> ShuffledReport:
        """Return the joint report of independent draws for the same record.

        If the draws are `adaptive`, later channels may depend on earlier reports of all records.
        Then only the worst report with the summed local loss gives a bound, because every such
        choice of channels is a function of that report. Several adaptive draws of sets may depend
        on each other.
        """
        each = list(reports)
        if len(each) == 1:
            return each[0]
        # A record without a set still discloses its other reports.
        weights = tuple(min(w, r.silent or w) for r in each for w in r.set_weights)
        return cls(
            composed(report.amplification for report in each),
            1.0 if adaptive else _together(report.variation for report in each),
            1.0 if adaptive else _together(report.set_variation for report in each),
            (0.0,) if adaptive and len(weights) > 1 else weights,
        )

    def central_delta(self, records: int, epsilon: float) -> float:
        """Return an upper bound on delta for `records` shuffled reports at a central epsilon.

        Raises:
            OptionError: `records` is below 1, or `epsilon` is negative.
        """
        _require_records(records)
        Amplification(epsilon)  # rejects a negative value
        # Every operation here has a rounding error of about 2^-52.
        beta = min(self.variation, _largest_variation(self.amplification)) * (1 + 1e-13)
        if beta <= 0 or epsilon >= self.amplification.epsilon:
            return 0.0
        if self.amplification.epsilon > _LARGEST_EPSILON:
            return min(1.0, beta)
        p = math.exp(self.amplification.epsilon) * (1 + 1e-13)
        alpha, e = beta / (p - 1), math.exp(epsilon)
        rest = max(0.0, 1 - alpha - p * alpha)
        worth = np.array([p - e, 1 - e * p, p * (1 - e)])
        return min(1.0, beta, _mean_excess(records, worth, np.array([alpha, alpha, rest / p])))

    def central_epsilon(self, records: int, delta: float) -> float:
        """Return an upper bound on the central epsilon of `records` shuffled reports at a delta.

        It never exceeds the local epsilon.

        Raises:
            OptionError: `records` is below 1, or `delta` is not strictly between 0 and 1.
        """
        _require_delta(delta)
        local = self.amplification.epsilon
        if self.central_delta(records, 0.0) <= delta:
            return 0.0
        if local > _LARGEST_EPSILON:
            return local
        return _crossing(lambda e: self.central_delta(records, e), delta, local)


@lru_cache(1024)
def central_loss(report: ShuffledReport, records: int, delta: float = DELTA) -> CentralLoss:
    """Return the central bound of `records` shuffled reports at a delta. Raises OptionError."""
    return CentralLoss(report.central_epsilon(records, delta), delta)


def known_set_loss(
    report: ShuffledReport, records: int, delta: float = DELTA
) -> CentralLoss | None:
    """Return the central bound if the set that the record reports is known beforehand.

    The record then hides only among the records that report the same set. None means that the
    mechanism draws no sets. Raises OptionError.
    """
    if not report.set_weights:
        return None
    # One half of delta is for the reports, the other half for too few records of the set.
    for weight in report.set_weights:
        share = delta / 2 / len(report.set_weights)
        records = records_in_set(records, weight, share) if weight else 1
    known = ShuffledReport(report.amplification, report.set_variation)
    return CentralLoss(central_loss(known, records, delta / 2).epsilon, delta)


def largest_gamma(records: int, central: CentralLoss) -> float:
    """Return the largest local gamma, up to `GAMMA_LIMIT`, that satisfies a central bound.

    It is at least e^epsilon, because a local bound of epsilon is also a central one.

    Args:
        records: the number of records, or the size of the smallest group.
        central: the central bound to satisfy.

    Raises:
        OptionError: `records` is below 1, or the bound's epsilon or delta is not positive.
    """
    _require_records(records)
    _require_delta(central.delta)
    if not 0 < central.epsilon < math.inf:
        raise OptionError(
            f"A central epsilon must be above 0, not {central.epsilon}.", where="central_epsilon"
        )

    def gamma(inverse: float) -> float:
        return max(1.0, GAMMA_LIMIT / math.exp(inverse))  # rounding can give less than 1

    def delta(inverse: float) -> float:
        return ShuffledReport.of_gamma(gamma(inverse)).central_delta(records, central.epsilon)

    if delta(0.0) <= central.delta:
        return GAMMA_LIMIT
    most = math.log(GAMMA_LIMIT) - central.epsilon
    return gamma(_crossing(delta, central.delta, most))


def lower_central_delta(channel: Transition, records: int, epsilon: float) -> float:
    """Return a lower bound on delta, from a test that distinguishes two neighbouring tables.

    Raises:
        LimitExceeded: see `gamma`.
        OptionError: `records` is below 1, or `epsilon` is negative.
    """
    _require_records(records)
    Amplification(epsilon)  # rejects a negative value
    total, error = _divergence(records, contrast(channel), epsilon)
    return max(0.0, total - error)


def smallest_group(known: Sequence[npt.ArrayLike]) -> int:
    """Return the size of the smallest group of records with equal values in all known columns.

    Args:
        known: columns of n entries each, such as public columns, the record's owners, and batches.

    Raises:
        OptionError: the columns differ in length, or the list is empty.
    """
    columns = [np.asarray(column) for column in known]
    if not columns or len({len(column) for column in columns}) != 1 or not len(columns[0]):
        raise OptionError(
            "The known columns need one entry for each record, and at least one record.",
            where="known",
        )
    alike = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        place = np.unique(column, return_inverse=True)[1]
        alike = np.unique(alike * (place.max() + 1) + place, return_inverse=True)[1]
    return int(np.bincount(alike).min())


def records_in_set(records: int, weight: float, delta: float) -> int:
    """Return a lower bound on the records that report a set, if one record is known to report it.

    The bound fails with probability delta; add this delta to that of the central bound. If the
    count of a set is released, use it instead.

    Args:
        records: the number of all records.
        weight: the probability of reporting the set.
        delta: the probability of fewer records.

    Raises:
        OptionError: `records` is below 1, `delta` is not in (0, 1), or `weight` is not in (0, 1].
    """
    _require_records(records)
    _require_delta(delta)
    if not 0 < weight <= 1:
        raise OptionError(
            f"The weight of a set must be above 0 and at most 1, not {weight}.", where="weight"
        )
    if weight == 1:
        return records
    mean = (records - 1) * weight
    # Chernoff: P(X <= mean - t) <= exp(-t^2 / (2 mean)).
    return max(1, 2 + math.floor(mean - math.sqrt(2 * mean * -math.log(delta)) - 1e-9))


@singledispatch
def total_variation(channel: Part) -> float:
    """Return an upper bound on the total variation between the reports of two records.

    Raises:
        LimitExceeded: see `gamma`.
    """
    if not _has_contrast(channel):
        return 1.0
    (first, _), (second, _), _ = contrast(channel)
    return float(first - second) * (1 + 1e-13)


@total_variation.register
def _(channel: Product) -> float:
    return _together(map(total_variation, channel.channels))


@total_variation.register
def _(channel: Sampled) -> float:
    return ShuffledReport.of(channel).variation


@singledispatch
def contrast(channel: Part) -> Tensor:
    """Return the reports that best distinguish two true records: a 3 x 2 array of probabilities.

    Rows are the two records and the record that hides them least. Columns are the reports that are
    more probable under the first record, and those more probable under the second.

    Raises:
        LimitExceeded: see `gamma`.
    """
    if channel.exact_mixture is not None:
        return _contrast_of(channel, (0, 1, min(2, channel.shape[0] - 1)))
    matrix = listed_matrix(channel)
    if _has_contrast(channel):
        from scipy.spatial.distance import cdist

        distances = cdist(matrix, matrix, "cityblock")
        first, second = divmod(int(distances.argmax()), len(matrix))
    else:
        first, second = int(matrix[:, 0].argmax()), int(matrix[:, 0].argmin())
    sums = _likelier(matrix, first, second)
    return sums[[first, second, int(sums.sum(axis=1).argmin())]]


@contrast.register
def _(channel: OneHot) -> Tensor:
    off, keep = sorted((channel.flip_units / 2**32, 1 - channel.flip_units / 2**32))
    # The records differ in two items; a report has the first alone or the second alone.
    others = [off * keep] * 2 if channel.size > 2 else [off * off, keep * keep]
    return np.array([[keep * keep, off * off], [off * off, keep * keep], others])


@contrast.register
def _(channel: SubsetSelection) -> Tensor:
    members = np.fft.rfft(channel.members)
    shared = np.fft.irfft((np.abs(members) ** 2).sum(axis=0), n=channel.size)
    # A record at this distance from another shares the fewest reports with it.
    distance = 1 + int(np.rint(shared[1:]).argmin())
    sums = _subset_contrast(channel, distance)
    return sums[[0, distance, int(sums.sum(axis=1).argmin())]]


def _subset_contrast(channel: SubsetSelection, distance: int) -> Tensor:
    """Return, by true category, the probabilities of subsets with only 0 or only `distance`."""
    members = np.fft.rfft(channel.members)
    first, second = channel.members, np.roll(channel.members, distance, axis=1)
    inside, outside = channel.likelihoods
    found = []
    for alone in (first & ~second, second & ~first):
        # The number of these reports inside each record's subset, by its distance.
        overlap = np.conj(members) * np.fft.rfft(alone)
        counts = np.rint(np.fft.irfft(overlap.sum(axis=0), n=channel.size))
        found.append((outside * alone.sum() + (inside - outside) * counts) / len(alone))
    return np.stack(found, axis=1)


@contrast.register
def _(channel: Product) -> Tensor:
    return contrast(max(channel.channels, key=total_variation))


@contrast.register
def _(channel: Sampled) -> Tensor:
    # The three records have the category 0, 1 or 2 (or the last) in all variables. No reader of a
    # coordinated channel's reports sees the choice.
    found: dict[tuple[Part, tuple[int, ...]], int] = {}
    for axes, weight, part in parts_of(Sampled(channel.sizes, channel.choices)):
        cells = [0, 0, 0]
        for size in (channel.sizes[axis] for axis in axes):
            cells = [size * cell + min(value, size - 1) for value, cell in enumerate(cells)]
        key = part, tuple(cells)
        found[key] = found.get(key, 0) + weight
    return sum((w * _contrast_of(*key) for key, w in found.items()), np.zeros((3, 2))) / 2**32


def _contrast_of(channel: Part, cells: tuple[int, ...]) -> Tensor:
    """Return `contrast` for three given categories, or zeros if the matrix is too large to list."""
    if channel.exact_mixture is not None:
        keep, off = map(float, channel.exact_mixture)
        chances = np.where(np.array(cells)[:, None] == cells[:2], keep, off)
        return chances if keep >= off else chances[:, ::-1]
    if isinstance(channel, SubsetSelection):
        return _subset_contrast(channel, cells[1] - cells[0])[list(cells)]
    if not _has_contrast(channel) or isinstance(channel, OneHot):
        return np.zeros((3, 2))
    return _likelier(listed_matrix(channel), *cells[:2])[list(cells)]


def _likelier(matrix: Tensor, first: int, second: int) -> Tensor:
    """Return, by true category, the probability of a report that is likelier under `first`, and of
    one that is likelier under `second`.
    """
    kinds = matrix[first] > matrix[second], matrix[first] < matrix[second]
    return np.stack([matrix[:, kind].sum(axis=1) for kind in kinds], axis=1)


def _has_contrast(channel: Part) -> bool:
    true, reported = channel.shape
    small = true * reported <= LISTED_ENTRIES and true * true * reported <= _PAIRS
    return (
        small or channel.exact_mixture is not None or isinstance(channel, OneHot | SubsetSelection)
    )


def _largest_variation(amplification: Amplification) -> float:
    """Return the largest total variation under a local bound, (gamma - 1) / (gamma + 1)."""
    return math.tanh(amplification.epsilon / 2)


def _together(variations: Iterable[float]) -> float:
    """Return an upper bound on the total variation of several independent reports."""
    each = list(variations)
    return (
        1.0 if max(each, default=0.0) >= 1 else -math.expm1(math.fsum(math.log1p(-v) for v in each))
    )


def _divergence(records: int, truths: Tensor, epsilon: float) -> tuple[float, float]:
    """Return the divergence at e^epsilon of the counts of two sets of reports, and its error.

    The counts are those of two tables that differ in one record. `truths` has the probabilities of
    both sets for that record in each table, and for all other records (see `contrast`).
    """
    (f0, f1), (g0, g1), (h0, h1) = truths.tolist()
    share = h0 + h1
    if share <= 0 or f0 - g0 <= 0 or f1 - g1 > 0:
        return 0.0, 0.0
    e, t = math.exp(epsilon), h0 / share
    if t in {0.0, 1.0}:
        return 0.0, 0.0
    low, weights = _binomial(records - 1, min(1.0, share))
    # c reports lie in the two sets: all from other records, or one from the record itself.
    c = np.arange(low, low + len(weights) + 1)
    without, including = np.append(weights, 0.0), np.append(0.0, weights)
    # The difference of the distributions at a reports in set one: Bin(c, t)(a) (level + slope a).
    rest = max(0.0, 1 - f0 - f1) - e * max(0.0, 1 - g0 - g1)
    first, second = (f0 - e * g0) / t, (f1 - e * g1) / (1 - t)
    slope = including / np.maximum(c, 1) * (first - second)
    level = without * rest + including * second
    rising = slope > 0
    start = np.where(level > 0, 0, c + 1).astype(float)
    np.divide(-level, slope, out=start, where=rising)
    start = np.clip(np.where(rising, np.floor(start) + 1, start), 0, c + 1)
    shares, means = _upper(c, start, t), c * t * _upper(c - 1, start - 1, t)
    parts = level * shares, slope * means
    error = _RELATIVE_ERROR * float(np.abs(parts).sum()) + 2 * math.exp(-_TAIL)
    return float(np.sum(parts)), error


def _binomial(trials: int, p: float) -> tuple[int, Tensor]:
    """Return the first count between the tails (see `_TAIL`), and the probabilities there."""
    spread = _TAIL / 3 + math.sqrt(_TAIL**2 / 9 + 2 * _TAIL * trials * p * (1 - p))  # Bernstein
    low = max(0, math.floor(trials * p - spread))
    high = min(trials, math.ceil(trials * p + spread))
    mode = min(high, math.floor((trials + 1) * p))
    if p >= 1 or low == high:
        return high, np.ones(1)
    odds = p / (1 - p)
    up, down = np.arange(mode, high), np.arange(mode, low, -1)
    rising = np.cumprod((trials - up) / (up + 1) * odds)
    falling = np.cumprod(down / (trials - down + 1) / odds)
    weights = np.concatenate([falling[::-1], [1.0], rising])
    return low, weights / weights.sum()


def _upper(trials: npt.NDArray[np.int64], least: Tensor, p: float) -> Tensor:
    from scipy.special import betainc

    inside = (least >= 1) & (least <= trials)
    a, b = np.where(inside, least, 1), np.where(inside, trials - least + 1, 1)
    return np.where(inside, betainc(a, b, p), np.where(least < 1, 1.0, 0.0))


def _mean_excess(records: int, worth: Tensor, chances: Tensor) -> float:
    """Return an upper bound on E[max(0, Y_1 + ... + Y_n)] / n; Y is 0 or a value in `worth`."""
    mean = float(worth @ chances)
    furthest = float(np.abs(worth - mean).max())
    variance = records * float(np.square(worth) @ chances)
    # Bernstein: sums are farther from their mean only with probability 2 e^-TAIL.
    spread = furthest * _TAIL / 3 + math.sqrt(furthest**2 * _TAIL**2 / 9 + 2 * _TAIL * variance)
    spread = min(spread, records * furthest) + furthest
    typical = math.sqrt(variance / (records * float(chances.sum())))
    points = 1 << min(22, max(14, math.ceil(math.log2(2 * spread / typical * _GRID))))
    step = 2 * spread / (points - 4)
    beyond = 2 * math.exp(-_TAIL) * float(worth.max() + spread)
    last = math.ceil((records * mean + spread) / step)
    if last <= 0:
        return beyond
    below = np.floor(worth / step)
    upper = worth / step - below
    places = np.concatenate([below, below + 1]).astype(np.int64)
    weights = np.concatenate([chances * (1 - upper), chances * upper])
    # 1 + real + i imaginary is one report's transform, stored less 1 for accuracy.
    real, imaginary = np.zeros(points // 2 + 1), np.zeros(points // 2 + 1)
    turns = np.arange(points // 2 + 1)
    for place, weight in zip(places.tolist(), weights.tolist(), strict=True):
        angle = 2 * np.pi / points * ((place * turns + points // 2) % points - points // 2)
        real -= 2 * weight * np.square(np.sin(angle / 2))
        imaginary -= weight * np.sin(angle)
    squared = 2 * real + real**2 + imaginary**2
    # Far from 1 the ordinary logarithm is accurate enough, and its argument may be 0.
    far = np.log(np.maximum(np.hypot(1 + real, imaginary), 1e-300))
    size = np.where(squared < -0.5, far, 0.5 * np.log1p(np.maximum(squared, -0.5)))
    law = np.exp(records * (size + 1j * np.arctan2(imaginary, 1 + real)))
    sums = np.fft.irfft(law, points)[1 : last + 1] * np.arange(1, last + 1)
    return (float(sums.sum()) + last * _TRANSFORM_ERROR) * step / records + beyond


def _crossing(delta: Callable[[float], float], most: float, end: float) -> float:
    """Return approximately the smallest argument in [0, `end`] whose delta is at most `most`."""
    from scipy.optimize import brentq

    def off(argument: float) -> float:
        return math.log(max(delta(argument), 1e-300) / most)

    if off(end) > 0:
        return end
    root = brentq(off, 0.0, end, xtol=1e-9 * end, rtol=1e-7)
    found, step = max(root, 1e-9 * end), 1e-6
    # Deltas have rounding errors, which matter where delta hardly depends on the argument.
    while (found := min(end, found * (1 + step))) < end and delta(found) > most:
        step *= 4
    return found


def _require_records(records: int) -> None:
    if records < 1:
        raise OptionError(f"records must be at least 1, not {records}.", where="records")


def _require_delta(delta: float) -> None:
    if not 0 < delta < 1:
        raise OptionError(
            f"delta must be above 0 and below 1, not {delta}.",
            where="delta",
            remedy="Give a probability that is small compared with 1 / (number of records).",
        )
