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

The likelihood of a log-linear model's parameters given reports, with normal priors. It is worked
out at many sets of parameters at once: one for a fit, hundreds for intervals.

Also here:

* Models of a true table: which variables it lets depend on which, and what is likely under it.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import linalg

from pramana_core.errors import EstimationError, LimitExceeded, OptionError
from pramana_core.estimation.axes import Stratum
from pramana_core.marginals.counts import Tensor
from pramana_core.marginals.support_counts import Flags
from pramana_core.plan import Plan
from pramana_core.progress import Tick, no_cancel

_LEAST_SHARE, _KEPT, _ROUNDING = 1e-6, 0.3, 1e-13


@dataclass(frozen=True)
class Points:
    """A model at some sets of parameters.

    `values` is (sets, parameters), `theta` has the cells' probabilities (sets, cells), `laws` those
    of each stratum's reports (sets, reports) and `likelihood` the penalized log-likelihoods (sets).
    """

    values: Tensor
    theta: Tensor
    laws: tuple[Tensor, ...]
    likelihood: Tensor

    def of(self, chosen: Flags) -> Points:
        """Return some of the sets."""
        laws = tuple(law[chosen] for law in self.laws)
        return Points(self.values[chosen], self.theta[chosen], laws, self.likelihood[chosen])

    def replaced(self, chosen: Flags, others: Points) -> Points:
        """Return the sets with those of `others` where chosen."""
        where = chosen[:, None]
        pairs = zip(self.laws, others.laws, strict=True)
        return Points(
            np.where(where, others.values, self.values),
            np.where(where, others.theta, self.theta),
            tuple(np.where(where, new, old) for old, new in pairs),
            np.where(chosen, others.likelihood, self.likelihood),
        )


@dataclass(frozen=True)
class Slopes:
    """What changes with the parameters at some sets of them.

    `cells` are the derivatives of the cells' probabilities (sets, cells, parameters), `gradient`
    those of the penalized log-likelihood (sets, parameters) and `information` is Fisher's, with
    the priors' precision (sets, parameters, parameters).
    """

    cells: Tensor
    gradient: Tensor
    information: Tensor


@dataclass(frozen=True)
class Penalized:
    """The likelihood of parameters with independent normal priors of mean 0.

    Args:
        strata: the reports.
        base: 1 of each cell that can occur and 0 of others, (cells).
        matrix: the effects: cells x parameters.
        precision: one over the prior variance of each parameter.
        tick: called whenever derivatives are worked out; what it raises stops the work.
    """

    strata: Sequence[Stratum]
    base: Tensor
    matrix: Tensor
    precision: Tensor
    tick: Tick = no_cancel

    def at(self, values: Tensor) -> Points:
        """Return the model at sets of parameters, (sets, parameters)."""
        height = values @ self.matrix.T
        height = height - height[:, self.base > 0].max(axis=1, keepdims=True)
        raised = self.base * np.exp(height)
        theta = raised / raised.sum(axis=1, keepdims=True)
        laws = tuple(s.expected(theta.T.reshape(*s.shape, -1)).T for s in self.strata)
        total = -0.5 * np.square(values) @ self.precision
        for stratum, law in zip(self.strata, laws, strict=True):
            seen = stratum.column[:, 0] > 0
            # Rounding may leave an impossible report a little below zero.
            with np.errstate(divide="ignore"):
                total = total + np.log(np.maximum(law[:, seen], 0.0)) @ stratum.column[seen, 0]
        return Points(values, theta, laws, np.asarray(total, dtype=np.float64))

    def slopes(self, points: Points) -> Slopes:
        """Return the derivatives at some sets of parameters."""
        self.tick()
        theta = points.theta
        by = theta[:, :, None] * (self.matrix[None] - (theta @ self.matrix)[:, None])
        sets, cells, count = by.shape
        gradient = -points.values * self.precision
        held = np.broadcast_to(np.diag(self.precision), (sets, count, count)).copy()
        columns = by.transpose(1, 0, 2).reshape(cells, -1)
        for stratum, law in zip(self.strata, points.laws, strict=True):
            moved = stratum.expected(columns.reshape(*stratum.shape, -1))
            moved = moved.reshape(-1, sets, count).transpose(1, 0, 2)
            seen = np.broadcast_to((law > 0)[:, :, None], moved.shape)
            scaled = np.divide(moved, law[:, :, None], out=np.zeros(moved.shape), where=seen)
            gradient = gradient + np.tensordot(scaled, stratum.column[:, 0], axes=(1, 0))
            held += stratum.records * np.matmul(scaled.transpose(0, 2, 1), moved)
        return Slopes(by, gradient, held)

    def improve(self, here: Points) -> tuple[Points, Tensor]:
        """Take a step of Fisher scoring, from one set, that does not lower the likelihood.

        Returns:
            The model after it, and the inverse of the information before.

        Raises:
            EstimationError: reports that the channels cannot make.
        """
        if here.likelihood[0] == -math.inf:
            raise EstimationError(
                "Some reports have probability zero under every true category: the channel given is"
                " not the one that made them.",
                remedy="Check that the plan belongs to these reports.",
            )
        slopes = self.slopes(here)
        covariance = inverse(slopes.information[0])
        step, share = covariance @ slopes.gradient[0], 1.0
        # What the gradient promises of a small step; of it a good part must come true, or scoring,
        # whose information is only expected, leaps from one side of the summit to the other.
        promised = float(slopes.gradient[0] @ step)
        rounding = _ROUNDING * (1 + abs(here.likelihood[0]))
        there = self.at(here.values + step)
        while (
            share > _LEAST_SHARE
            and there.likelihood[0] - here.likelihood[0] < _KEPT * share * promised - rounding
        ):
            share /= 2
            there = self.at(here.values + share * step)
        return there, covariance


