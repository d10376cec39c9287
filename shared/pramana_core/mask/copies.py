"""Estimates from several masked copies combined (Reiter 2003, 2005: partially synthetic data).

The estimate is the mean over the m copies and its variance T = u + b/m: u is what the analysis of
one copy says of itself, on average, and b the variance between copies. T is right where a copy is
a draw from a model of X given S that is right for what is estimated, whether or not the model's
parameters were themselves drawn (Reiter and Kinney 2012). Measured on 200 records
(docs/coverage.md, and the tests beside it):

* where X is linear in S and normal, intervals of 95 % cover for the mean of Y, for Y on S, S on Y
  and one column of Y on another: under GADP and the copula baseline from a handful of copies (with
  two some 94 %), under EGADP and NMEGADP from one copy already;
* where X is a square of S, the same holds for its coefficients under NMEGADP.

EGADP and NMEGADP copy moments exactly: for what is a function of the moments b is 0 up to rounding
and T = u, the variance of the unmasked table. For other methods one copy's own errors leave out
the masking: under GADP intervals of 95 % then cover in some 85 %.

Not covered is whatever a method itself flattens: the square above under EGADP is 0 in each copy,
and in no interval. Nor are residuals that are no normal noise of one spread: their shape,
relationships among the columns of Y that are curved given S, and spreads that change with S. Trees
cover unevenly (slopes of S on Y in some 70 %), and additive noise, which no model of X given S
makes, biases slopes on Y towards 0: do not combine its copies.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from pramana_core.errors import OptionError
from pramana_core.mixed import Floats

ROUNDING = 1e-12
"""A share of b in T that rounding alone explains; below it copies agree."""

ONE_COPY = (
    "One copy shows nothing of the variance that masking adds: these errors hold it only if the"
    " method copies the moments exactly (EGADP)."
)


@dataclass(frozen=True, eq=False)
class CombinedEstimates:
    """What m copies say together of k numbers.

    Attributes:
        estimate: the mean over copies, k.
        variance: T = u + b/m of each, k.
        within: u, the mean over copies of the variance that each one's analysis states, k.
        between: b, the variance of the estimates over copies, k; 0 for one copy.
        freedom: degrees of freedom of t intervals, k; infinite where normal ones hold.
        copies: m.
        warnings: sentences on what these errors leave out.
    """

    estimate: Floats
    variance: Floats
    within: Floats
    between: Floats
    freedom: Floats
    copies: int
    warnings: tuple[str, ...] = ()

    @property
    def standard_error(self) -> Floats:
        """The square root of `variance`: the error against the population, k."""
        found: Floats = np.sqrt(self.variance)
        return found

    @property
    def added(self) -> Floats:
        """The share of the variance that comes of masking, (b/m) / T: k numbers, 0 to 1."""
        share = self.between / self.copies
        found: Floats = share / np.where(share > 0, self.variance, 1.0)
        return found

    @property
    def t(self) -> Floats:
        """Estimate over standard error, k; NaN where both are 0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            found: Floats = self.estimate / self.standard_error
        return found

    @property
    def p_value(self) -> Floats:
        """Of the two-sided test that the number is 0, k."""
        return np.asarray(2 * stats.t.sf(np.abs(self.t), self.freedom))

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Return the lower and upper limits of intervals at a level, k each.

        Raises:
            OptionError: the level is not between 0 and 1.
        """
        if not 0 < level < 1:
            raise OptionError(f"A level must lie between 0 and 1, not {level}.", where="level")
        half = stats.t.isf((1 - level) / 2, self.freedom) * self.standard_error
        return self.estimate - half, self.estimate + half


def combine_copies(
    estimates: npt.ArrayLike,
    variances: npt.ArrayLike,
    records: int | None = None,
    *,
    parameters: int | None = None,
) -> CombinedEstimates:
    """Combine what the same analysis of each masked copy found, by Reiter's rules.

    T = u + b/m with (m - 1)(1 + m u/b)^2 degrees of freedom (Reiter 2003, section 3). With a
    finite number of records, u has n - k degrees of freedom of its own and both are joined by
    Satterthwaite's formula, T^2 / (u^2 / (n - k) + (b/m)^2 / (m - 1)): this is Reiter's for many
    records, and n - k where the copies agree.

    Args:
        estimates: what each copy gave: m x k numbers, or m for a single number.
        variances: their variances as each analysis states them: m x k, or m.
        records: n; None for a number so large that normal intervals hold.
        parameters: how many parameters the analysis fits; default k.

    Returns:
        The estimates together. With one copy T = u, and `warnings` says what that leaves out.

    Raises:
        OptionError: shapes that do not belong together, numbers that are not finite, negative
            variances, or no more records than parameters.
    """
    found, stated = _checked(estimates, variances)
    m, k = found.shape
    complete = _complete_freedom(records, k if parameters is None else parameters)
    within = stated.mean(axis=0)
    between = found.var(axis=0, ddof=1) if m > 1 else np.zeros(k)
    # The copies' means differ in the last digits even where the moments are copied exactly.
    scale: Floats = within + np.square(found.mean(axis=0)) * ROUNDING
    between = np.where(between <= ROUNDING * scale, 0.0, between)
    added = between / m
    variance = within + added
    with np.errstate(divide="ignore", invalid="ignore"):
        noise = np.square(added) / (m - 1) if m > 1 else np.zeros(k)
        freedom = np.square(variance) / (np.square(within) / complete + noise)
    return CombinedEstimates(
        estimate=found.mean(axis=0),
        variance=variance,
        within=within,
        between=between,
        freedom=np.where(np.isnan(freedom), complete, freedom),
        copies=m,
        warnings=(ONE_COPY,) if m == 1 else (),
    )


def _checked(estimates: npt.ArrayLike, variances: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Return estimates and variances, m x k each."""
    found, stated = (np.asarray(each, dtype=np.float64) for each in (estimates, variances))
    if found.ndim not in (1, 2) or not found.size or found.shape != stated.shape:
        raise OptionError(
            f"Estimates of shape {found.shape} and variances of shape {stated.shape} do not"
            " belong together.",
            where="estimates",
            remedy="Pass m x k estimates and m x k variances.",
        )
    if not (np.isfinite(found).all() and np.isfinite(stated).all()) or (stated < 0).any():
        raise OptionError(
            "Estimates must be finite, and their variances finite and not negative.",
            where="variances",
        )
    return found.reshape(len(found), -1), stated.reshape(len(found), -1)


def _complete_freedom(records: int | None, parameters: int) -> float:
    if records is None:
        return float("inf")
    if records <= parameters:
        raise OptionError(
            f"{records} records are too few for {parameters} parameters.", where="records"
        )
    return float(records - parameters)
