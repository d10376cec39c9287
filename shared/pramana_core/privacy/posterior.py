"""What an attacker with a prior believes, and guesses, after seeing a report.

gamma bounds these for every prior; here they are exact for the one given. A prior is an array of
one probability per true category of the channel, or None for the uniform one over the categories
that can occur. Only reports that can occur under it count.

How far estimated counts are from the true ones, and what randomization does to independence.
Distances between two sets of counts, or between a density and its reconstruction (Ma 3.2.1), and
the spread of the odds ratio of two binary variables (Ma 3.2.2), estimated from a table and
predicted before there is any data.

Also here:

* What a channel costs in accuracy, with no data and no prior needed.
* Probabilistic K-anonymity: how many truths a report leaves plausible (Ma 3.1.3).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from pramana_core.channels import RESOLUTION, RandomSymmetric, Transition
from pramana_core.errors import EstimationError, LimitExceeded, OptionError
from pramana_core.marginals.counts import Tensor
from pramana_core.plan import Block
from pramana_core.privacy.structures import structure_of
from pramana_core.privacy.structures_by_kind import ChannelStructure, checked_prior, require_belief

POSTERIOR_CELLS = 1 << 59
"""Posteriors that are all equal are one number seen this many times at most."""


@dataclass(frozen=True)
class AttackerAccuracy:
    """How often the best guess of the truth is right.

    `blind` without the report (the largest prior), `expected` over the reports, `worst` given the
    report that tells most.
    """

    blind: float
    expected: float
    worst: float


def worst_posterior(channel: Transition, prior: npt.ArrayLike | None = None) -> Tensor:
    """Return for each true category the largest posterior any report gives it, shape (K,).

    Read-only where all are equal. Categories that cannot occur have 0.

    Raises:
        OptionError: the prior does not fit, or is not a probability distribution.
        LimitExceeded: a channel without closed form over too many categories.
    """
    structure, given = _asked(channel, prior)
    _, high = structure.extremes(given)
    if structure.size > POSTERIOR_CELLS:
        raise LimitExceeded(
            f"{structure.size} posteriors are too many to list.",
            remedy="Ask for the attacker's accuracy, which holds the largest.",
        )
    return np.broadcast_to(high, (structure.size,))


def attacker_accuracy(channel: Transition, prior: npt.ArrayLike | None = None) -> AttackerAccuracy:
    """Return how often the Bayes guess, the truth of largest posterior, is right.

    Raises:
        OptionError: the prior does not fit, or is not a probability distribution.
        LimitExceeded: a channel without closed form over too many categories.
    """
    structure, given = _asked(channel, prior)
    _, high = structure.extremes(given)
    return AttackerAccuracy(
        blind=float(_explicit(structure, given).max()),
        expected=structure.bayes_mass(given),
        worst=float(high.max()),
    )


def upward_breach(channel: Transition, prior: npt.ArrayLike | None, rho_1: float) -> float:
    """Return the largest posterior of any category whose prior is at most `rho_1` (Ma 3.1.2).

    A rho_1-to-rho_2 breach occurs if it is rho_2 or more. 0 if no category has such a prior.
    Never above `Amplification.of(channel).grown(rho_1)`, which covers every prior and every
    property, not single categories only.

    Raises:
        OptionError: `rho_1` is not between 0 and 1, or the prior is invalid.
        LimitExceeded: a channel without closed form over too many categories.
    """
    require_belief(rho_1, "rho_1")
    structure, given = _asked(channel, prior)
    _, high = structure.extremes(given)
    return float(np.where(_explicit(structure, given) <= rho_1, high, 0.0).max())


def downward_breach(channel: Transition, prior: npt.ArrayLike | None, rho_2: float) -> float:
    """Return the smallest posterior of any category whose prior is at least `rho_2` (Ma 3.1.2).

    A rho_2-to-rho_1 breach occurs if it is rho_1 or less. (Ma prints the posterior of the
    opposite as at least rho_1; Evfimievski et al., whose definition it is, mean 1 - rho_1.)
    1 if no category has such a prior. Never below `Amplification.of(channel).fallen(rho_2)`.

    Raises:
        OptionError: `rho_2` is not between 0 and 1, or the prior is invalid.
        LimitExceeded: a channel without closed form over too many categories.
    """
    require_belief(rho_2, "rho_2")
    structure, given = _asked(channel, prior)
    low, _ = structure.extremes(given)
    return float(np.where(_explicit(structure, given) >= rho_2, low, 1.0).min())


def posterior_range(channel: RandomSymmetric, prior_of_property: float) -> tuple[float, float]:
    """Return the smallest and the largest posterior of a property under RAN-GD (FRAPP 4.1).

    The matrix of a record is drawn and not published, so that its worst-case posterior is known
    only to lie in this range, as likely above that of the expected matrix as below it. With
    gamma x + r on the diagonal, x - r / (n - 1) elsewhere and P the prior of the property it is

        rho_2(r) = P (gamma x + r) / (P (gamma x + r) + (1 - P) (x - r / (n - 1)))

    at r = -alpha and alpha. (FRAPP prints P gamma x + r in the numerator.)

    Raises:
        OptionError: `prior_of_property` is not strictly between 0 and 1.
    """
    require_belief(prior_of_property, "prior_of_property")
    low, high = (
        _posterior_at(channel, channel.off_units + spread, prior_of_property)
        for spread in (channel.spread_units, -channel.spread_units)
    )
    return low, high


def _asked(
    channel: Transition, prior: npt.ArrayLike | None
) -> tuple[ChannelStructure, Tensor | None]:
    structure = structure_of(channel)
    return structure, checked_prior(prior, structure.size)


def _explicit(structure: ChannelStructure, prior: Tensor | None) -> Tensor:
    return structure.uniform() if prior is None else prior


def _posterior_at(channel: RandomSymmetric, off_units: int, prior: float) -> float:
    keep_units = RESOLUTION - (channel.size - 1) * off_units
    kept = prior * keep_units
    return kept / (kept + (1 - prior) * off_units)


# What a channel costs in accuracy, with no data and no prior needed.


def largest_proportion_se(block: Block, name: str, records: int) -> float:
    """Return the largest standard error of an estimated proportion of any category of a variable.

    The error is that of the moment estimate against the population the records were drawn from.
    The maximum is exact, over all categories and all possible true distributions of the block's
    variables: the variance (sum_l theta_l M[j, l] - theta_j^2) / N, with M the second moments of
    the estimator of category j given truth l, is concave in theta_j with the rest on the worst
    truth.

    Raises:
        OptionError: `records` is not positive.
        SingularChannel: the channel has no inverse.
        UnknownVariable: the block has no such variable.
        LimitExceeded: a channel without closed form over too many categories.
    """
    if records < 1:
        raise OptionError(f"records must be at least 1, not {records}.", where="records")
    restricted = block.restrict([name])
    if restricted is not None and (mixture := restricted.inverse_mixture) is not None:
        return math.sqrt(_largest_of_mixture(*mixture) / records)
    decoder, channel = _decoder(block, name, restricted)
    moments = channel.apply_adjoint(np.square(decoder).T, 0).T
    category = _category_of_truth(block, name, moments.shape[1])
    possible = channel.can_occur()
    worst = 0.0
    for j, row in enumerate(moments):
        inside, outside = row[possible & (category == j)], row[possible & (category != j)]
        if inside.size and outside.size:
            worst = max(worst, _worst_mix(float(inside.max()), float(outside.max())))
    return math.sqrt(worst / records)


def _largest_of_mixture(a: float, b: float) -> float:
    """The estimator of a category is a + b where it is reported and b elsewhere: no list needed."""
    # P = spread I + off 11' and P^-1 = a I + b 11' are inverse: spread = 1 / a, off = -b / a.
    off = -b / a
    keep = 1 / a + off
    hit, miss = (a + b) ** 2, b**2
    return _worst_mix(keep * hit + (1 - keep) * miss, off * hit + (1 - off) * miss)


def _worst_mix(inside: float, outside: float) -> float:
    """Return the largest variance over the share t of a category, the rest on the worst other."""
    t = min(1.0, max(0.0, (inside - outside) / 2))
    return t * inside + (1 - t) * outside - t**2


def _decoder(block: Block, name: str, restricted: Transition | None) -> tuple[Tensor, Transition]:
    """Return the estimator of each category of a variable as a function of the block's report."""
    if restricted is not None:
        return restricted.decoder(), restricted
    shape = tuple(v.size for v in block.variables)
    dropped = tuple(axis for axis, v in enumerate(block.variables) if v.name != name)
    decoder = block.channel.decoder()
    summed: Tensor = decoder.reshape(*shape, -1).sum(axis=dropped)
    return summed, block.channel