def inverse(matrix: Tensor) -> Tensor:
    """Return the inverse of a positive definite matrix."""
    factor = linalg.cho_factor(matrix, lower=True)
    inverted: Tensor = linalg.cho_solve(factor, np.eye(len(matrix)))
    return inverted


DESIGN_ENTRIES = 1 << 24
"""Cells, or reports, times parameters of a model: each such table takes 128 megabytes."""

STEP_COST = 1 << 32
"""Cells and reports, times the square of the parameters: the operations of one step."""

MAIN_VARIANCE = 100.0
"""Prior variance of a variable's own effect, on the log scale: flat for every practical purpose."""

WEAK_VARIANCE = 4.0
"""Prior variance of an interaction in intervals and tests, which must not depend on shrinkage.

Effects of one standard deviation multiply odds by e^2 = 7 and more: reports overrule it wherever
they tell anything, and where they do not it keeps log odds finite.
"""

_START, _FLOOR = 1.0, 1e-8
_CONVERGED = 1e-3
_FREELY, _FASTER = 50, 1.1
_LONG, _PATIENCE, _GAINED, _CERTIFYING = 200, 50, 1e-3, 100


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
    interaction. `values` are the parameters, and `weak` is the model with the weak priors that
    intervals and tests take (`WEAK_VARIANCE`).
    """

    design: EffectMatrix
    probabilities: Tensor
    covariance: Tensor
    variances: dict[tuple[int, ...], float]
    log_likelihood: float
    steps: int
    weak: Penalized
    values: Tensor

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


def affordable(shape: Sequence[int], order: int, reports: int, most: int = STEP_COST) -> bool:
    """Whether a model can be fitted to this many different reports, a step costing so much at most.

    Its derivatives are tables of cells and of reports by parameters; a step costs as much times the
    parameters.
    """
    count = parameters(shape, order)
    cells = math.prod(shape)
    entries = max(cells, reports) * count
    return entries <= DESIGN_ENTRIES and (cells + reports) * count**2 <= most


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
    tick: Tick = no_cancel,
) -> LogLinearFit:
    """Fit the model to reported counts.

    Args:
        strata: reported counts with their channels; the true axes of each, flattened in C order,
            are the cells of `shape`.
        shape: the number of categories of each variable.
        order: the most variables that interact.
        possible: 1 where a cell can occur and 0 where not, in `shape`; default everywhere 1.
        max_steps: how often the effects and their variances are improved in turn at most; then
            the variances of the greatest evidence found are taken.
        tick: called at each step, here and in what is later asked of the fit; what it raises stops
            the work.

    Raises:
        EstimationError: there are no records, or reports that the channels cannot make.
        OptionError, LimitExceeded: see `design`.
    """
    records = [stratum.records for stratum in strata]
    if not sum(records) > 0:
        raise EstimationError("There are no records to estimate from.")
    effects = _affordable_design(shape, order, sum(s.reported.size for s in strata))
    base = np.ones(math.prod(shape)) if possible is None else possible.ravel().astype(np.float64)
    flat = np.array([MAIN_VARIANCE if len(t.axes) == 1 else _START for t in effects.terms])
    model = Penalized(strata, base, effects.matrix, _precision(effects, flat), tick)
    found, variances, step = _settled(model, effects, flat, max_steps)
    return LogLinearFit(
        effects,
        found.theta[0].reshape(effects.shape),
        _uncertainty(model, found),
        {t.axes: float(v) for t, v in zip(effects.terms, variances, strict=True)},
        _log_likelihood(strata, found),
        step,
        replace(model, precision=_precision(effects, _weakly(effects))),
        found.values[0],
    )


def _settled(
    model: Penalized, effects: EffectMatrix, variances: Tensor, max_steps: int
) -> tuple[Points, Tensor, int]:
    """Improve the effects and their variances in turn until they settle, or gain nothing more.

    The variances' fixed point may have no end: where effects are as large as can be, one grows
    what the other shrinks, and the evidence stays. So it ends where the best evidence found is no
    longer exceeded; then the effects are certified at those variances (`_certified`).
    """
    here = model.at(np.zeros((1, effects.matrix.shape[1])))
    pace, last = np.ones(len(variances)), np.zeros(len(variances))
    best, kept, since = -math.inf, (here, variances), 0
    for step in range(1, max_steps + 1):
        model = replace(model, precision=_precision(effects, variances))
        before = model.at(here.values)
        here, covariance = model.improve(before)
        # How far the answer moved, in its own standard errors.
        shift = float(np.max(np.abs(here.values - before.values) / np.sqrt(np.diag(covariance))))
        if shift < _CONVERGED and step > 2:
            return here, variances, step
        evidence = _log_evidence(model, here, covariance)
        if evidence > best + _GAINED:
            best, kept, since = evidence, (here, variances), step
        if step > _LONG and step - since > _PATIENCE:
            break
        wanted = np.log(_evidence(effects, here.values[0], covariance, variances) / variances)
        if step > _FREELY:
            # Where the fixed point is circled rather than met, each turn is half as wide.
            pace = np.where(wanted * last < 0, pace / 2, np.minimum(1.0, _FASTER * pace))
        variances, last = variances * np.exp(pace * wanted), wanted
    here, variances = kept
    model = replace(model, precision=_precision(effects, variances))
    return _certified(model, model.at(here.values)), variances, step


def _certified(model: Penalized, here: Points) -> Points:
    """Take steps of Fisher scoring until the next promises nothing, or none can be taken.

    No step lowers the penalized likelihood. Half of what the gradient promises of the next, the
    decrement g'F^-1 g / 2, bounds to second order what is left to gain; a step of so small a one
    moves no parameter by more than `_CONVERGED` of its standard errors.
    """
    for _ in range(_CERTIFYING):
        slopes = model.slopes(here)
        step = linalg.solve(slopes.information[0], slopes.gradient[0], assume_a="pos")
        if float(slopes.gradient[0] @ step) <= _CONVERGED**2:
            break
        there, _ = model.improve(here)
        if there.likelihood[0] <= here.likelihood[0]:
            break
        here = there
    return here


def _log_evidence(model: Penalized, here: Points, covariance: Tensor) -> float:
    """Return the log evidence by Laplace's approximation, up to a constant."""
    _, determinant = np.linalg.slogdet(covariance)
    return float(here.likelihood[0] + 0.5 * (np.log(model.precision).sum() + determinant))


