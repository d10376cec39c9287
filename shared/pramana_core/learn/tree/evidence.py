"""The information of an attribute about the class in a table, and how much of it chance explains.

For a table T of estimated counts with sum n and margins r and c, the likelihood ratio statistic is
2 n ln 2 times the information gain (Ma 7.2.1). Under independence the statistic is about e'We,
where W = diag(1/E) - [same row]/r - [same column]/c + 1/n at E = r c'/n. Its mean is tr(W Cov) and
its variance 2 tr((W Cov)^2). The p-value comes from the multiple of a chi-square distribution that
has these moments (Satterthwaite 1946). The interval of the information comes from a normal
approximation of the statistic.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import gammaincc, xlogy

from pramana_core.learn.common.distributions import project_to_simplex
from pramana_core.marginals.counts import Tensor
from pramana_core.marginals.score_interval import normal_quantile
from pramana_core.marginals.tables import LEVEL

EMPTY = 1e-9
"""A node or class with less than this share of all records counts as empty (rounding)."""

EVIDENT = 2.0
"""A row or column enters the test if its count exceeds this many standard errors."""

_LEAST = 1e-12
_Z = normal_quantile(LEVEL)


@dataclass(frozen=True)
class GainEvidence:
    """The information gain of a split in bits, and its error.

    Attributes:
        gain, noise: the gain of the counts, and the part of it expected from randomization alone.
        chance: the gain expected if the attribute and the class are independent.
        information, interval: the gain minus `chance`, at least 0, and its 95 % interval.
        statistic, degrees, p_value: the likelihood ratio test; the statistic is 0 without a test.
    """

    gain: float
    noise: float
    chance: float
    information: float
    interval: tuple[float, float]
    statistic: float
    degrees: int
    p_value: float


def best_of(tried: int, p_value: float) -> float:
    """Return the chance that the smallest of `tried` p-values is at most `p_value` (Sidak)."""
    return 1.0 if p_value >= 1 else -math.expm1(tried * math.log1p(-p_value))


def valid_rows(rows: Tensor) -> Tensor:
    """Return the distribution nearest to each row, given rows whose sums are 1."""
    return rows if rows.min() >= 0 else project_to_simplex(rows)


def valid_counts(counts: Tensor) -> Tensor:
    """Return the nearest nonnegative table with the same sum; the sum must be positive."""
    if counts.min() >= 0:
        return counts
    total = float(counts.sum())
    return valid_rows(counts.reshape(1, -1) / total).reshape(counts.shape) * total


def information_gain(counts: Tensor) -> float:
    """Return the mutual information of a table's rows and columns, in bits; `counts` are valid."""
    rows = counts.sum(axis=1)
    total = float(rows.sum())
    gain = _self_information(counts) + total * math.log(total)
    gain -= _self_information(rows) + _self_information(counts.sum(axis=0))
    return max(gain, 0.0) / (total * math.log(2))


def _self_information(counts: Tensor) -> float:
    return float(xlogy(counts, counts).sum())


def weigh(
    counts: Tensor, covariance: Tensor, records: int, *, counted: bool = True
) -> GainEvidence:
    """Return the evidence of a table for splitting a node by an attribute.

    `counts` are (K, m) for K categories and m classes, with a positive sum. `covariance`, (K m, K
    m), is the covariance of the counts given the records. `counted` is explained at `Subtable`.
    """
    gain = information_gain(valid_counts(counts))
    bits = 2 * float(counts.sum()) * math.log(2)
    cells = _evident(counts, covariance)
    table = counts[np.ix_(*cells)]
    if min(table.shape) < 2 or table.sum() <= 0:
        # Fewer than two categories or classes stand out from the noise: all the gain is chance.
        return GainEvidence(gain, gain, gain, 0.0, (0.0, math.inf), 0.0, 1, 1.0)
    flat = (cells[0][:, None] * counts.shape[1] + cells[1]).ravel()
    covariance = covariance[np.ix_(flat, flat)]
    noise, mean, variance = _chance(table, covariance, records, counted=counted)
    valid = valid_counts(table)
    ratio = 2 * float(table.sum()) * math.log(2) * information_gain(valid)
    degrees = (table.shape[0] - 1) * (table.shape[1] - 1)
    stretch = _stretch(valid, ratio, covariance + _sampling(table, records), variance / (2 * mean))
    low, high = _information_interval(ratio - mean, variance, stretch)
    return GainEvidence(
        gain=gain,
        noise=noise / bits,
        chance=mean / bits,
        information=max(ratio - mean, 0.0) / bits,
        interval=(low / bits, high / bits),
        statistic=ratio,
        degrees=degrees,
        # A multiple s of a chi-square with d degrees has mean s d and variance 2 s^2 d.
        p_value=float(gammaincc(mean**2 / variance, ratio * mean / variance)),
    )


