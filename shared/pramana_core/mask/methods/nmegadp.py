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
    """Mask by Y = E(X|S) + e: a regression of Y on S finds the same curve as one of X on S.

    E(X|S) is learned by kernel ridge regression, iterated so that an analyst's own fit of Y does
    not shrink it again, and by lines where curves are not significantly better. Squares and
    products of S with significant slopes in the residuals are added. e is the noise of EGADP,
    orthogonal also to E(X|S) and to leading eigenvectors of the kernel, in which an analyst would
    fit chance. (AlAhmadi III.)

    Exact in the sample: means and covariances of (S, Y). With `shuffled`, also the marginals: true
    values are reordered by the ranks of Y. With `copula`, e has nearly the marginals and the rank
    dependence of the residuals. Not kept: a spread that depends on S (a warning is given), and
    nonlinear relationships among columns of X beyond E(X|S).

    A record's own value weighs at most `max_leverage` in E(X|S). Where a curve would exceed this
    weight, the prediction from other records replaces the value; where a line exceeds it, the table
    is rejected. `Masked.influence` has weight and noise of each record. Raises as `Method` does.
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
    """Return noise, n x q, with r's covariance and nearly its marginals and rank dependence."""
    scores = normal_scores(relation.residuals)
    normal = exact_noise(rng, basis, scores - scores.mean(axis=0))
    return made_exact(from_normal_scores(normal, relation.residuals), basis, relation.residuals)
