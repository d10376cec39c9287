"""Methods that keep monotonic relationships, by a normal copula: CGADP and data shuffling.

Columns become normal scores, are masked there, and go back through their marginals.
"""

from __future__ import annotations

import numpy as np

from pramana_core.mask.core.copula import (
    conditional,
    copula_correlations,
    from_normal_scores,
    normal_scores,
    reordered,
)
from pramana_core.mask.core.inputs import MAX_LEVERAGE, Inputs, require_maskable, require_secret
from pramana_core.mask.core.masked import Masked, by_scores
from pramana_core.mask.core.noise import Randomness, exact_noise
from pramana_core.mixed import Floats, MixedTable, NumericColumn, numeric_table


def cgadp(
    given: Inputs,
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
    """
    scored = _of_scores(given)
    spread = np.std(normal_scores(np.arange(given.records, dtype=np.float64)[:, None]))
    perturbed = _masked_scores(given, scored, rng, max_leverage) * spread
    values = from_normal_scores(perturbed, given.matrix)
    return by_scores(given, scored, values, scored.both, max_told)


def shuffle(
    given: Inputs,
    rng: Randomness,
    *,
    max_leverage: float = MAX_LEVERAGE,
    max_told: float | None = None,
) -> Masked:
    """Mask by data shuffling: released values are those of X, at other records.

    Perturbed values Y* are drawn under a normal copula, whose correlations are 2 sin(pi r / 6) of
    the rank correlations r; then the i-th smallest value of each column of X goes to the record
    with the i-th smallest Y*. Marginals are exactly the original; monotonic relationships are kept.
    (Muralidhar and Sarathy 2003, 2006; AlAhmadi II.2.3.)
    """
    scored = _of_scores(given)
    perturbed = _masked_scores(given, scored, rng, max_leverage, by_ranks=True)
    return by_scores(given, scored, reordered(given.matrix, perturbed), scored.both, max_told)


def _masked_scores(
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


def _of_scores(given: Inputs) -> Inputs:
    """Return S and X with normal scores in the place of numbers; categories stay."""
    columns = (
        NumericColumn(column.name, normal_scores(column.values[:, None])[:, 0])
        if isinstance(column, NumericColumn) and not column.is_constant
        else column
        for column in given.s.columns
    )
    scores = numeric_table(given.x.names, normal_scores(given.matrix))
    return Inputs(MixedTable(tuple(columns), given.records), scores)