def _information_interval(above: float, variance: float, stretch: float) -> tuple[float, float]:
    """Return the two ends of {g >= 0: (above - g)^2 <= z^2 (variance + 4 stretch g)}."""
    middle = above + 2 * _Z**2 * stretch
    half = math.sqrt(max(middle**2 - above**2 + _Z**2 * variance, 0.0))
    return max(middle - half, 0.0), max(middle + half, 0.0)


def _chance(
    table: Tensor, covariance: Tensor, records: int, *, counted: bool
) -> tuple[float, float, float]:
    """Return tr(W Cov), and the statistic's mean and variance under independence."""
    total = table.sum()
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    k, m = table.shape
    expected = np.outer(rows, columns) / total
    own_row, own_column = np.eye(k)[:, None, :, None], np.eye(m)[None, :, None, :]
    hessian = (
        own_row * (own_column / expected[:, :, None, None] - 1 / rows[:, None, None, None])
        - own_column / columns[None, :, None, None]
        + 1 / total
    ).reshape(k * m, k * m)
    degrees = (k - 1) * (m - 1)
    if counted:
        noise = max(float((hessian * covariance).sum()), 0.0)
        mean, drawn = degrees + noise, _sampling(expected, records)
    else:
        # The error is the model's alone: sampling the node's own records adds nothing.
        drawn = _sampling(table, records)
        noise = mean = max(float((hessian * (covariance + drawn)).sum()), _LEAST)
    product = hessian @ (covariance + drawn)
    # The product has at most `degrees` positive eigenvalues, and they sum to the mean.
    variance = 2 * max(float((product * product.T).sum()), mean**2 / degrees)
    return noise, mean, variance


def _sampling(counts: Tensor, records: int) -> Tensor:
    flat = counts.ravel()
    part: Tensor = np.diag(flat) - np.outer(flat, flat) / records
    return part


def _evident(counts: Tensor, covariance: Tensor) -> list[npt.NDArray[np.intp]]:
    k, m = counts.shape
    blocks = covariance.reshape(k, m, k, m)
    # Views: a large table needs only the covariances within a row or a column.
    of_rows, of_columns = np.einsum("iaib->iab", blocks), np.einsum("iaja->aij", blocks)
    left = [np.arange(k), np.arange(m)]
    while True:
        rows, columns = left
        table = counts[np.ix_(rows, columns)]
        errors = (
            of_rows[np.ix_(rows, columns, columns)].sum(axis=(1, 2)),
            of_columns[np.ix_(columns, rows, rows)].sum(axis=(1, 2)),
        )
        found = [
            places[margin > EVIDENT * np.sqrt(np.maximum(error, 0.0))]
            for places, margin, error in zip(
                left, (table.sum(axis=1), table.sum(axis=0)), errors, strict=True
            )
        ]
        if sum(map(len, found)) == sum(map(len, left)):
            return found
        left = found


def _stretch(valid: Tensor, ratio: float, covariance: Tensor, usual: float) -> float:
    if ratio <= 0:
        return usual
    total = valid.sum()
    rows, columns = valid.sum(axis=1, keepdims=True), valid.sum(axis=0, keepdims=True)
    seen = valid > 0
    of_chance = np.divide(valid * total, rows * columns, out=np.ones(valid.shape), where=seen)
    slope = np.where(seen, np.log(of_chance) - ratio / (2 * total), 0.0).ravel()
    return max(float(slope @ covariance @ slope) / ratio, 1e-3 * usual)
