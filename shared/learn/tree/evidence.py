"""What a table of an attribute and the class says of the split, and how much of it is chance.

With T a K x m table of estimated counts in a node, n its sum, r and c its margins, the information
gain is sum T log2(T n / (r c)) / n (Ma 7.2.1), and 2 n ln 2 times that is the likelihood ratio
statistic of independence. If attribute and class are independent in the node it is, to second order
in the errors of T, the quadratic form e'We with W half its Hessian at the table E = r c'/n,

    W = diag(1/E) - [same row]/r - [same column]/c + 1/n.

The covariance of T is V + diag(E) - EE'/N: V of randomization, the rest of drawing N records. So
chance alone is expected to show tr(W Cov), with variance 2 tr((W Cov)^2), of which tr(W V) comes of
randomization; a multiple of a chi-square with these moments gives the p-value (Satterthwaite
1946). Where nothing is randomized V is 0, the mean is (K-1)(m-1) and this is the G-test.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaincc, xlogy

from shared.learn.common.projection import project_to_simplex
from shared.marginals.counts import Tensor

EMPTY = 1e-9
"""A node or class with less than this share of all records has none: the rest is rounding."""

EVIDENT = 2.0
"""A category enters the test if it has more records than this many standard errors of the noise."""


@dataclass(frozen=True)
class GainEvidence:
    """The gain of a split in bits, and what is known of its error.

    `se` is its standard error against the population; `chance` what would be expected if attribute
    and class were independent, `noise` the part of that which comes of randomization;
    `degrees_of_freedom` are those of the test and `p_value` its result.
    """

    gain: float
    se: float
    chance: float
    noise: float
    degrees_of_freedom: int
    p_value: float

    @property
    def excess(self) -> float:
        """The gain less what randomization alone adds to it: an estimate of the true records'."""
        return self.gain - self.noise


def valid_rows(rows: Tensor) -> Tensor:
    """Return the nearest distribution to each row, which must sum to 1."""
    return rows if rows.min() >= 0 else project_to_simplex(rows)


def valid_counts(counts: Tensor) -> Tensor:
    """Return the nearest table without negative counts of the same sum, which must be positive."""
    if counts.min() >= 0:
        return counts
    total = float(counts.sum())
    return valid_rows(counts.reshape(1, -1) / total).reshape(counts.shape) * total


def entropy(counts: Tensor) -> float:
    """Return the entropy, in bits, of the distribution that valid counts are proportional to."""
    total = float(counts.sum())
    return (float(xlogy(total, total)) - _self_information(counts)) / (total * math.log(2))


def information_gain(counts: Tensor) -> float:
    """Return the information, in bits, that rows of valid counts (K, m) give on columns."""
    rows = counts.sum(axis=1)
    total = float(rows.sum())
    gain = _self_information(counts) + total * math.log(total)
    gain -= _self_information(rows) + _self_information(counts.sum(axis=0))
    return max(gain, 0.0) / (total * math.log(2))


def _self_information(counts: Tensor) -> float:
    return float(xlogy(counts, counts).sum())


def weigh(counts: Tensor, covariance: Tensor, records: int) -> GainEvidence:
    """Return what a table says of splitting a node by an attribute.

    Args:
        counts: estimated counts within the node, (K, m) for K categories and m classes, with a
            positive sum.
        covariance: of the counts given the records, (K m, K m), cells in C order.
        records: the number of all records.
    """
    valid = valid_counts(counts)
    gain = information_gain(valid)
    se = _standard_error(valid, gain, covariance + _sampling(counts, records))
    cells = _evident(counts, covariance)
    table = counts[np.ix_(*cells)]
    if min(table.shape) < 2 or table.sum() <= 0:
        # Nothing shows that there are two categories and two classes: all of the gain is chance.
        return GainEvidence(gain, se, gain, gain, 1, 1.0)
    flat = (cells[0][:, None] * counts.shape[1] + cells[1]).ravel()
    noise, mean, variance = _chance(table, covariance[np.ix_(flat, flat)], records)
    total = float(table.sum())
    ratio = 2 * total * math.log(2) * information_gain(valid_counts(table))
    bits = 2 * float(counts.sum()) * math.log(2)
    degrees = (table.shape[0] - 1) * (table.shape[1] - 1)
    # A multiple s of a chi-square with d degrees has mean s d and variance 2 s^2 d.
    p_value = float(gammaincc(mean**2 / variance, ratio * mean / variance))
    return GainEvidence(gain, se, mean / bits, noise / bits, degrees, p_value)


def _chance(table: Tensor, covariance: Tensor, records: int) -> tuple[float, float, float]:
    """Return tr(W V), the mean and the variance of the statistic under independence."""
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
    noise = max(float((hessian * covariance).sum()), 0.0)
    product = hessian @ (covariance + _sampling(expected, records))
    degrees = (k - 1) * (m - 1)
    mean = degrees + noise
    # The product has at most that many eigenvalues above 0, and they sum to the mean.
    variance = 2 * max(float((product * product.T).sum()), mean**2 / degrees)
    return noise, mean, variance


def _sampling(counts: Tensor, records: int) -> Tensor:
    """Return the covariance of counts that comes of drawing the records."""
    flat = counts.ravel()
    part: Tensor = np.diag(flat) - np.outer(flat, flat) / records
    return part


def _evident(counts: Tensor, covariance: Tensor) -> list[np.ndarray[tuple[int], np.dtype[np.intp]]]:
    """Return the rows and the columns that are there beyond the noise of their own counts."""
    k, m = counts.shape
    blocks = covariance.reshape(k, m, k, m)
    errors = np.einsum("iaib->i", blocks), np.einsum("iaja->a", blocks)
    margins = counts.sum(axis=1), counts.sum(axis=0)
    return [
        np.flatnonzero(margin > EVIDENT * np.sqrt(np.maximum(error, 0.0)))
        for margin, error in zip(margins, errors, strict=True)
    ]


def _standard_error(valid: Tensor, gain: float, covariance: Tensor) -> float:
    """Return the standard error of the gain by the delta method."""
    total = valid.sum()
    rows, columns = valid.sum(axis=1, keepdims=True), valid.sum(axis=0, keepdims=True)
    seen = valid > 0
    ratio = np.divide(valid * total, rows * columns, out=np.ones(valid.shape), where=seen)
    slope = np.where(seen, np.log2(ratio) - gain, 0.0).ravel() / total
    return math.sqrt(max(float(slope @ covariance @ slope), 0.0))
