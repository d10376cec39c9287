"""Data shuffling: the true values of X, reordered by the ranks of perturbed ones."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from pramana_core.errors import OptionError
from pramana_core.mask.core.caution import gravest_first
from pramana_core.mask.core.cautions import cautions, facts
from pramana_core.mask.core.influence import hidden, influence_of
from pramana_core.mask.core.inputs import MAX_LEVERAGE, inputs
from pramana_core.mask.core.masked import Masked
from pramana_core.mask.core.randomness import Randomness, require_randomness
from pramana_core.mask.core.ranks import normal_scores, reordered
from pramana_core.mask.methods.copula import masked_scores, of_scores
from pramana_core.mask.methods.marginals import fit_marginal, fitted_scores

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
        S: the non-confidential columns, n x p, a frame or None.
        X: the confidential columns, one or several: n numbers, n x q or a frame.
        rng: the randomness.
        marginals: how columns become normal. "rank": by their ranks alone; the copula's
            correlations are 2 sin(pi r / 6) of the rank correlations r. "parametric": by a family
            fitted to each column (see `fit_marginal`); the correlations are those of the scores.
            Of indicators of categories and of columns with ties see `copula_correlations`.
        max_leverage: the largest weight that a record's own score may have in its prediction.
        max_told: the largest share that may be told of a record's score; see `gadp`.

    Raises:
        OptionError: an option is out of its range.
        TableError: see `inputs`.
        MaskingError: S tells a column of X exactly, a record stands alone in S, more than
            `max_told` is told of one, or there are too few records.
    """
    require_randomness(rng)
    if marginals not in ("rank", "parametric"):
        raise OptionError(
            f'marginals must be "rank" or "parametric", not {marginals!r}.', where="marginals"
        )
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
    influence = influence_of(scored.leverages, scored.both, columns=given.columns)
    influence = hidden(influence, max_told)
    return Masked(
        "shuffle" if marginals == "rank" else "shuffle-parametric",
        given.restore(values, same_type=True),
        values,
        details={**facts(scored), **details},
        warnings=gravest_first((*influence.warnings, *cautions(given, scored))),
        influence=influence,
    )