def _category_of_truth(block: Block, name: str, truths: int) -> npt.NDArray[np.intp]:
    axis = block.names.index(name)
    shape = tuple(v.size for v in block.variables)
    if truths == shape[axis]:
        return np.arange(truths)
    return np.unravel_index(np.arange(truths), shape)[axis]


# Probabilistic K-anonymity: how many truths a report leaves plausible (Ma 3.1.3).


@dataclass(frozen=True)
class KAnonymity:
    """Ma's pair (K_p, Dist_K), and the divergence of the report that is protected worst.

    `categories` is K_p. `least_divergence` is Dist_K: the divergence, in bits, of the posterior
    from the uniform distribution over the categories a report leaves plausible, **smallest** over
    the reports; it is that of the best-protected report. `worst_divergence` is the largest, the
    one to judge a channel by: log2 K_p bits would be certainty.
    """

    categories: int
    least_divergence: float
    worst_divergence: float


def k_anonymity(
    channel: Transition, prior: npt.ArrayLike | None = None, threshold: float = 0.0
) -> KAnonymity:
    """Return the probabilistic K-anonymity of a channel under a prior (Ma 3.1.3).

    A category is plausible after a report if its posterior is above `threshold`. Ma's definition
    has 0, by which hardly possible categories count in full; Ma 8 (b) asks for a larger one. The
    posterior is divided by what is left of it before it is compared with the uniform.

    Args:
        channel: K true categories.
        prior: K probabilities of the true categories; None: uniform over the possible ones.
        threshold: a posterior, at least 0 and below 1.

    Raises:
        OptionError: the prior is invalid, `threshold` is outside its range, or it is so large that
            some report leaves nothing plausible.
        LimitExceeded: a channel without closed form over too many categories.
    """
    if not 0 <= threshold < 1:
        raise OptionError(
            f"threshold must be at least 0 and below 1, not {threshold}.",
            where="threshold",
            remedy="Give a small probability, such as 0.01; 0 counts every possible category.",
        )
    structure = structure_of(channel)
    found = structure.plausible(checked_prior(prior, structure.size), threshold)
    if found.fewest == 0:
        raise OptionError(
            f"After some report no category has a posterior above {threshold}.",
            where="threshold",
            remedy="Lower the threshold: it must be below the largest posterior of each report.",
        )
    return KAnonymity(found.fewest, found.least, found.most)


