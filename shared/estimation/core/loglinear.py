"""Joint distributions from reports of few variables at a time: a log-linear model, shrunk.

Records that report pairs cannot tell the interactions of three. Maximum likelihood then has many
answers, and among those it has, the noise of the pairs is fitted too. This estimator takes

    theta_j proportional to exp(sum over sets t of at most `order` variables of f_t(j_t)),

without shrinkage the distribution of largest entropy for given margins of `order` variables, and
shrinks each interaction f_t by a normal prior whose variance is chosen by the likelihood of the
reports with f_t integrated out (empirical Bayes; the evidence framework of MacKay 1992, with a
Laplace approximation). An interaction the reports do not show is removed; one they show is kept.
There is nothing to tune.

The likelihood is that of the reports themselves through any channels, so that sampled blocks, joint
blocks and strata are all the same to it. The cost is O(cells d^2) a step, d the number of
parameters.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from shared.errors import EstimationError, LimitExceeded, NotConverged, OptionError
from shared.estimation.core.strata import Stratum
from shared.marginals.counts import Tensor

DESIGN_ENTRIES = 1 << 24
"""Cells, or reports, times parameters of a model: each such table takes 128 megabytes."""

STEP_COST = 1 << 32
"""Cells and reports, times the square of the parameters: the operations of one step."""

MAIN_VARIANCE = 100.0
"""Prior variance of a variable's own effect, on the log scale: flat for every practical purpose."""

_START, _FLOOR = 1.0, 1e-8
_CONVERGED = 1e-3
_FREELY = 50


@dataclass(frozen=True)
class Term:
    """The effects of a set of variables: their axes and their columns in the design."""

    axes: tuple[int, ...]
    columns: slice

    @property
    def size(self) -> int:
        """The number of parameters."""
        return int(self.columns.stop - self.columns.start)


@dataclass(frozen=True)
class EffectMatrix:
    """The model's effects over a domain of shape `shape`.

    `matrix` is cells x parameters, cells in C order. Its columns have mean square 1 and, within a
    term, are orthogonal, so that the order of the categories changes neither what they span nor
    the prior.
    """

    shape: tuple[int, ...]
    terms: tuple[Term, ...]
    matrix: Tensor


@dataclass(frozen=True)
class LogLinearFit:
    """A fitted model.

    `probabilities` has the design's shape. `covariance` is the mean square error of the parameters:
    their sampling covariance without shrinkage, plus the square of how far shrinkage moved them.
    `variances` are the prior variances found, by axes: near 0 where the reports show no
    interaction.
    """

    design: EffectMatrix
    probabilities: Tensor
    covariance: Tensor
    variances: dict[tuple[int, ...], float]
    log_likelihood: float
    steps: int

    def sensitivity(self) -> Tensor:
        """Return the derivatives of the probabilities by the parameters: cells x parameters."""
        return _sensitivity(self.design, self.probabilities.ravel())


def parameters(shape: Sequence[int], order: int) -> int:
    """Return the number of parameters of a model, without listing its effects.

    It is the sum of the elementary symmetric polynomials of the sizes less one, up to `order`.
    """
    of_size = [1] + [0] * order
    for size in shape:
        for k in range(order, 0, -1):
            of_size[k] += of_size[k - 1] * (size - 1)
    return sum(of_size[1:])


def affordable(shape: Sequence[int], order: int, reports: int) -> bool:
    """Whether a model can be fitted to this many different reports.

    Its derivatives are tables of cells and of reports by parameters; a step costs as much times the
    parameters.
    """
    count = parameters(shape, order)
    cells = math.prod(shape)
    entries = max(cells, reports) * count
    return entries <= DESIGN_ENTRIES and (cells + reports) * count**2 <= STEP_COST


def design(shape: Sequence[int], order: int) -> EffectMatrix:
    """Build the effects of all sets of up to `order` variables.

    Raises:
        OptionError: `order` is not between 1 and the number of variables.
        LimitExceeded: cells times parameters exceed `DESIGN_ENTRIES`.
    """
    if not 1 <= order <= len(shape):
        raise OptionError(
            f"order must be between 1 and {len(shape)}, not {order}.",
            where="order",
        )
    count = parameters(shape, order)
    if math.prod(shape) * count > DESIGN_ENTRIES:
        raise LimitExceeded(
            f"A log-linear model with {count} parameters over {math.prod(shape)} cells is too"
            " large.",
            remedy="Ask for fewer variables, or a lower order of interaction.",
        )
    contrasts = [_contrasts(size) for size in shape]
    terms, blocks, start = [], [], 0
    for size in range(1, order + 1):
        for axes in itertools.combinations(range(len(shape)), size):
            factors = [contrasts[a] if a in axes else np.ones((s, 1)) for a, s in enumerate(shape)]
            block = functools.reduce(_kron, factors)
            terms.append(Term(axes, slice(start, start + block.shape[1])))
            blocks.append(block)
            start += block.shape[1]
    return EffectMatrix(tuple(shape), tuple(terms), np.hstack(blocks))