def _uncertainty(model: Penalized, found: Points) -> Tensor:
    """Return the mean square error of shrunk parameters.

    Shrinkage trades variance for bias: where an interaction is about as large as the reports
    can just tell, it is taken too small, and the posterior's errors alone would cover too
    little. So the errors are those of the parameters without shrinkage, and the distance to
    those, a step of Fisher scoring away, is added as a bias.
    """
    flat = np.full(model.matrix.shape[1], 1 / MAIN_VARIANCE)
    slopes = replace(model, precision=flat).slopes(found)
    sampling = inverse(slopes.information[0])
    shift = sampling @ slopes.gradient[0]
    return np.asarray(sampling + np.outer(shift, shift), dtype=np.float64)


def _log_likelihood(strata: Sequence[Stratum], found: Points) -> float:
    total = 0.0
    for stratum, law in zip(strata, found.laws, strict=True):
        seen = stratum.column[:, 0] > 0
        total += float(stratum.column[seen, 0] @ np.log(law[0, seen]))
    return total


def _weakly(effects: EffectMatrix) -> Tensor:
    return np.array([MAIN_VARIANCE if len(t.axes) == 1 else WEAK_VARIANCE for t in effects.terms])


def _affordable_design(shape: Sequence[int], order: int, reports: int) -> EffectMatrix:
    if 1 <= order <= len(shape) and not affordable(shape, order, reports):
        raise LimitExceeded(
            f"A log-linear model with {parameters(shape, order)} parameters over"
            f" {math.prod(shape)} cells and {reports} reports is too large.",
            remedy="Ask for fewer variables, or a lower order of interaction.",
        )
    return design(shape, order)


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
            new[index] = np.clip(square / max(determined, 1e-3), _FLOOR, MAIN_VARIANCE)
    return new


