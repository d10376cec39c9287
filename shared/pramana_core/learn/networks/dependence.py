"""The dependence of two variables, as coefficients of uncorrelated functions of each variable.

The joint distribution of a pair is p(x) q(y) (1 + sum_kl b_kl f_k(x) g_l(y)), where f_k and g_l
have mean 0 and variance 1. Independence is b = 0. Along a chain, b_uv = b_uw b_wv.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.special import xlogy

from pramana_core.errors import EstimationError, SingularChannel
from pramana_core.marginals.counts import Marginals, Tensor

_VARIANCES = np.concatenate([[0.0], np.geomspace(1e-6, 1.0, 61)])
"""The candidates for the variance of the coefficients; 0 means independence."""

_FITTING = 50
_LEAST = 1e-12

_FLAT = 0.05
"""The minimum eigenvalue of a correlation matrix; noise may make lower ones."""


@dataclass(frozen=True, eq=False)
class Coefficients:
    """Estimated coefficients as a vector, for tests of the hypothesis that all of them are 0.

    `covariance` is that of their errors relative to the population's coefficients, so each variance
    is at least 1 / `records`.
    """

    values: Tensor
    covariance: Tensor
    records: int

    @cached_property
    def _axes(self) -> tuple[Tensor, Tensor]:
        spread, turn = np.linalg.eigh((self.covariance + self.covariance.T) / 2)
        return np.maximum(spread, 1 / self.records), turn

    @cached_property
    def p_value(self) -> float:
        """The p-value of the score test against coefficients of one common variance (Lin 1997)."""
        variances, turn = self._axes
        statistic = float(np.sum(np.square(turn.T @ self.values / variances)))
        return _tail(statistic, 1 / variances)

    @property
    def omnibus(self) -> float:
        """The chi-square statistic for the hypothesis that all coefficients are 0."""
        variances, turn = self._axes
        return float(np.sum(np.square(turn.T @ self.values) / variances))

    @property
    def gain(self) -> float:
        """The log evidence against "all coefficients are 0", in nats, at least 0."""
        return float(self._gains(self.values[None])[0])

    @property
    def inflation(self) -> float:
        """The mean factor by which randomization increases the variance of the coefficients."""
        return max(1.0, float(np.trace(self.covariance)) * self.records / len(self.values))

    @property
    def sure_gain(self) -> float:
        """A gain that one bootstrap sample in 10^9 does not reach; -inf if no bound is found.

        It is six standard deviations below a lower bound of the gain. The bounds are Jensen's
        inequality for the gain and Poincaré's for the variance.
        """
        size, count = float(self.values @ self.values), len(self.values)
        if size == 0:
            return -math.inf
        # An eigenvalue of at least 1 / records is at most the covariance's plus 1 / records.
        spread = float(self.values @ self.covariance @ self.values) / size + 1 / self.records
        place = int(np.searchsorted(_VARIANCES, size / count))
        more = float(_VARIANCES[min(place, len(_VARIANCES) - 1)])
        try:
            low = np.linalg.cholesky(self.covariance)
            high = np.linalg.cholesky(self.covariance + more * np.eye(count))
        except np.linalg.LinAlgError:
            return -math.inf
        logs = float(np.log(np.diag(high) / np.diag(low)).sum())
        deviation = math.sqrt(float(np.square(np.linalg.solve(low, self.values)).sum()) + count)
        return size / 2 * more / (spread * (spread + more)) - logs - 6 * deviation

    def resampled(self, draws: int, rng: np.random.Generator) -> Tensor:
        """Return the gains in bootstrap samples, (draws,), equal on every processor."""
        variances, turn = self._axes
        noise = rng.standard_normal((draws, len(variances)))
        return self._gains(self.values + noise @ (turn * np.sqrt(variances)) @ turn.T)

    def _gains(self, values: Tensor) -> Tensor:
        """Return the maximized log-likelihood ratio of normal coefficients against zero
        coefficients.
        """
        variances, turn = self._axes
        squares = np.square(values @ turn)
        logs = []
        for more in _VARIANCES:
            whole = variances + more
            logs.append(-0.5 * (np.log(whole).sum() + (squares / whole).sum(axis=1)))
        table = np.stack(logs)
        gains: Tensor = table.max(axis=0) - table[0]
        return gains


@dataclass(frozen=True, eq=False)
class Dependence:
    """The dependence of a pair of variables.

    Attributes:
        matrix: the coefficients, with a row for each function of the first variable and a column
            for each of the second.
        covariance: that of the coefficients' errors relative to the population, in row order.
        records: N.
        kept: the factor for the coefficients that shrinks them to independence (James and Stein).
        information: the mutual information of the shrunk table, in nats.
    """

    matrix: Tensor
    covariance: Tensor
    records: int
    kept: float
    information: float

    @cached_property
    def independence(self) -> Coefficients:
        """The coefficients in the form for testing the hypothesis of independence."""
        return Coefficients(self.matrix.ravel(), self.covariance, self.records)

    @property
    def transposed(self) -> Dependence:
        """The dependence with the two variables exchanged."""
        rows, columns = self.matrix.shape
        order = np.arange(rows * columns).reshape(rows, columns).T.ravel()
        covariance = self.covariance[np.ix_(order, order)]
        return Dependence(self.matrix.T, covariance, self.records, self.kept, self.information)


@dataclass(frozen=True, eq=False)
class Dependences:
    """The dependences of all pairs of some variables; each is estimated only once."""

    marginals: Marginals
    _singles: dict[str, tuple[Tensor, Tensor]] = field(default_factory=dict)
    _pairs: dict[tuple[str, str], Dependence | None] = field(default_factory=dict)

    def of(self, first: str, second: str) -> Dependence | None:
        """Return the dependence of two variables, or None if no reports estimate it."""
        if (first, second) not in self._pairs:
            pair = self._estimate(first, second)
            self._pairs[first, second] = pair
            self._pairs[second, first] = None if pair is None else pair.transposed
        return self._pairs[first, second]

    def beyond(self, first: str, middles: Sequence[str], second: str) -> Coefficients | None:
        """Return the part of a pair's dependence that `middles` do not explain, or None.

        The explained part is the dependence between the best linear predictors from the functions
        of `middles`. Errors of different pairs are assumed independent. None means that a pair is
        not estimable.
        """
        whole = self.of(first, second)
        left = [self.of(first, middle) for middle in middles]
        right = [self.of(middle, second) for middle in middles]
        inverse = self._inverse(middles)
        if whole is None or inverse is None:
            return None
        before = np.hstack([part.matrix for part in left if part is not None])
        behind = np.vstack([part.matrix for part in right if part is not None])
        if before.shape[1] < len(inverse) or len(behind) < len(inverse):
            return None
        covariance, start = whole.covariance, 0
        rows, columns = whole.matrix.shape
        for one, other in zip(left, right, strict=True):
            if one is None or other is None:
                return None
            place = slice(start, start + len(other.matrix))
            start = place.stop
            width = len(other.matrix)
            after, ahead = inverse[place] @ behind, before @ inverse[:, place]
            left_part = (one.covariance.reshape(-1, width) @ after).reshape(rows, width, -1)
            right_part = (ahead @ other.covariance.reshape(width, -1)).reshape(-1, width, columns)
            covariance = covariance + (after.T @ left_part).reshape(covariance.shape)
            covariance = covariance + (ahead @ right_part).reshape(covariance.shape)
        values = (whole.matrix - before @ inverse @ behind).ravel()
        return Coefficients(values, covariance, whole.records)

    def _inverse(self, names: Sequence[str]) -> Tensor | None:
        widths = [self._single(name)[1].shape[1] for name in names]
        ends = np.cumsum([0, *widths])
        matrix = np.eye(int(ends[-1]))
        for a, b in itertools.combinations(range(len(names)), 2):
            pair = self.of(names[a], names[b])
            if pair is None:
                return None
            part = pair.kept * pair.matrix
            matrix[ends[a] : ends[a + 1], ends[b] : ends[b + 1]] = part
            matrix[ends[b] : ends[b + 1], ends[a] : ends[a + 1]] = part.T
        values, turn = np.linalg.eigh(matrix)
        inverse: Tensor = (turn / np.maximum(values, _FLAT)) @ turn.T
        return inverse

    def _single(self, name: str) -> tuple[Tensor, Tensor]:
        """Return the distribution of a variable and its functions, as (categories, functions)."""
        if name not in self._singles:
            counts = np.maximum(self.marginals.marginal([name]).counts, 0.5)
            law = counts / counts.sum()
            root = np.sqrt(law)
            turn, _ = np.linalg.qr(np.column_stack([root, np.eye(len(law))]))
            self._singles[name] = law, turn[:, 1 : len(law)] / root[:, None]
        return self._singles[name]

    def _estimate(self, first: str, second: str) -> Dependence | None:
        try:
            table = self.marginals.unbiased([first, second])
            if table is None:
                table = self.marginals.marginal([first, second])
        except (SingularChannel, EstimationError):
            return None
        (law, functions), (other, others) = self._single(first), self._single(second)
        records = table.records
        weights = np.einsum("ik,jl->klij", functions, others)
        weights = weights.reshape(-1, *table.counts.shape) / records
        values = np.tensordot(weights, table.counts, axes=2)
        covariance = table.covariance_of(weights, population=True)
        coefficients = Coefficients(values, covariance, records)
        kept = 1.0
        if table.variance(population=False).any():
            statistic = coefficients.omnibus
            kept = max(0.0, 1 - len(values) / statistic) if statistic > 0 else 0.0
        matrix = values.reshape(functions.shape[1], others.shape[1])
        information = _information(law, other, 1 + kept * functions @ matrix @ others.T)
        return Dependence(matrix, covariance, records, kept, information)


def _information(law: Tensor, other: Tensor, ratio: Tensor) -> float:
    """Return the mutual information of a table p q r once it is fitted to the margins p and q."""
    plain = np.multiply.outer(law, other)
    table = plain * np.maximum(ratio, _LEAST)
    if ratio.min() < 0:
        for _ in range(_FITTING):
            table = table * (law / table.sum(axis=1))[:, None]
            table = table * (other / table.sum(axis=0))
    table = table / table.sum()
    return float(xlogy(table, table).sum() - xlogy(table, plain).sum())


def _tail(statistic: float, weights: Tensor) -> float:
    """Return the probability that sum w z^2 exceeds a statistic (Liu, Tang and Zhang 2009)."""
    # This import takes half a second.
    from scipy.stats import chi2, ncx2

    one, two, three, four = (float(np.sum(weights**power)) for power in (1, 2, 3, 4))
    skewness, kurtosis = three / two**1.5, four / two**2
    if skewness**2 > kurtosis * (1 + 1e-9):
        scale = 1 / (skewness - math.sqrt(skewness**2 - kurtosis))
        shift = skewness * scale**3 - scale**2
        freedom = scale**2 - 2 * shift
    else:
        scale, shift, freedom = 1 / skewness, 0.0, two**3 / three**2
    at = (statistic - one) / math.sqrt(two) * scale + freedom + shift
    return float(ncx2.sf(at, freedom, shift) if shift > 0 else chi2.sf(at, freedom))
