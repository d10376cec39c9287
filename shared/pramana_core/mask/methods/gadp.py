"""Methods that keep linear relationships, GADP, IPSO and EGADP, and monotonic ones by a copula.

All three release Y = linear prediction of X from S + noise e with the residuals' covariance. They
differ in what of it is exact: nothing (GADP), the moments (IPSO), the moments and that e is
orthogonal to X (EGADP).

Also here:

* Additive noise: the oldest methods, here to compare others with.
* The normal copula: columns as normal scores, masked there, and back through their marginals.
* Families of marginal distributions, fitted to a column by maximum likelihood and compared.
* Data shuffling: the true values of X, reordered by the ranks of perturbed ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Gt, Le
from scipy import optimize, special, stats

from pramana_core.learn.common.options import require_limit
from pramana_core.mask.core.inputs import (
    MAX_LEVERAGE,
    Inputs,
    cautions,
    facts,
    from_normal_scores,
    gravest_first,
    inputs,
    normal_scores,
    reordered,
    require_maskable,
    require_secret,
)
from pramana_core.mask.core.masked import (
    Influence,
    Masked,
    by_scores,
    hidden,
    influence_of,
    predicted_and_noise,
)
from pramana_core.mask.core.noise import (
    Randomness,
    conditional,
    copula_correlations,
    exact_noise,
    normal_noise,
    require_randomness,
    symmetric_root,
)
from pramana_core.mixed import Floats, MixedTable, NumericColumn, numeric_table
from pramana_core.ties import FITTED_TIE, first_smallest


def gadp(
    S: Any,  # noqa: N803 - the papers' names
    X: Any,  # noqa: N803
    rng: Randomness,
    *,
    max_leverage: float = MAX_LEVERAGE,
    max_told: float | None = None,
) -> Masked:
    """Mask by general additive data perturbation: Y ~ N(prediction from S, residual covariance).

    The moments of (S, Y) are those of (S, X) in expectation and off by sampling error in the
    sample, like those of a second sample of n records; e is drawn without regard to X, so Y is
    independent of X given S. (Muralidhar, Parsa and Sarathy 1999; AlAhmadi II.2.3.)

    Args:
        S: the non-confidential columns, n x p, a frame or None.
        X: the confidential columns, n x q or a frame.
        rng: the randomness.
        max_leverage: the largest weight that a record's own value may have in its prediction.
        max_told: the largest share of what S leaves of a record that its masked value may tell
            (`Influence.told`), above 0 and below 1; None for no bound but warnings.

    Raises:
        OptionError: an option is out of its range.
        TableError: see `inputs`.
        MaskingError: S tells a column of X exactly, a record stands alone in S, more than
            `max_told` is told of one, or there are too few records.
    """
    require_randomness(rng)
    given = inputs(S, X)
    require_maskable(given, given.basis.shape[1], max_leverage)
    influence = _influence(given, None, max_told)
    root = symmetric_root(given.standard_residuals) / np.sqrt(given.records - 1)
    return _masked("gadp", given, normal_noise(rng, given.records, root), influence)


def ipso(
    S: Any,  # noqa: N803 - the papers' names
    X: Any,  # noqa: N803
    rng: Randomness,
    *,
    max_leverage: float = MAX_LEVERAGE,
    max_told: float | None = None,
) -> Masked:
    """Mask by information-preserving statistical obfuscation: exact moments, e orthogonal to S.

    Y is a draw given the sufficient statistics of the normal model of X on S: the coefficients and
    the residual covariance are exactly those of X, so the sample means and covariances of (S, Y)
    are, too. (Burridge 2003; AlAhmadi II.2.3.)

    Its security is worse than EGADP's because e is orthogonal to S but not to X: each column of e
    has a chance correlation with each column of residuals r, whose square is 1 / (n - 1 - p) on
    average. In small samples this is a share of what S does not tell of X that Y tells; whoever
    knows X for some of the records can learn it.

    Args, Raises: as of `gadp`.
    """
    require_randomness(rng)
    given = inputs(S, X)
    require_maskable(given, given.basis.shape[1], max_leverage)
    influence = _influence(given, given.basis, max_told)
    noise = exact_noise(rng, given.basis, given.standard_residuals)
    return _masked("ipso", given, noise, influence)


def egadp(
    S: Any,  # noqa: N803 - the papers' names
    X: Any,  # noqa: N803
    rng: Randomness,
    *,
    max_leverage: float = MAX_LEVERAGE,
    max_told: float | None = None,
) -> Masked:
    """Mask by exact general additive data perturbation: exact moments, e orthogonal to S and X.

    Y = prediction from S + e with e = b Sb^(-1/2) Sr^(1/2), where r are the residuals of X
    regressed on S, b those of random V regressed on S and X, and Sr, Sb their covariances. Sample
    means and covariances of (S, Y) are those of (S, X); in the sample, Y tells linearly no more of
    X than S does. (Muralidhar and Sarathy 2005, 2008; AlAhmadi II.2.3 and list of symbols.)

    What is exact is known to whoever reads Y: sums of X over all records, and over those of each
    category of S, are those of Y. Two people who alone share a category learn each other's values;
    tables that differ by one record give it away (see docs/masking.md).

    Args, Raises: as of `gadp`. Columns of X that others tell exactly are allowed: the masked ones
        tell each other likewise.
    """
    require_randomness(rng)
    given = inputs(S, X)
    require_maskable(given, given.both.shape[1], max_leverage)
    influence = _influence(given, given.both, max_told)
    noise = exact_noise(rng, given.both, given.standard_residuals)
    return _masked("egadp", given, noise, influence)


def _influence(given: Inputs, basis: Floats | None, max_told: float | None) -> Influence:
    return hidden(influence_of(given.leverages, basis, columns=given.columns), max_told)


def _masked(method: str, given: Inputs, noise: Floats, influence: Influence) -> Masked:
    prediction = given.standard - given.standard_residuals
    return predicted_and_noise(method, given, prediction, noise, influence)


# Additive noise: the oldest methods, here to compare others with.
#
# Y = X + e keeps what each record says of X, blurred: Y tells of X what S does not, copies of a
# release average the noise out, and relationships are weakened by it. Unlike the other methods
# these two need no prediction from S, which they do not use.

NOISE = 0.1
"""The variance of the noise as a share of each column's variance, unless told otherwise."""