def information(
    strata: Sequence[Stratum], sensitivity: Tensor, probabilities: Tensor, records: Sequence[float]
) -> Tensor:
    """Return the Fisher information that reports hold about parameters.

    N_s sum over the reports of (dq)(dq)'/q, q = P'theta, summed over strata.

    Args:
        strata: the channels; their counts are not used.
        sensitivity: derivatives of the cell probabilities, cells x parameters.
        probabilities: the cell probabilities.
        records: the expected number of records of each stratum.
    """
    total: Tensor = np.zeros((sensitivity.shape[1],) * 2)
    for stratum, number in zip(strata, records, strict=True):
        q, dq = _reported(stratum, probabilities, sensitivity)
        seen = q > 0
        total += number * (dq[seen].T / q[seen]) @ dq[seen]
    return np.asarray(total, dtype=np.float64)


def fit(
    strata: Sequence[Stratum],
    shape: Sequence[int],
    *,
    order: int = 2,
    possible: Tensor | None = None,
    max_steps: int = 500,
) -> LogLinearFit:
    """Fit the model to reported counts.

    Args:
        strata: reported counts with their channels; the true axes of each, flattened in C order,
            are the cells of `shape`.
        shape: the number of categories of each variable.
        order: the most variables that interact.
        possible: 1 where a cell can occur and 0 where not, in `shape`; default everywhere 1.
        max_steps: how often the effects and their variances are improved in turn.

    Raises:
        EstimationError: there are no records, or reports that the channels cannot make.
        OptionError, LimitExceeded: see `design`.
        NotConverged: the iteration did not settle.
    """
    records = [stratum.records for stratum in strata]
    if not sum(records) > 0:
        raise EstimationError("There are no records to estimate from.")
    effects = _affordable_design(shape, order, sum(s.reported.size for s in strata))
    base = np.ones(math.prod(shape)) if possible is None else possible.ravel().astype(np.float64)
    work = _Work(strata, effects, base, records)
    values = np.zeros(effects.matrix.shape[1])
    variances = np.array([MAIN_VARIANCE if len(t.axes) == 1 else _START for t in effects.terms])
    for step in range(1, max_steps + 1):
        precision = np.concatenate(
            [np.full(t.size, 1 / v) for t, v in zip(effects.terms, variances, strict=True)]
        )
        moved, covariance = work.improve(values, precision)
        # How far the answer moved, in its own standard errors.
        shift = float(np.max(np.abs(moved - values) / np.sqrt(np.diag(covariance))))
        values = moved
        if shift < _CONVERGED and step > 2:
            break
        found = _evidence(effects, values, covariance, variances)
        # Where the fixed point is circled rather than met, halfway (of the logarithms) leads in.
        variances = found if step <= _FREELY else np.sqrt(found * variances)
    else:
        raise NotConverged(
            f"The log-linear model did not settle in {max_steps} steps.",
            remedy="Lower the order of interaction, or ask for fewer variables.",
        )
    theta = work.probabilities(values)
    return LogLinearFit(
        effects,
        theta.reshape(effects.shape),
        work.uncertainty(values),
        {t.axes: float(v) for t, v in zip(effects.terms, variances, strict=True)},
        work.log_likelihood(theta),
        step,
    )


def _affordable_design(shape: Sequence[int], order: int, reports: int) -> EffectMatrix:
    if 1 <= order <= len(shape) and not affordable(shape, order, reports):
        raise LimitExceeded(
            f"A log-linear model with {parameters(shape, order)} parameters over"
            f" {math.prod(shape)} cells and {reports} reports is too large.",
            remedy="Ask for fewer variables, or a lower order of interaction.",
        )
    return design(shape, order)