Density = Callable[[Tensor], Tensor]
"""A probability density: takes an array of points and returns its value at each."""

POINTS = 2048
"""A density is evaluated at this many midpoints in each interval."""


class TableWithCovariance(Protocol):
    """An estimated table that knows the covariance of its counts (`EstimatedTable` does)."""

    @property
    def counts(self) -> Tensor:
        """The raw counts."""

    def covariance(self, *, population: bool) -> Tensor:
        """Return the covariance matrix of the counts, cells in C order."""


@dataclass(frozen=True)
class Histogram:
    """Probabilities of intervals, spread evenly within each.

    Args:
        edges: k + 1 ascending numbers.
        probabilities: k nonnegative numbers, counts or probabilities; they are divided by their
            sum.

    Raises:
        OptionError: they do not fit, or do not form a histogram.
    """

    edges: tuple[float, ...]
    probabilities: tuple[float, ...]

    def __post_init__(self) -> None:
        edges = np.asarray(self.edges, dtype=np.float64)
        if len(edges) != len(self.probabilities) + 1 or len(edges) < 2:
            raise OptionError(
                f"{len(edges)} edges do not bound {len(self.probabilities)} intervals.",
                where="edges",
                remedy="Give one edge more than probabilities.",
            )
        if not (np.all(np.isfinite(edges)) and np.all(np.diff(edges) > 0)):
            raise OptionError(
                "The edges of the intervals are not finite and ascending.", where="edges"
            )
        _distribution(self.probabilities, "probabilities")

    @property
    def heights(self) -> Tensor:
        """The density within each interval."""
        shares = _distribution(self.probabilities, "probabilities")
        heights: Tensor = shares / np.diff(np.asarray(self.edges, dtype=np.float64))
        return heights

    def at(self, points: Tensor) -> Tensor:
        """Return the density at points; 0 outside the edges."""
        interval = np.searchsorted(np.asarray(self.edges), points, side="right") - 1
        inside = (interval >= 0) & (interval < len(self.probabilities))
        values: Tensor = np.where(inside, self.heights[np.where(inside, interval, 0)], 0.0)
        return values


