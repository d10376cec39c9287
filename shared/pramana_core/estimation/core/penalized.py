"""The likelihood of a log-linear model's parameters given reports, with normal priors.

It is worked out at many sets of parameters at once: one for a fit, hundreds for intervals.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from pramana_core.errors import EstimationError
from pramana_core.estimation.core.strata import Stratum
from pramana_core.marginals.counts import Tensor
from pramana_core.marginals.support_counts import Flags
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
