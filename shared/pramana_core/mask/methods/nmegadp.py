"""NMEGADP: masking that keeps relationships of any shape (AlAhmadi 2006, chapters III and IV).

Y = E(X|S) + e like EGADP's, with a conditional expectation that is learned.
`pramana_core.mask.methods` has it in four forms, by what becomes of the residuals and whether true
values are reordered.
"""

from __future__ import annotations

from pramana_core.kernel_regression.options import KernelOptions
from pramana_core.mask.core.cautions import cautions, gravest_first
from pramana_core.mask.core.copula import from_normal_scores, normal_scores, reordered
from pramana_core.mask.core.influence import hidden, influence_of, require_bound
from pramana_core.mask.core.inputs import MAX_LEVERAGE, Inputs, require_maskable
from pramana_core.mask.core.masked import Masked, facts
from pramana_core.mask.core.noise import Randomness, exact_noise, made_exact
from pramana_core.mask.methods.learned import FittedExpectation, learned
from pramana_core.mixed import Floats


def nmegadp(
    given: Inputs,
    rng: Randomness,
    *,
    copula: bool = False,
    shuffled: bool = False,
    kernel: KernelOptions | None = None,
    max_leverage: float = MAX_LEVERAGE,
    max_told: float | None = None,
) -> Masked:
    """Mask by Y = E(X|S) + e: any regression of Y on S finds what that of X on S finds.

    E(X|S) is learned by kernel ridge regression (the least-squares support vector machine with a
    bias): of the fits that cannot be told from the best by the errors of left-out records, each
    column's smoothest, and a line where curves are not better by more than a standard error; for
    what a fit memorizes of single records, Y would tell.

    A ridge shrinks what it fits, and an analyst who fits Y by another shrinks it again; so the
    ridge is iterated, f = (1 - (1 - H)^k) X. Where it shrinks few eigenvectors of the kernel, k is
    infinite: X is projected onto them. X is then regressed on the constant, S and f by least
    squares. The residuals r are so orthogonal to S and to E(X|S), and e is made as by EGADP:
    random, orthogonal to S, X, E(X|S) and to as many leading eigenvectors as there are records for,
    in which an analyst would learn from chance what is not there. Eigenvectors that are nearly a
    lone record's own are kept less exactly, or it would have no noise. Squares and products of S
    that the residuals surely show are added to E(X|S).

    What is exact in the sample: e has the covariance of r, so the means and covariances of (S, Y)
    are those of (S, X), and e is orthogonal to S, X and E(X|S). With `shuffled`: the marginals,
    since true values are reordered by the ranks of Y; all else is close. With `copula`, e also has
    nearly the marginals and the rank dependence of r, as far as a normal copula fits r: monotonic
    dependence that is as strong everywhere, with no clusters, humps or tails that go together more
    than the middle does. A column of r alone keeps its marginal whatever the copula; made
    orthogonal and given its covariance exactly, it is changed a little, and more with few records.

    What is not kept: if the *spread* of r depends on S (heteroscedasticity), e does not follow it,
    for one covariance serves all records: where values spread little around E(X|S) the masked
    ones spread more, and the reverse; so standard errors that allow for it differ, and a warning
    says so. Relationships among columns of X are kept through E(X|S) and, of what S does not tell,
    the linear part (with the copula, the monotonic one): AlAhmadi III.3.1.

    Privacy: Y adds nothing on a record beyond its S except through E(X|S), in which its own value
    weighs at most `max_leverage`, and on average as much as E(X|S) has effective parameters for
    each record (`details["freedom"]`; a warning says so above a tenth). How much that tells depends
    on the record's noise: `Masked.influence` has both for each record. E(X|S) is released on
    purpose.

    Args:
        given: S and X.
        rng: the randomness.
        copula: whether e has the residuals' marginals and rank dependence.
        shuffled: whether true values are reordered.
        kernel: bandwidth, penalty and landmarks of the kernel regression; what it leaves open is
            chosen by leave-one-out errors.
        max_leverage: the largest weight that a record's own value may have in its expectation.
            Where a record stands so alone that by curves it would have more than this or than
            `CURVED`, what the others tell of it takes the place of its value; with 1 never. What
            it has by lines beyond `max_leverage` is refused.
        max_told: as of `Method`. Curves are held back for it; where lines tell more, the table is
            refused.

    Returns:
        The masked values; `details` has the regression's bandwidth, smallest penalty, freedom (of
        the column with most), leave-one-out R2 of each column, the share of the kernel that the
        approximation loses, the largest leverage and how many records were held to it.

    Raises: as of `Method`.
    """
    require_bound(max_told)
    require_maskable(given, given.both.shape[1], max_leverage)
    relation = learned(given, kernel or KernelOptions(), rng, max_leverage, max_told)
    basis = relation.orthogonal(given, wide=not copula)
    influence = hidden(influence_of(relation.own, basis), max_told)
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
