"""Synthetic records by a Gaussian copula: X drawn from its conditional law given S."""

from __future__ import annotations

from typing import Any

from pramana_core.mask.core.caution import gravest_first
from pramana_core.mask.core.cautions import cautions, facts
from pramana_core.mask.core.influence import hidden, influence_of
from pramana_core.mask.core.inputs import MAX_LEVERAGE, inputs, require_maskable
from pramana_core.mask.core.latent import conditional, copula_correlations
from pramana_core.mask.core.masked import Masked
from pramana_core.mask.core.noise import normal_noise
from pramana_core.mask.core.randomness import Randomness, require_randomness
from pramana_core.mask.core.ranks import from_normal_scores, normal_scores
from pramana_core.mask.methods.copula import of_scores


def synthetic_copula(
    S: Any,  # noqa: N803 - the papers' names
    X: Any,  # noqa: N803
    rng: Randomness,
    *,
    max_leverage: float = MAX_LEVERAGE,
    max_told: float | None = None,
) -> Masked:
    """Draw X anew given S, by a Gaussian copula whose marginals are the empirical ones.

    Numbers become normal scores and categories of S indicators. The scores of X are regressed
    on those of S; their prediction and normal noise with the residuals' covariance, drawn freely
    for each record, are read back through X's order statistics, between which values are
    interpolated. This is the conditional law of the copula that Patki, Wedge and
    Veeramachaneni (2016) fit to whole tables.

    It keeps monotonic relationships. Given S and the fitted copula Y tells nothing of X; moments
    are kept up to the noise, so that two releases do not give one record away exactly. Values lie
    between true ones: the smallest and the largest true value may occur, unlinked.

    Args:
        S: the non-confidential columns, n x p numbers or a frame; None for none.
        X: the confidential columns, n x q numbers or a frame.
        rng: the randomness.
        max_leverage: records whose own value weighs more than this in its prediction are refused.
        max_told: the largest share of what S leaves of a record's score that may be told of it,
            above 0 and below 1; None for no bound but warnings.

    Returns:
        Y in X's form. `expectation` and `noise` are None: they are of scores, not of values.

    Raises:
        OptionError: an option is out of its range.
        TableError: see `inputs`.
        MaskingError: S tells the ranks of a column of X exactly, a record stands alone in S, more
            than `max_told` is told of one, or there are too few records.
    """
    require_randomness(rng)
    given = inputs(S, X)
    scored = of_scores(given, normal_scores(given.matrix))
    require_maskable(scored, scored.basis.shape[1], max_leverage)
    prediction, root = conditional(scored, copula_correlations(scored))
    drawn = prediction + normal_noise(rng, given.records, root)
    values = from_normal_scores(drawn, given.matrix)
    influence = hidden(influence_of(scored.leverages, columns=given.columns), max_told)
    return Masked(
        "synthetic-copula",
        given.restore(values),
        values,
        details=facts(scored),
        warnings=gravest_first((*influence.warnings, *cautions(given, scored))),
        influence=influence,
    )
