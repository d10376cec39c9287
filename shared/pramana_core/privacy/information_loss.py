"""How far estimated counts are from the true ones, and what randomization does to independence.

Distances between two sets of counts, or between a density and its reconstruction (Ma 3.2.1), and
the spread of the odds ratio of two binary variables (Ma 3.2.2), estimated from a table and
predicted before there is any data.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from pramana_core.channels import Transition
from pramana_core.errors import EstimationError, OptionError
from pramana_core.marginals.counts import Tensor

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