@dataclass(frozen=True)
class _Work:
    """The penalized likelihood of a design's parameters given reports."""

    strata: Sequence[Stratum]
    effects: EffectMatrix
    base: Tensor
    records: Sequence[float]

    def probabilities(self, values: Tensor) -> Tensor:
        height = self.effects.matrix @ values
        raised: Tensor = self.base * np.exp(height - height[self.base > 0].max())
        return np.asarray(raised / raised.sum(), dtype=np.float64)

    def log_likelihood(self, theta: Tensor) -> float:
        total = 0.0
        for stratum in self.strata:
            q = stratum.expected(theta.reshape(*stratum.shape, 1))
            seen = stratum.column > 0
            if np.any(q[seen] <= 0):
                return -math.inf
            total += float(np.sum(stratum.column[seen] * np.log(q[seen])))
        return total

    def improve(self, values: Tensor, precision: Tensor) -> tuple[Tensor, Tensor]:
        """Take a step of Fisher scoring that does not lower the penalized likelihood."""
        theta = self.probabilities(values)
        before = self._penalized(values, precision)
        if before == -math.inf:
            raise EstimationError(
                "Some reports have probability zero under every true category: the channel given is"
                " not the one that made them.",
                remedy="Check that the plan belongs to these reports.",
            )
        gradient, held = self._slope(theta)
        covariance = _inverse(held + np.diag(precision))
        step, share = covariance @ (gradient - precision * values), 1.0
        while share > 1e-6 and self._penalized(values + share * step, precision) < before:
            share /= 2
        return values + share * step, covariance

    def uncertainty(self, values: Tensor) -> Tensor:
        """Return the mean square error of shrunk parameters.

        Shrinkage trades variance for bias: where an interaction is about as large as the reports
        can just tell, it is taken too small, and the posterior's errors alone would cover too
        little. So the errors are those of the parameters without shrinkage, and the distance to
        those, a step of Fisher scoring away, is added as a bias. Intervals then cover at their rate
        at the least; they are too wide where there is no interaction.
        """
        gradient, held = self._slope(self.probabilities(values))
        prior = np.full(len(values), 1 / MAIN_VARIANCE)
        sampling = _inverse(held + np.diag(prior))
        shift = sampling @ (gradient - prior * values)
        return sampling + np.outer(shift, shift)

    def _slope(self, theta: Tensor) -> tuple[Tensor, Tensor]:
        """Return the gradient of the log-likelihood and the information, by the parameters."""
        slopes = _sensitivity(self.effects, theta)
        gradient = np.zeros(slopes.shape[1])
        held = np.zeros((slopes.shape[1],) * 2)
        for stratum, number in zip(self.strata, self.records, strict=True):
            q, dq = _reported(stratum, theta, slopes)
            seen = q > 0
            gradient += dq[seen].T @ (stratum.reported.ravel()[seen] / q[seen])
            held += number * (dq[seen].T / q[seen]) @ dq[seen]
        return gradient, held

    def _penalized(self, values: Tensor, precision: Tensor) -> float:
        penalty = 0.5 * float(precision @ np.square(values))
        return self.log_likelihood(self.probabilities(values)) - penalty


def _evidence(
    effects: EffectMatrix, values: Tensor, covariance: Tensor, variances: Tensor
) -> Tensor:
    """Return the prior variances that raise the evidence (MacKay's fixed point).

    variance = |f|^2 / (number of its parameters that the reports determine).
    """
    new: Tensor = variances.copy()
    for index, term in enumerate(effects.terms):
        if len(term.axes) > 1:
            spread = np.diag(covariance)[term.columns].sum()
            determined = term.size - spread / variances[index]
            square = float(np.square(values[term.columns]).sum())
            new[index] = max(square / max(determined, 1e-3), _FLOOR)
    return new


def _contrasts(size: int) -> Tensor:
    """Return size x (size - 1): orthogonal columns of mean 0 and mean square 1."""
    scaled: Tensor = linalg.helmert(size).T * math.sqrt(size)
    return scaled


def _sensitivity(effects: EffectMatrix, theta: Tensor) -> Tensor:
    centred = effects.matrix - theta @ effects.matrix
    return np.asarray(theta[:, None] * centred, dtype=np.float64)


def _reported(stratum: Stratum, theta: Tensor, slopes: Tensor) -> tuple[Tensor, Tensor]:
    """Return the law of a report and its derivatives: L and L x parameters."""
    q = stratum.expected(theta.reshape(*stratum.shape, 1))[:, 0]
    return q, stratum.expected(slopes.reshape(*stratum.shape, -1))


def _kron(a: Tensor, b: Tensor) -> Tensor:
    return np.asarray(np.kron(a, b), dtype=np.float64)


def _inverse(matrix: Tensor) -> Tensor:
    factor = linalg.cho_factor(matrix, lower=True)
    inverse: Tensor = linalg.cho_solve(factor, np.eye(len(matrix)))
    return inverse
