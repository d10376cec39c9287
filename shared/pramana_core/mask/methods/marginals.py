"""Families of marginal distributions, fitted to a column by maximum likelihood and compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import optimize, special, stats

from pramana_core.mixed.table import Floats
from pramana_core.ties import FITTED_TIE, first_smallest

FARTHEST = 8.0
"""Scores are cut off there: a normal number is farther out once in 10^15."""


@dataclass(frozen=True)
class Marginal:
    """A fitted family of (value - shift) / scale.

    Attributes:
        family: its name: "normal", "logistic", "log-normal", "gamma" or "weibull".
        shift: where the support begins; the mean for the normal and the logistic.
        scale: the column's standard deviation.
        distribution: scipy's frozen distribution.
        criterion: Akaike's, of the column in units of `scale`; the smallest is the best.
        shifted: whether the support begins elsewhere than at 0, by the column's own minimum.
    """

    family: str
    shift: float
    scale: float
    distribution: Any
    criterion: float
    shifted: bool = False

    def scores(self, values: Floats) -> Floats:
        """Return Phi^-1(F(value)) of each value, cut off far out."""
        units = (values - self.shift) / self.scale
        # The tail that a value is in is the one whose probability is small, and exact.
        lower = special.ndtri_exp(self.distribution.logcdf(units))
        upper = -special.ndtri_exp(self.distribution.logsf(units))
        found: Floats = np.clip(np.where(lower < 0, lower, upper), -FARTHEST, FARTHEST)
        return found

    def __str__(self) -> str:
        return f"shifted {self.family}" if self.shifted else self.family


def fit_marginal(values: Floats) -> Marginal:
    """Return the family that fits a column best by Akaike's criterion, of equals the first.

    Families over all numbers are the normal and the logistic. The log-normal, the gamma and the
    Weibull begin at 0, where all values are positive, or else a gap of range / n below the smallest
    value, which counts as one more parameter.

    Args:
        values: n numbers that are not all the same.
    """
    scale = float(np.std(values / np.max(np.abs(values))) * np.max(np.abs(values)))
    smallest, n = float(np.min(values)), len(values)
    centre = float(np.mean(values))
    found = [_fitted(name, centre, scale, values, 2) for name in ("normal", "logistic")]
    below = smallest - float(np.ptp(values)) / n
    for name in ("log-normal", "gamma", "weibull"):
        if smallest > 0:
            found.append(_fitted(name, 0.0, scale, values, 2))
        found.append(_fitted(name, below, scale, values, 3))
    fitted = [marginal for marginal in found if marginal is not None]
    return fitted[first_smallest([m.criterion for m in fitted], scale=n, tie=FITTED_TIE)]


def fitted_scores(values: Floats) -> Floats:
    """Return the scores of columns, each by the family that fits it best: n x k."""
    return np.column_stack([fit_marginal(column).scores(column) for column in values.T])


def _fitted(
    family: str, shift: float, scale: float, values: Floats, parameters: int
) -> Marginal | None:
    """Return a family fitted, or None where no parameters are the most likely."""
    units = (values - shift) / scale
    distribution = _FITS[family](units)
    if distribution is None:
        return None
    likelihood = float(np.sum(distribution.logpdf(units)))
    if not np.isfinite(likelihood):
        return None
    return Marginal(
        family, shift, scale, distribution, 2 * (parameters - likelihood), shifted=parameters == 3
    )


def _normal(units: Floats) -> Any:
    return stats.norm(np.mean(units), np.std(units))


def _logistic(units: Floats) -> Any:
    """Both equations of the maximum: sum F = n / 2 and sum z (2 F - 1) = n, z = (u - m) / s."""

    def equations(parameters: Floats) -> list[float]:
        z = (units - parameters[0]) * np.exp(-parameters[1])
        share = 2 * special.expit(z) - 1
        return [float(np.mean(share)), float(np.mean(z * share) - 1)]

    start = [float(np.median(units)), float(np.log(np.std(units) * np.sqrt(3) / np.pi))]
    solved = optimize.root(equations, start)
    return stats.logistic(solved.x[0], np.exp(solved.x[1])) if solved.success else None


def _log_normal(units: Floats) -> Any:
    logs = np.log(units)
    return stats.lognorm(np.std(logs), 0, np.exp(np.mean(logs)))


def _gamma(units: Floats) -> Any:
    """log a - digamma(a) = log mean - mean log."""
    gap = float(np.log(np.mean(units)) - np.mean(np.log(units)))
    shape = _root(lambda a: np.log(a) - special.digamma(a) - gap)
    return None if shape is None else stats.gamma(shape, 0, np.mean(units) / shape)


def _weibull(units: Floats) -> Any:
    """sum u^k log u / sum u^k - 1 / k = mean log u."""
    largest = np.max(units)
    logs = np.log(units / largest)
    mean = np.mean(logs)

    def equation(k: float) -> float:
        powers = np.exp(k * logs)
        return float(np.sum(powers * logs) / np.sum(powers) - 1 / k - mean)

    shape = _root(equation)
    if shape is None:
        return None
    level = largest * np.mean(np.exp(shape * logs)) ** (1 / shape)
    return stats.weibull_min(shape, 0, level)


def _root(equation: Callable[[float], float]) -> float | None:
    """Return where a monotone function of a shape is 0, None if that is beyond any sensible one."""
    low, high = 1e-3, 1e6
    if equation(low) * equation(high) >= 0:
        return None
    return float(optimize.brentq(equation, low, high, xtol=1e-9, rtol=1e-9))


_FITS: dict[str, Callable[[Floats], Any]] = {
    "normal": _normal,
    "logistic": _logistic,
    "log-normal": _log_normal,
    "gamma": _gamma,
    "weibull": _weibull,
}
