"""The normal copula: columns as normal scores, masked there, and back through their marginals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pramana_core.mask.core.caution import gravest_first
from pramana_core.mask.core.cautions import cautions, facts
from pramana_core.mask.core.influence import hidden, influence_of
from pramana_core.mask.core.inputs import (
    MAX_LEVERAGE,
    Inputs,
    inputs,
    require_maskable,
    require_secret,
)
from pramana_core.mask.core.latent import conditional, copula_correlations
from pramana_core.mask.core.masked import Masked
from pramana_core.mask.core.noise import exact_noise
from pramana_core.mask.core.randomness import Randomness, require_randomness
from pramana_core.mask.core.ranks import (
    from_normal_scores,
    normal_scores,
)
from pramana_core.mixed.table import Floats, MixedTable, NumericColumn, numeric_table


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

    Args:
        S: the non-confidential columns, n x p, a frame or None.
        X: the confidential columns, n x q or a frame.
        rng: the randomness.
        max_leverage: the largest weight that a record's own score may have in its prediction.
        max_told: the largest share that may be told of a record's score; see `gadp`.

    Raises:
        OptionError: an option is out of its range.
        TableError: see `inputs`.
        MaskingError: S tells the ranks of a column of X exactly, a record stands alone in S, more
            than `max_told` is told of one, or there are too few records.
    """
    require_randomness(rng)
    given = inputs(S, X)
    scored = of_scores(given, normal_scores(given.matrix))
    spread = np.std(normal_scores(np.arange(given.records, dtype=np.float64)[:, None]))
    perturbed = masked_scores(given, scored, rng, max_leverage) * spread
    values = from_normal_scores(perturbed, given.matrix)
    influence = influence_of(scored.leverages, scored.both, columns=given.columns)
    influence = hidden(influence, max_told)
    return Masked(
        "cgadp",
        given.restore(values),
        values,
        details=facts(scored),
        warnings=gravest_first((*influence.warnings, *cautions(given, scored))),
        influence=influence,
    )


def masked_scores(
    given: Inputs,
    scored: Inputs,
    rng: Randomness,
    max_leverage: float,
    *,
    by_ranks: bool = False,
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