@dataclass(frozen=True)
class OddsRatioSpread:
    """The log odds ratio of a 2 x 2 table, its standard error, and what randomization made of it.

    `clean_se` is the error the same counts would have without randomization; `independence_loss`
    is `se / clean_se`, 1 without loss: independent variables look dependent by that much more.
    """

    log_odds_ratio: float
    se: float
    clean_se: float

    @property
    def independence_loss(self) -> float:
        """How many times wider the log odds ratio is spread than without randomization."""
        return self.se / self.clean_se


def kl_divergence(p: npt.ArrayLike, q: npt.ArrayLike) -> float:
    """Return sum p log2(p / q) in bits between two sets of counts (Ma 3.2.1).

    Args:
        p: the true counts or probabilities, of any shape; divided by their sum.
        q: the estimated ones, of the same shape; divided by theirs.

    Returns:
        0 or more; infinite where q has nothing and p has something. Cells empty in p add nothing.

    Raises:
        OptionError: shapes differ, nothing is counted, or a count is negative, as moment
            estimates can be.
    """
    a, b = _two_distributions(p, q)
    some = a > 0
    if np.any(b[some] == 0):
        return math.inf
    return max(0.0, float((a[some] * np.log2(a[some] / b[some])).sum()))


def density_l1(
    edges: npt.ArrayLike, probabilities: npt.ArrayLike, truth: Density | Histogram
) -> float:
    """Return the integral of |f - f^|, discretization included (Ma 3.2.1).

    f^ is constant on each interval: its probability over its width. What f has outside the edges
    counts in full.

    Args:
        edges: k + 1 ascending edges of the intervals.
        probabilities: k estimated probabilities or counts of the intervals.
        truth: a `Histogram`, by which the integral is exact, or a density function that
            integrates to 1, evaluated at `POINTS` midpoints per interval: exact to second order
            in the distance of the points where f is smooth, to first where it jumps.

    Returns:
        A number between 0 and 2.

    Raises:
        OptionError: edges or probabilities do not form a histogram (see `Histogram`).
    """
    estimate = Histogram(
        tuple(np.asarray(edges, dtype=np.float64).tolist()),
        tuple(np.asarray(probabilities, dtype=np.float64).tolist()),
    )
    if isinstance(truth, Histogram):
        cuts = np.unique(np.concatenate([estimate.edges, truth.edges]))
        middle = (cuts[:-1] + cuts[1:]) / 2
        return float(np.abs(truth.at(middle) - estimate.at(middle)) @ np.diff(cuts))
    left, width = np.asarray(estimate.edges)[:-1, None], np.diff(estimate.edges)[:, None]
    points = left + width * ((np.arange(POINTS) + 0.5) / POINTS)
    values = np.asarray(truth(points), dtype=np.float64)
    step = width / POINTS
    inside = float((values * step).sum())
    return float((np.abs(values - estimate.heights[:, None]) * step).sum()) + max(0.0, 1 - inside)


def log_odds_ratio(counts: npt.ArrayLike) -> tuple[float, float]:
    """Return the log odds ratio of a 2 x 2 table of clean counts and its standard error.

    ln(n11 n22 / (n12 n21)) and sqrt(1/n11 + 1/n12 + 1/n21 + 1/n22) (Woolf), against the
    population.

    Raises:
        OptionError: the table is not 2 x 2.
        EstimationError: a count is not positive.
    """
    table = _two_by_two(counts, "counts")
    return _log_odds(table), math.sqrt(float((1 / table).sum()))


