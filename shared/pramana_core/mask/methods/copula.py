"""Methods that keep monotonic relationships, by a normal copula: CGADP and data shuffling.

Columns are converted to normal scores, masked, and converted back to their original distributions.
"""

from __future__ import annotations

import numpy as np

from pramana_core.mask.core.cautions import cautions, gravest_first
from pramana_core.mask.core.copula import (
    conditional,
    copula_correlations,
    from_normal_scores,
    normal_scores,
    reordered,
)
from pramana_core.mask.core.influence import hidden, influence_of
from pramana_core.mask.core.inputs import Inputs, Limits, require_maskable, require_secret
from pramana_core.mask.core.masked import Masked, facts
from pramana_core.mask.core.noise import Randomness, exact_noise
from pramana_core.mixed import MixedTable, NumericColumn, numeric_table


def cgadp(given: Inputs, rng: Randomness, limits: Limits) -> Masked:
    """Mask by CGADP, the copula form of GADP, which applies EGADP to the normal scores.

    The scores are then converted back. The method keeps monotonic relationships between pairs, and
    nearly keeps the distribution of each column. Ties are treated by `copula_correlations`.
    (Sarathy, Muralidhar and Parsa 2002; AlAhmadi II.2.3.)
    """
    return _masked(given, rng, limits, shuffled=False)


def shuffle(given: Inputs, rng: Randomness, limits: Limits) -> Masked:
    """Mask by data shuffling, which releases the values of X, assigned to other records.

    The i-th smallest value of X goes to the record of the i-th smallest draw of a normal copula,
    whose correlations are 2 sin(pi r / 6). (Muralidhar and Sarathy 2003, 2006; AlAhmadi II.2.3.)
    """
    return _masked(given, rng, limits, shuffled=True)


def _masked(given: Inputs, rng: Randomness, limits: Limits, *, shuffled: bool) -> Masked:
    """Return masked values: scores predicted from S plus noise with the copula's covariance."""
    columns = (
        NumericColumn(column.name, normal_scores(column.values[:, None])[:, 0])
        if isinstance(column, NumericColumn) and not column.is_constant
        else column
        for column in given.s.columns
    )
    scores = numeric_table(given.x.names, normal_scores(given.matrix))
    scored = Inputs(MixedTable(tuple(columns), given.records), scores)
    require_maskable(scored, scored.both.shape[1], limits)
    require_secret(given)
    prediction, root = conditional(scored, copula_correlations(scored, by_ranks=shuffled))
    drawn = prediction + exact_noise(rng, scored.both, root * np.sqrt(scored.records))
    if shuffled:
        values = reordered(given.matrix, drawn)
    else:
        spread = np.std(normal_scores(np.arange(given.records, dtype=np.float64)[:, None]))
        values = from_normal_scores(drawn * spread, given.matrix)
    influence = influence_of(scored.leverages, scored.both, columns=given.columns)
    warnings = gravest_first((*influence.warnings, *cautions(given, scored)))
    influence = hidden(influence, limits)
    return Masked(values, details=facts(scored), warnings=warnings, influence=influence)
