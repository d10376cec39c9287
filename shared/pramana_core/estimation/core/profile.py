"""Profile-likelihood intervals of shares of cells under a log-linear model.

A share is psi = (the probability of some cells) / (the probability of more). Its interval holds
all values that it takes at parameters whose log-likelihood is at most z^2 / 2 below the highest
(Venzon and Moolgavkar, Applied Statistics 37, 1988, 87-94): the likelihood ratio test, inverted.
Standard errors carried over from parameters to cells by derivatives fail twice where records are
few: cells are not nearly linear in the parameters over so wide a range, and a cell that comes out
too small has too small an error as well. The likelihood knows of neither scale nor derivative; an
interval is as long to each side as the reports allow and ends within [0, 1]. Where the truth lies
near an end of the scale it covers more often than it says.

Each end maximizes (or minimizes) the log odds of psi where the log-likelihood stays above its
bound. With G the gradient of the log-likelihood, I its information and h the gradient of the log
odds, a step is

    I^-1 (G + k h),    k^2 = (2 (l - bound) + G' I^-1 G) / (h' I^-1 h),

the solution for a quadratic log-likelihood and linear log odds, shortened until it improves the
two together (the exact penalty function of sequential quadratic programming; Nocedal and Wright,
Numerical Optimization, 2006, 18.3). Many ends are looked for at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import expit

from pramana_core.estimation.core.penalized import Penalized, Points, inverse
from pramana_core.marginals.counts import Tensor
from pramana_core.marginals.support_counts import Flags

PROFILE_COST = 1 << 29
"""Operations of one step of all ends: their number, times cells and reports, times the square of
the parameters. Above it intervals are the estimate's log odds +- z standard errors."""

_AT_ONCE = 1 << 22
_SCORING_STEPS, _LEAST_GAIN = 1000, 1e-5
_STEPS, _HALVINGS = 60, 10
_STRIDE = 3.0
"""How far a step may move the logarithm of a cell's probability."""

_NEAR, _SLACK = 1e-2, 1e-2
_NOTHING = 1e-9
"""A share that comes so near 0 or 1 is taken to reach it."""


