"""Several masked copies: how many may leave, and estimates from them combined.

The estimate is the mean over the m copies (Reiter 2003, 2005: partially synthetic data). Its
variance is T = u + b/m: u is the mean of the variances that the analyses of the copies state, and b
the variance between copies. T is right if a copy is a draw from a model of X given S that is right
for what is estimated, whether or not the model's parameters were drawn too (Reiter and Kinney
2012). docs/coverage.md has measured coverages: intervals of 95 % cover for slopes and means that
the method keeps, under GADP and CGADP from a few copies, under EGADP and NMEGADP from one.

EGADP and NMEGADP copy moments exactly: for functions of the moments b is 0 up to rounding, and
T = u, the variance of the unmasked table. For other methods the errors of one copy leave out the
masking. No interval covers what a method itself flattens (a square under EGADP), residuals that are
not normal noise of one spread, or additive noise, which biases slopes on Y towards 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from pramana_core.errors import MaskingError, OptionError
from pramana_core.mask.core.masked import Method
from pramana_core.mixed import Floats

ROUNDING = 1e-12
"""A share of b in T that rounding alone explains."""

RECORDS_PER_NOISE = 10
"""The fewest records for each column of noise, over all copies."""

ONE_COPY = (
    "One copy shows nothing of the variance that masking adds: these errors hold it only if the"
    " method copies the moments exactly (EGADP)."
)


def require_few_copies(method: Method, copies: int, records: int, columns: int) -> None:
    """Check that several copies do not reveal the true values by linear algebra.

    Noise that is orthogonal to X in the sample is an equation on each column of X, for whoever
    removes E(Y|S) from a masked column by regression. With as many columns of noise as records
    beyond S, the equations leave one solution and its mirror image. Copies whose noise is
    independent of X (GADP, IPSO) only sharpen what S tells of X.

    Args:
        method: the method.
        copies: m, the number of copies that leave.
        records: n.
        columns: q, the number of masked columns.

    Raises:
        MaskingError: there are too many copies for the records.
    """
    most = max(1, records // (RECORDS_PER_NOISE * columns))
    if method.orthogonal and copies > most:
        raise MaskingError(
            f"{copies} copies of {columns} columns by {method.name} are too many for {records}"
            " records: together they narrow the true values down.",
            where="copies",
            remedy=f"Make at most {most} (a tenth of the records, divided by the columns), or use"
            " more records.",
        )


@dataclass(frozen=True, eq=False)
class CombinedEstimates:
    """What m copies together say of k numbers.

    Attributes:
        estimate: the mean over copies, k.
        variance: T = u + b/m of each, k.
        within: u, the mean over copies of the stated variances, k.
        between: b, the variance of the estimates over copies, k; 0 for one copy.
        freedom: degrees of freedom of t intervals, k; infinite for normal ones.
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
    def t(self) -> Floats:
        """Estimate over standard error, k; NaN where both are 0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            found: Floats = self.estimate / self.standard_error
        return found

    @property
    def p_value(self) -> Floats:
        """The p-value of the two-sided test that the number is 0, k."""
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

    T = u + b/m with (m - 1)(1 + m u/b)^2 degrees of freedom (Reiter 2003, section 3). With a finite
    number of records, u has n - k degrees of freedom of its own, and Satterthwaite's formula joins
    both: T^2 / (u^2 / (n - k) + (b/m)^2 / (m - 1)).

    Args:
        estimates: of each copy: m x k numbers, or m for a single number.
        variances: their variances as each analysis states them: m x k, or m.
        records: n; None for normal intervals.
        parameters: how many parameters the analysis fits; default k.

    Raises:
        OptionError: shapes that do not belong together, numbers that are not finite, negative
            variances, or no more records than parameters.
    """
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
    found, stated = found.reshape(len(found), -1), stated.reshape(len(found), -1)
    m, k = found.shape
    fitted = k if parameters is None else parameters
    if records is not None and records <= fitted:
        raise OptionError(
            f"{records} records are too few for {fitted} parameters.", where="records"
        )
    complete = float("inf") if records is None else float(records - fitted)
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