MOST_NOISE = 1_000_000
"""Larger shares leave nothing of X."""


def sadp(S: Any, X: Any, rng: Randomness, *, noise: float = NOISE) -> Masked:  # noqa: N803
    """Mask by simple additive noise: Y_j = X_j + e_j, the e_j normal and independent.

    Means are kept in expectation. The variance of each column grows by the share `noise`;
    correlations among the columns of X are multiplied by 1 / (1 + noise), those with S by its
    square root. (Traub, Yemini and Wozniakowski 1984; AlAhmadi II.2.2.)

    Args:
        S: the non-confidential columns, n x p, a frame or None; used for what is reported only.
        X: the confidential columns, n x q or a frame.
        rng: the randomness.
        noise: the variance of e_j as a share of the variance of X_j.

    Raises:
        OptionError: `noise` is not positive.
        TableError, MaskingError: see `inputs`.
    """
    given = _checked(S, X, rng, noise)
    root = np.sqrt(noise) * np.eye(given.columns)
    return _added("sadp", given, normal_noise(rng, given.records, root), noise)


def cadp(
    S: Any,  # noqa: N803 - the papers' names
    X: Any,  # noqa: N803
    rng: Randomness,
    *,
    noise: float = NOISE,
    rescale: bool = False,
) -> Masked:
    """Mask by correlated additive noise: Y = X + e, the covariance of e being noise * cov(X).

    Correlations among the columns of X are kept in expectation; those with S are multiplied by
    1 / sqrt(1 + noise). With `rescale`, Y is shrunk towards the means of X by this factor, so that
    its means and covariances are those of X in expectation. (Kim 1986; AlAhmadi II.2.2.)

    Args:
        S, X, rng: as of `sadp`.
        noise: the covariance of e as a share of the covariance of X.
        rescale: whether means and covariances are brought back to those of X.

    Raises: as of `sadp`.
    """
    given = _checked(S, X, rng, noise)
    root = np.sqrt(noise / given.records) * symmetric_root(given.standard)
    drawn = normal_noise(rng, given.records, root)
    return _added("cadp", given, drawn, noise, shrink=1 / np.sqrt(1 + noise) if rescale else 1.0)


def _checked(S: Any, X: Any, rng: Randomness, noise: float) -> Inputs:  # noqa: N803
    require_limit(noise, Annotated[float, Gt(0), Le(MOST_NOISE)], "noise")
    require_randomness(rng)
    return inputs(S, X)


def _added(
    method: str, given: Inputs, drawn: Floats, noise: float, *, shrink: float = 1.0
) -> Masked:
    """Return X + noise, shrunk towards the means of X by a factor."""
    values = given.in_units((given.standard + drawn) * shrink)
    return Masked(
        method,
        given.restore(values),
        values,
        noise=values - given.matrix,
        details={**facts(given), "noise": noise},
        warnings=gravest_first(cautions(given, predicting=False)),
    )


def cgadp(
    S: Any,  # noqa: N803 - the papers' names
    X: Any,  # noqa: N803
    rng: Randomness,
    *,
    max_leverage: float = MAX_LEVERAGE,
    max_told: float | None = None,
) -> Masked:
    """Mask by the copula form of GADP: EGADP on the normal scores, then back to the marginals.

    Relationships that are monotonic, linear or not, are kept between pairs of columns, and the
    marginals nearly so: masked values are interpolated between the order statistics of X, and
    the share of a value that many records have is kept, too. Categories of S stay as they are.
    (Sarathy, Muralidhar and Parsa 2002; AlAhmadi II.2.3; of ties see `copula_correlations`.)

    Args, Raises: as of `gadp`, of records' scores and the ranks of columns.
    """
    require_randomness(rng)
    given = inputs(S, X)
    scored = of_scores(given, normal_scores(given.matrix))
    spread = np.std(normal_scores(np.arange(given.records, dtype=np.float64)[:, None]))
    perturbed = masked_scores(given, scored, rng, max_leverage) * spread
    values = from_normal_scores(perturbed, given.matrix)
    return by_scores("cgadp", given, scored, values, scored.both, max_told)


