"""NMEGADP: masking that keeps relationships of any shape (AlAhmadi 2006, chapters III and IV)."""

from __future__ import annotations

from pramana_core.mask.core.cautions import cautions, gravest_first
from pramana_core.mask.core.copula import from_normal_scores, normal_scores, reordered
from pramana_core.mask.core.influence import hidden, influence_of
from pramana_core.mask.core.inputs import Inputs, Limits, require_maskable
from pramana_core.mask.core.masked import Masked, facts
from pramana_core.mask.core.noise import Randomness, exact_noise, made_exact
from pramana_core.mask.methods.learned import FittedExpectation, learned
from pramana_core.mixed import Floats


def nmegadp(
    given: Inputs,
    rng: Randomness,
    limits: Limits,
    *,
    copula: bool = False,
    shuffled: bool = False,
) -> Masked:
    """Mask by NMEGADP, Y = E(X|S) + e; the regressions of Y and of X on S then find the same curve.

    E(X|S) is learned by kernel ridge regression, iterated so that an analyst's own fit of Y does
    not shrink it again. Straight lines are used where curves are not significantly better. Squares
    and products of S with significant slopes in the residuals are added. The noise e is that of
    EGADP, and is also orthogonal to E(X|S) and to leading eigenvectors of the kernel, in which an
    analyst would otherwise fit noise. (AlAhmadi III.)

    The means and covariances of (S, Y) are exact in the sample. With `shuffled`, true values are
    reordered by the ranks of Y, so the distribution of each column is exact, too. With `copula`, e
    nearly has the distributions and the rank dependence of the residuals. A spread that depends on
    S is lost (with a warning), as are nonlinear relationships among columns of X beyond E(X|S).

    The weight of a record's own value in E(X|S) is at most `max_leverage`. If a curve would exceed
    this weight, the value is replaced by the prediction from other records. If a line exceeds it,
    the table is rejected. `Masked.influence` has the weight and the noise of each record. Raises
    the errors of `Method`.
    """
    require_maskable(given, given.both.shape[1], limits)
    relation = learned(given, rng, limits)
    basis = relation.orthogonal(given, wide=not copula)
    influence = hidden(influence_of(relation.own, basis), limits)
    if copula:
        noise = _copula_noise(relation, basis, rng)
    else:
        noise = exact_noise(rng, basis, relation.residuals)
    perturbed = given.in_units(relation.expectation + noise)
    warnings = (*influence.warnings, *cautions(given), *relation.warnings(given))
    return Masked(
        reordered(given.matrix, perturbed) if shuffled else perturbed,
        expectation=None if shuffled else given.in_units(relation.expectation),
        noise=None if shuffled else noise * given.scales,
        details={**facts(given), **relation.details(given)},
        warnings=gravest_first(warnings),
        influence=influence,
    )


def _copula_noise(relation: FittedExpectation, basis: Floats, rng: Randomness) -> Floats:
    """Return noise, n x q, with r's covariance and nearly its distributions and ranks."""
    scores = normal_scores(relation.residuals)
    normal = exact_noise(rng, basis, scores - scores.mean(axis=0))
    return made_exact(from_normal_scores(normal, relation.residuals), basis, relation.residuals)