def _precision(effects: EffectMatrix, variances: Tensor) -> Tensor:
    return np.concatenate(
        [np.full(t.size, 1 / v) for t, v in zip(effects.terms, variances, strict=True)]
    )


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


# Models of a true table: which variables it lets depend on which, and what is likely under it.
#
# And how many variables are let interact where nobody says it.

Axes = tuple[int, ...]

_INSIDE, _FAR = 0.05, 1e9


@dataclass(frozen=True)
class FactoredModel:
    """Distributions that factor, as a Bayesian network does: some axes given others.

    Args:
        shape: the true table.
        factors: sets of axes that share none, each with the axes that it is given. Axes in no
            factor have any distribution given all others. Without factors every distribution is
            of the model.
    """

    shape: tuple[int, ...]
    factors: tuple[tuple[Axes, Axes], ...] = ()

    @cached_property
    def rest(self) -> Axes:
        """The axes in no factor."""
        return self._others(tuple(axis for own, _ in self.factors for axis in own))

    @property
    def every(self) -> tuple[tuple[Axes, Axes], ...]:
        """The factors, and that of the axes in none."""
        rest = ((self.rest, self._others(self.rest)),) if self.rest else ()
        return (*self.factors, *rest)

    def fit(self, counts: Tensor) -> Tensor:
        """Return the most likely distributions of expected true counts (cells..., sets)."""
        product: Tensor | float = 1.0 if self.factors else counts
        for over, under, even in self._margins if self.factors else ():
            if over is not None:
                factor = counts.sum(axis=over, keepdims=True)
                if under is not None:
                    factor = _share(factor, counts.sum(axis=under, keepdims=True), even)
                product = product * factor
            elif under is not None:
                margin = counts.sum(axis=under, keepdims=True)
                product = _share(product * np.ones_like(margin), margin, even)
        distribution: Tensor = product / np.sum(product, axis=tuple(range(counts.ndim - 1)))
        return distribution

    @cached_property
    def _margins(self) -> list[tuple[Axes | None, Axes | None, float]]:
        """Of each factor: what its margin sums over, and that of what it is given.

        Margins of one factor that are divided by in another are left out of both. Where nothing
        is expected of what is given, any distribution is as likely: an even one is taken.
        """
        above: list[Axes | None] = [self._others((*own, *given)) for own, given in self.every]
        below = [self._others(given) if given else None for _, given in self.every]
        for place, gone in enumerate(above):
            if gone in below:
                below[below.index(gone)] = None
                above[place] = None
        sizes = [math.prod(self.shape[axis] for axis in own) for own, _ in self.every]
        even = [0.0 if gone is None else 1 / size for gone, size in zip(above, sizes, strict=True)]
        return list(zip(above, below, even, strict=True))

    def _others(self, axes: Axes) -> Axes:
        return tuple(axis for axis in range(len(self.shape)) if axis not in axes)


def _share(part: Tensor, whole: Tensor, otherwise: float) -> Tensor:
    """Return part / whole, and another value where the whole is 0."""
    share: Tensor = np.full(part.shape, otherwise)
    np.divide(part, whole, out=share, where=whole > 0)
    return share


LEAST_ORDER, MOST_ORDER = 2, 8
"""By default the order follows the records, from pairs up to as many as a job may ask for."""


def default_order(plans: Iterable[Plan]) -> int:
    """Return the most variables that records report together, within these bounds.

    What is reported together is then estimated from those reports, and only what is not is filled
    in from smaller tables.
    """
    return min(MOST_ORDER, max((LEAST_ORDER, *(plan.together for plan in plans))))


QUICK_COST = 1 << 23
"""Of a model of all variables, interactions of more than pairs may cost a step so much."""


def fitting_order(most: int, shape: Sequence[int], reports: int, cost: int = STEP_COST) -> int:
    """Return the highest order, pairs at least, up to `most` of a model that can be fitted.

    Args:
        most: the highest order wanted.
        shape: the categories of the variables.
        reports: how many different reports there are.
        cost: what a step of its fit may cost where more than pairs interact (`affordable`).
    """
    least = min(LEAST_ORDER, most)
    tried = range(most, least, -1)
    return next((order for order in tried if affordable(shape, order, reports, cost)), least)