def masked_scores(
    given: Inputs, scored: Inputs, rng: Randomness, max_leverage: float, *, by_ranks: bool = False
) -> Floats:
    """Return draws of the normal variables behind X given S, with mean 0 and variance 1: n x q.

    The noise is orthogonal to the scores of S and X and has exactly the covariance that the
    copula's correlations leave; without ties and `by_ranks` this is EGADP of the scores.
    """
    require_maskable(scored, scored.both.shape[1], max_leverage)
    require_secret(given)
    prediction, root = conditional(scored, copula_correlations(scored, by_ranks=by_ranks))
    return prediction + exact_noise(rng, scored.both, root * np.sqrt(scored.records))


def of_scores(
    given: Inputs, scores: Floats, score: Callable[[Floats], Floats] = normal_scores
) -> Inputs:
    """Return S and X with scores in the place of numbers; categories stay.

    Args:
        given: S and X.
        scores: those of X, n x q.
        score: what makes scores of the numeric columns of S, n x 1 each.
    """
    columns = (
        NumericColumn(column.name, score(column.values[:, None])[:, 0])
        if isinstance(column, NumericColumn) and not column.is_constant
        else column
        for column in given.s.columns
    )
    made = numeric_table(given.x.names, scores)
    return Inputs(MixedTable(tuple(columns), given.records), made, made)


# Families of marginal distributions, fitted to a column by maximum likelihood and compared.

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


def _logistic(units: Floats) -> Any:
    """Both equations of the maximum: sum F = n / 2 and sum z (2 F - 1) = n, z = (u - m) / s."""

    def equations(parameters: Floats) -> list[float]:
        z = (units - parameters[0]) * np.exp(-parameters[1])
        share = 2 * special.expit(z) - 1
        return [float(np.mean(share)), float(np.mean(z * share) - 1)]

    start = [float(np.median(units)), float(np.log(np.std(units) * np.sqrt(3) / np.pi))]
    solved = optimize.root(equations, start)
    return stats.logistic(solved.x[0], np.exp(solved.x[1])) if solved.success else None


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
    "normal": lambda units: stats.norm(np.mean(units), np.std(units)),
    "logistic": _logistic,
    "log-normal": lambda units: stats.lognorm(
        np.std(np.log(units)), 0, np.exp(np.mean(np.log(units)))
    ),
    "gamma": _gamma,
    "weibull": _weibull,
}


# Data shuffling: the true values of X, reordered by the ranks of perturbed ones.

Marginals = Literal["rank", "parametric"]


def shuffle(
    S: Any,  # noqa: N803 - the papers' names
    X: Any,  # noqa: N803
    rng: Randomness,
    *,
    marginals: Marginals = "rank",
    max_leverage: float = MAX_LEVERAGE,
    max_told: float | None = None,
) -> Masked:
    """Mask by data shuffling: released values are those of X, at other records.

    Perturbed values Y* are drawn under a normal copula; then the i-th smallest value of each column
    of X goes to the record with the i-th smallest Y*. Marginals are exactly the original; monotonic
    relationships are kept. (Muralidhar and Sarathy 2003, 2006; AlAhmadi II.2.3.)

    Args:
        S, X, rng, max_leverage, max_told: as of `gadp`, of records' scores.
        marginals: how columns become normal. "rank": by their ranks alone; the copula's
            correlations are 2 sin(pi r / 6) of the rank correlations r. "parametric": by a family
            fitted to each column (see `fit_marginal`); the correlations are those of the scores.
            Of indicators of categories and of columns with ties see `copula_correlations`.

    Raises: as of `gadp`.
    """
    require_randomness(rng)
    require_limit(marginals, Marginals, "marginals")
    given = inputs(S, X)
    if marginals == "rank":
        scored = of_scores(given, normal_scores(given.matrix))
        details = {}
    else:
        fitted = [fit_marginal(values) for values in given.matrix.T]
        scores = [one.scores(values) for one, values in zip(fitted, given.matrix.T, strict=True)]
        scored = of_scores(given, np.column_stack(scores), fitted_scores)
        details = {"marginals": dict(zip(given.x.names, map(str, fitted), strict=True))}
    perturbed = masked_scores(given, scored, rng, max_leverage, by_ranks=marginals == "rank")
    values = reordered(given.matrix, perturbed)
    name = "shuffle" if marginals == "rank" else "shuffle-parametric"
    return by_scores(name, given, scored, values, scored.both, max_told, same_type=True, **details)
