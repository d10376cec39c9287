"""Regressions learned from masked copies: each copy is fitted, and the results are combined."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pramana_core.errors import EstimationError
from pramana_core.learn.common.distributions import stream
from pramana_core.learn.common.options import RegressionOptions
from pramana_core.mask.copies import ONE_COPY, combine_copies
from pramana_core.mixed import Floats, MixedTable
from pramana_core.progress import Progress, unwatched
from pramana_core.regression.least_squares import Fit, diagnose, least_squares, scored
from pramana_core.regression.model import Coefficient, RegressionModel, Score
from pramana_core.regression.records import read_copies
from pramana_core.regression.terms import INTERCEPT, Terms, choose_terms

FOLDS = 5


def learn_regression(
    tables: Sequence[MixedTable],
    target: str,
    features: Sequence[str] | None = None,
    options: RegressionOptions | None = None,
    on_step: Progress = unwatched,
    *,
    masked: bool = True,
) -> RegressionModel:
    """Learn how a numeric column depends on others.

    Args:
        tables: one for each masked copy, of the same n records and columns; a table that is not
            masked counts as one copy.
        target: the name of a numeric column.
        features: the names of the columns that explain it; None for all others.
        options: the options of the fit.
        on_step: is called with the steps done and expected.
        masked: whether the tables are masked; decides the notes.

    Raises:
        MissingColumn, OptionError, TableError: see `read_copies`.
        LimitExceeded: there would be too many terms.
        EstimationError: too few records, or a target or all features without variation.
    """
    how = options or RegressionOptions()
    copies = read_copies(tables, target, features)
    on_step(0, FOLDS + 1)
    chosen = choose_terms(copies.tables, copies.features, how.degree)
    terms = chosen.terms
    if not terms.terms:
        raise EstimationError("Every feature has the same value in all records.", where="features")
    matrices = [terms.matrix(table) for table in copies.tables]
    fits = [least_squares(x, y) for x, y in zip(matrices, copies.targets, strict=True)]
    score = _score(matrices, copies.targets, how.seed, on_step)
    on_step(FOLDS + 1, FOLDS + 1)
    weights = np.mean([fit.weights for fit in fits], axis=0)
    return RegressionModel(
        target=target,
        features=copies.features,
        options=how,
        records=copies.records,
        copies=len(fits),
        terms=terms,
        weights=tuple(map(float, weights)),
        coefficients=_coefficients(terms, fits, matrices[0], how.confidence),
        diagnostics=tuple(map(diagnose, fits, copies.targets)),
        score=score,
        constant=chosen.constant,
        redundant=chosen.redundant,
        notes=(ONE_COPY,) if masked and len(fits) == 1 else (),
    )


def _score(
    matrices: Sequence[Floats], targets: Floats, seed: int, on_step: Progress
) -> Score | None:
    """Return how well records are predicted from others; None for fewer than 2 in a fold."""
    n = targets.shape[1]
    if n < 2 * FOLDS:
        return None
    order = stream(seed, 2).permutation(n)
    predictions = np.empty(targets.shape)
    for step, outside in enumerate(np.array_split(order, FOLDS)):
        inside = np.setdiff1d(order, outside)
        for copy, matrix in enumerate(matrices):
            # Without some records a rare category may be missing: the shortest weights are taken.
            weights = np.linalg.lstsq(matrix[inside], targets[copy, inside], rcond=None)[0]
            predictions[copy, outside] = matrix[outside] @ weights
        on_step(step + 1, FOLDS + 1)
    return scored(predictions, targets, FOLDS)


def _coefficients(
    terms: Terms, fits: Sequence[Fit], matrix: Floats, confidence: float
) -> tuple[Coefficient, ...]:
    """Return the combined coefficients in the columns' own units."""
    carry = terms.to_own_units()
    errors, robust = (
        combine_copies(
            [carry @ fit.weights for fit in fits],
            [np.einsum("ij,jk,ik->i", carry, c, carry).clip(0) for c in covariances],
            len(matrix),
        )
        for covariances in ([f.covariance for f in fits], [f.robust for f in fits])
    )
    labels = [INTERCEPT, *(term.label for term in terms.terms)]
    deviations = [0.0, *terms.deviations(matrix)]
    low, high = errors.interval(confidence)
    # An exact fit has no error to divide by.
    exact = errors.variance == 0
    return tuple(
        Coefficient(
            term=label,
            estimate=float(errors.estimate[k]),
            se=float(errors.standard_error[k]),
            se_robust=float(robust.standard_error[k]),
            t=None if exact[k] else float(errors.t[k]),
            freedom=float(errors.freedom[k]),
            p=None if exact[k] else float(errors.p_value[k]),
            interval=(float(low[k]), float(high[k])),
            deviation=deviations[k],
        )
        for k, label in enumerate(labels)
    )
