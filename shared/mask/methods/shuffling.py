"""Data shuffling: the true values of X, reordered by the ranks of perturbed ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy import stats

from shared.errors import OptionError
from shared.mask.core.cautions import cautions, facts
from shared.mask.core.inputs import (
    MAX_LEVERAGE,
    Inputs,
    inputs,
    require_leverages,
    require_records,
    require_secret,
)
from shared.mask.core.masked import Masked
from shared.mask.core.noise import exact_noise
from shared.mask.core.randomness import Randomness, require_randomness
from shared.mask.core.ranks import normal_scores, reordered
from shared.mask.methods.copula import masked_scores, of_scores
from shared.mask.methods.marginals import fit_marginal, fitted_scores
from shared.mixed.design import standardized
from shared.mixed.table import Floats

Marginals = Literal["rank", "parametric"]

SMALLEST = 1e-8
"""Eigenvalues of correlations below this share of the largest count as 0."""


def shuffle(
    S: Any,  # noqa: N803 - the papers' names
    X: Any,  # noqa: N803
    rng: Randomness,
    *,
    marginals: Marginals = "rank",
    max_leverage: float = MAX_LEVERAGE,
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
            correlations are 2 sin(pi r / 6) of the rank correlations r, and those with a
            category's indicator the correlations of scores. "parametric": by a family fitted to
            each column (see `fitted_scores`), and masked there as EGADP does.
        max_leverage: the largest weight that a record's own score may have in its prediction.

    Raises:
        OptionError: an option is out of its range.
        TableError: see `inputs`.
        MaskingError: S tells a column of X exactly, a record stands alone in S, or there are too
            few records.
    """
    require_randomness(rng)
    if marginals not in ("rank", "parametric"):
        raise OptionError(
            f'marginals must be "rank" or "parametric", not {marginals!r}.', where="marginals"
        )
    given = inputs(S, X)
    if marginals == "rank":
        scored = of_scores(given, normal_scores(given.matrix))
        perturbed = _by_rank_correlations(scored, rng, max_leverage)
        return _shuffled("shuffle", given, scored, perturbed, {})
    fitted = [fit_marginal(values) for values in given.matrix.T]
    scores = [
        marginal.scores(values) for marginal, values in zip(fitted, given.matrix.T, strict=True)
    ]
    scored = of_scores(given, np.column_stack(scores), fitted_scores)
    prediction, noise = masked_scores(scored, rng, max_leverage)
    families = dict(zip(given.x.names, map(str, fitted), strict=True))
    return _shuffled(
        "shuffle-parametric", given, scored, prediction + noise, {"marginals": families}
    )


def _by_rank_correlations(scored: Inputs, rng: Randomness, max_leverage: float) -> Floats:
    """Return Y*: a draw given the scores of S under the copula of the rank correlations, n x q."""
    require_leverages(scored.leverages, max_leverage)
    require_secret(scored)
    require_records(scored, scored.both.shape[1])
    ranked = [category is None for _, category in scored.design.sources]
    correlations = _copula_correlations(
        np.column_stack([scored.told, scored.standard]),
        np.array([*ranked, *[True] * scored.columns]),
    )
    p = len(ranked)
    between = correlations[:p, p:]
    coefficients = np.linalg.pinv(correlations[:p, :p], rcond=SMALLEST, hermitian=True) @ between
    left = correlations[p:, p:] - between.T @ coefficients
    values, vectors = np.linalg.eigh(left)
    root = (vectors * np.sqrt(np.maximum(values, 0.0))).T
    noise = exact_noise(rng, scored.both, root * np.sqrt(scored.records))
    return scored.told @ coefficients + noise


def _copula_correlations(scores: Floats, ranked: npt.NDArray[np.bool_]) -> Floats:
    """Return the correlations of a normal copula from standardized columns, k x k.

    Args:
        scores: n x k.
        ranked: which columns are scores of numbers; the others are indicators of categories.
    """
    found = scores.T @ scores / len(scores)
    ranks = np.apply_along_axis(stats.rankdata, 0, scores[:, ranked])
    standard = standardized(ranks)[0]
    # Pearson's correlation of two normal columns from Spearman's (Pearson 1907).
    found[np.ix_(ranked, ranked)] = 2 * np.sin(np.pi / 6 * (standard.T @ standard) / len(scores))
    # Correlations that were found pair by pair need not fit together.
    values, vectors = np.linalg.eigh(found)
    if values[0] < 0:
        found = (vectors * np.maximum(values, 0.0)) @ vectors.T
    lengths = np.sqrt(np.diag(found))
    fitting: Floats = found / np.outer(lengths, lengths)
    return fitting


def _shuffled(
    method: str, given: Inputs, scored: Inputs, perturbed: Floats, details: Mapping[str, Any]
) -> Masked:
    values = reordered(given.matrix, perturbed)
    return Masked(
        method,
        given.restore(values, same_type=True),
        values,
        details={**facts(scored), **details},
        warnings=cautions(given, scored),
    )