def odds_ratio_spread(table: TableWithCovariance) -> OddsRatioSpread:
    """Return how widely an estimated odds ratio is spread, and the independence loss (Ma 3.2.2).

    By the delta method: the derivative of the log odds ratio by each count is plus or minus one
    over it, and the table's covariance against the population holds the randomization.

    Raises:
        OptionError: the table is not 2 x 2.
        EstimationError: an estimated count is not positive.
    """
    counts = _two_by_two(table.counts, "table")
    gradient = _gradient(counts).ravel()
    variance = float(gradient @ table.covariance(population=True) @ gradient)
    log_odds, clean = log_odds_ratio(counts)
    return OddsRatioSpread(log_odds, math.sqrt(max(0.0, variance)), clean)


def predicted_log_odds_se(
    joint: npt.ArrayLike, channel_a: Transition, channel_b: Transition, records: int
) -> float:
    """Return the standard error the log odds ratio of two randomized variables will have.

    Exact in the limit of many records, with no data: the estimate of the log odds ratio is to
    first order a mean over the records of a function of the report with known variance.

    Args:
        joint: 2 x 2 true probabilities of the pair, or counts; all positive.
        channel_a: the channel of the first variable (rows), two true categories.
        channel_b: the channel of the second, randomized independently.
        records: N.

    Raises:
        OptionError: `joint` is not 2 x 2, a channel has not two true categories, or `records` is
            not positive.
        EstimationError: a probability is not positive.
        SingularChannel: a channel has no inverse.
    """
    if records < 1:
        raise OptionError(f"records must be at least 1, not {records}.", where="records")
    if (channel_a.shape[0], channel_b.shape[0]) != (2, 2):
        raise OptionError(
            f"The odds ratio is of two binary variables; the channels have {channel_a.shape[0]}"
            f" and {channel_b.shape[0]} true categories.",
            where="channel",
            remedy="Give channels of binary variables.",
        )
    table = _two_by_two(joint, "joint")
    theta = table / table.sum()
    reported = channel_b.apply(channel_a.apply(theta, 0), 1)
    per_report = channel_b.solve_adjoint(channel_a.solve_adjoint(_gradient(theta), 0), 1)
    # The mean of `per_report` is the sum of theta times the gradient, which is 0.
    return math.sqrt(float((reported * np.square(per_report)).sum()) / records)


def _gradient(counts: Tensor) -> Tensor:
    """Return the derivatives of ln(n11 n22 / (n12 n21))."""
    gradient: Tensor = np.array([[1.0, -1.0], [-1.0, 1.0]]) / counts
    return gradient


def _log_odds(counts: Tensor) -> float:
    return float((np.array([[1.0, -1.0], [-1.0, 1.0]]) * np.log(counts)).sum())


def _two_by_two(counts: npt.ArrayLike, where: str) -> Tensor:
    table: Tensor = np.asarray(counts, dtype=np.float64)
    if table.shape != (2, 2):
        raise OptionError(
            f"An odds ratio is of a 2 x 2 table, not one of shape {table.shape}.",
            where=where,
            remedy="Choose two binary variables.",
        )
    if not np.all(table > 0):
        raise EstimationError(
            "A cell of the 2 x 2 table is not positive; the log odds ratio does not exist.",
            where=where,
            remedy="Use more records or less randomization, or the maximum-likelihood estimate.",
        )
    return table


def _two_distributions(p: npt.ArrayLike, q: npt.ArrayLike) -> tuple[Tensor, Tensor]:
    a, b = _distribution(p, "p"), _distribution(q, "q")
    if a.shape != b.shape:
        raise OptionError(
            f"Counts of shapes {a.shape} and {b.shape} are not over the same cells.", where="q"
        )
    return a, b


def _distribution(counts: npt.ArrayLike, where: str) -> Tensor:
    values: Tensor = np.asarray(counts, dtype=np.float64)
    if not np.all(np.isfinite(values)):
        raise OptionError("A count is infinite or not a number.", where=where)
    if np.any(values < 0):
        raise OptionError(
            "A count is negative; the distance between distributions is not defined for it.",
            where=where,
            remedy="Project the estimate onto the distributions first, or use maximum likelihood.",
        )
    total = float(values.sum())
    if total <= 0:
        raise OptionError("The counts are all 0.", where=where)
    shares: Tensor = values / total
    return shares
