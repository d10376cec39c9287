"""NMEGADP: masking that keeps relationships of any shape (AlAhmadi 2006, chapters III and IV).

Y = E(X|S) + e like EGADP's, with a conditional expectation that is learned.
`pramana_core.mask.methods` has it in four forms, by what becomes of the residuals and whether true
values are reordered.
"""

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
    """Mask by Y = E(X|S) + e: any regression of Y on S finds what that of X on S finds.

    E(X|S) is learned by kernel ridge regression (the least-squares support vector machine with a
    bias): of the fits as good as the best by left-out errors, each column's smoothest, and a line
    where curves are not better by a standard error; for what a fit memorizes, Y would tell.

    A ridge shrinks what it fits, and an analyst who fits Y by another shrinks it again. So the
    ridge is iterated, f = (1 - (1 - H)^k) X; where it shrinks few eigenvectors of the kernel, X is
    projected onto them. X is then regressed on the constant, S and f by least squares, so the
    residuals r are orthogonal to S and E(X|S). e is made as by EGADP: random, orthogonal to S, X,
    E(X|S) and to as many leading eigenvectors as there are records for, in which an analyst would
    fit chance. Eigenvectors that are nearly a lone record's own are kept less exactly, or it would
    have no noise. Squares and products of S that the residuals surely show are added to E(X|S).

    Exact in the sample: e has the covariance of r, so means and covariances of (S, Y) are those of
    (S, X). With `shuffled` the marginals are exact, since true values are reordered by the ranks of
    Y. With `copula`, e also has nearly the marginals and the rank dependence of r, as far as a
    normal copula fits r.

    Not kept: a spread of r that depends on S, for one covariance serves all records (a warning says
    so); and relationships among columns of X beyond E(X|S) but for the linear part (with the
    copula, the monotonic one): AlAhmadi III.3.1.

    Privacy: Y tells of a record beyond its S only through E(X|S), in which its own value weighs at
    most `max_leverage`, and on average as much as E(X|S) has effective parameters for each record
    (`details["freedom"]`; a warning says so above a tenth). `Masked.influence` has weight and noise
    of each record. E(X|S) is released on purpose.

    Args:
        given: S and X.
        rng: the randomness.
        limits: where curves would give a record's own value more weight, or more than `CURVED`,
            the prediction of the others takes its place; if lines do, the table is refused.
        copula: whether e has the residuals' marginals and rank dependence.
        shuffled: whether true values are reordered.

    Raises: as of `Method`.
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
    """Return noise with nearly the marginals and the rank dependence of r, and exactly its
    covariance; standardized, n x q."""
    scores = normal_scores(relation.residuals)
    normal = exact_noise(rng, basis, scores - scores.mean(axis=0))
    return made_exact(from_normal_scores(normal, relation.residuals), basis, relation.residuals)