@dataclass(frozen=True)
class Profile:
    """What reports tell of shares of cells, by the likelihood of a model with weak priors.

    `start` are parameters to look for the highest likelihood from.
    """

    model: Penalized
    start: Tensor

    @cached_property
    def best(self) -> Points:
        """The model at the highest likelihood.

        Raises EstimationError: see `Penalized.improve`.
        """
        here = self.model.at(self.start[None])
        for _ in range(_SCORING_STEPS):
            before, (here, _covariance) = here, self.model.improve(here)
            if here.likelihood[0] - before.likelihood[0] < _LEAST_GAIN:
                break
        return here

    def limits(self, parts: Tensor, wholes: Tensor, z: float, of: int = 0) -> tuple[Tensor, Tensor]:
        """Return the ends of the intervals of the shares `parts` have in `wholes`.

        Args:
            parts: 1 of each cell in the numerator, (shares, cells).
            wholes: 1 of each cell in the denominator, all of the numerator's among them.
            z: the normal quantile.
            of: how many shares are asked for in all, where these are some of them: it decides how
                they are worked out.

        Returns:
            The lower and the upper ends, within [0, 1]. Both are 0 of a share none of whose cells
            can occur, and 1 where no others of the whole can; they are 0 and 1 where nothing of the
            whole can occur, and for an end that is not found.
        """
        cells, count = self.model.matrix.shape
        tables = cells + sum(stratum.column.size for stratum in self.model.strata)
        rests = wholes - parts
        some, others = ((one @ self.model.base) > 0 for one in (parts, rests))
        low, high = np.where(some & ~others, 1.0, 0.0), np.where(others & ~some, 0.0, 1.0)
        told = np.flatnonzero(some & others)
        if 2 * (of or len(told)) * tables * count**2 > PROFILE_COST:
            low[told], high[told] = self._by_slopes(_Shares.both(parts[told], rests[told]), z)
            return low, high
        size = max(1, _AT_ONCE // (2 * tables * count))
        for first in range(0, len(told), size):
            here = told[first : first + size]
            low[here], high[here] = self._ends(_Shares.both(parts[here], rests[here]), z)
        return low, high

    def _by_slopes(self, shares: _Shares, z: float) -> tuple[Tensor, Tensor]:
        cells, covariance = self._at_best
        slope = shares.slope(self.best.theta, cells)
        error = np.sqrt(np.einsum("sd,sd->s", slope @ covariance, slope))
        return shares.told(shares.odds(self.best.theta) + z * error)

    @cached_property
    def _at_best(self) -> tuple[Tensor, Tensor]:
        """The cells' derivatives at the highest likelihood, and the parameters' covariance."""
        slopes = self.model.slopes(self.best)
        return slopes.cells, inverse(slopes.information[0])

    def _ends(self, shares: _Shares, z: float) -> tuple[Tensor, Tensor]:
        all_of_them = shares
        here = self.model.at(np.repeat(self.best.values, len(shares.signs), axis=0))
        bound = here.likelihood - z**2 / 2
        first = odds = shares.odds(here.theta)
        # An end that is not found in time is put where nothing is claimed.
        found = np.full(len(odds), np.inf)
        left = np.arange(len(odds))
        for _ in range(_STEPS):
            here, moved = self._outwards(shares, here, odds, bound)
            width = np.abs(moved - first)
            settled = np.abs(moved - odds) < _NEAR * width
            settled &= np.abs(here.likelihood - bound) < _SLACK * z**2
            edge = expit(-moved) < _NOTHING
            found[left[settled]] = moved[settled]
            stay = ~(settled | edge)
            if not stay.any():
                break
            left, odds, here, shares = left[stay], moved[stay], here.of(stay), shares.of(stay)
            first, bound = first[stay], bound[stay]
        return all_of_them.told(found)

    def _outwards(
        self, shares: _Shares, here: Points, odds: Tensor, bound: Tensor
    ) -> tuple[Points, Tensor]:
        """Take a step of every end; return where it leads and the log odds there."""
        slopes = self.model.slopes(here)
        slope = shares.slope(here.theta, slopes.cells)
        both = np.stack([slopes.gradient, slope], axis=2)
        solved = np.linalg.solve(slopes.information, both)
        up, along = solved[:, :, 0], solved[:, :, 1]
        room = 2 * (here.likelihood - bound) + np.einsum("sd,sd->s", slopes.gradient, up)
        tiny = np.finfo(np.float64).tiny
        k = np.sqrt(np.maximum(room, 0.0) / np.maximum(np.einsum("sd,sd->s", slope, along), tiny))
        step = up + k[:, None] * along
        change = np.abs(step @ self.model.matrix.T).max(axis=1)
        share = np.minimum(1.0, _STRIDE / np.maximum(change, tiny))
        price = 2 / np.maximum(k, _NOTHING)

        def merit(odds: Tensor, points: Points) -> Tensor:
            return np.asarray(odds - price * np.maximum(bound - points.likelihood, 0.0))

        least, there = merit(odds, here), here
        taken = np.zeros(len(odds), dtype=bool)
        for _ in range(_HALVINGS):
            tried = self.model.at(here.values + share[:, None] * step)
            better = ~taken & (merit(shares.odds(tried.theta), tried) > least)
            there = there.replaced(better, tried)
            taken |= better
            if taken.all():
                break
            share = share / 2
        return there, shares.odds(there.theta)


@dataclass(frozen=True)
class _Shares:
    """Shares whose log odds, or those negated where the sign is -1, are to be made large."""

    parts: Tensor
    rests: Tensor
    signs: Tensor

    @classmethod
    def both(cls, parts: Tensor, rests: Tensor) -> _Shares:
        """Return each share twice: for its lower end and for its upper."""
        signs = np.repeat([-1.0, 1.0], len(parts))
        return cls(np.tile(parts, (2, 1)), np.tile(rests, (2, 1)), signs)

    def told(self, odds: Tensor) -> tuple[Tensor, Tensor]:
        """Return the lower and the upper ends of what `both` made."""
        low, high = np.split(expit(self.signs * odds), 2)
        return low, high

    def of(self, chosen: Flags) -> _Shares:
        return _Shares(self.parts[chosen], self.rests[chosen], self.signs[chosen])

    def odds(self, theta: Tensor) -> Tensor:
        part, rest = self._sums(theta)
        return np.asarray(self.signs * np.log(part / rest), dtype=np.float64)

    def slope(self, theta: Tensor, cells: Tensor) -> Tensor:
        part, rest = self._sums(theta)
        weights = self.signs[:, None] * (self.parts / part[:, None] - self.rests / rest[:, None])
        if len(cells) == 1:
            return np.asarray(weights @ cells[0], dtype=np.float64)
        return np.asarray(np.einsum("sc,scd->sd", weights, cells))

    def _sums(self, theta: Tensor) -> tuple[Tensor, Tensor]:
        tiny = np.finfo(np.float64).tiny ** 0.5
        part, rest = ((one * theta).sum(axis=1) for one in (self.parts, self.rests))
        return np.maximum(part, tiny), np.maximum(rest, tiny)
