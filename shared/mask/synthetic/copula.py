"""Synthetic records by a Gaussian copula: X drawn from its conditional law given S."""

from __future__ import annotations

from typing import Any

import numpy as np

from shared.mask.core.inputs import (
    MAX_LEVERAGE,
    Inputs,
    inputs,
    require_no_lone_record,
    require_records,
)
from shared.mask.core.masked import Masked
from shared.mask.core.randomness import Randomness
from shared.mask.core.ranks import from_normal_scores, normal_scores
from shared.mixed.design import basis_of, design_of, residual, with_constant
from shared.mixed.table import Floats, MixedTable, NumericColumn


def synthetic_copula(
    S: Any,  # noqa: N803 - the papers' names
    X: Any,  # noqa: N803
    rng: Randomness,
    *,
    max_leverage: float = MAX_LEVERAGE,
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

    Returns:
        Y in X's form. `expectation` and `noise` are None: they are of scores, not of values.

    Raises:
        TableError: values are missing, or numbers of records differ.
        MaskingError: too few records, constant columns of X, or records that stand alone in S.
    """
    given = inputs(S, X)
    basis = basis_of(with_constant(_told_scores(given)))
    require_records(given, basis.shape[1])
    require_no_lone_record(basis, max_leverage)
    scores = normal_scores(given.matrix)
    rest = residual(scores, basis)
    drawn = rng.standard_normal(scores.shape) @ _root(rest.T @ rest / len(rest))
    values = from_normal_scores(scores - rest + drawn, given.matrix)
    return Masked("synthetic-copula", given.restore(values), values)


def _told_scores(given: Inputs) -> Floats:
    """Return S as a matrix, numbers by their normal scores: n x p."""
    columns = tuple(
        NumericColumn(c.name, normal_scores(c.values[:, None])[:, 0])
        if isinstance(c, NumericColumn)
        else c
        for c in given.s.columns
    )
    table = MixedTable(columns, given.records)
    return design_of(table).matrix(table)


def _root(covariance: Floats) -> Floats:
    """Return the symmetric root of a covariance matrix, which may be singular."""
    values, vectors = np.linalg.eigh(covariance)
    found: Floats = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    return found
