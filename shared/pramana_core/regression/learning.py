"""Learning a regression from a table of numbers and categories."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import stdtr, stdtrit

from pramana_core.errors import EstimationError
from pramana_core.learn.common.distributions import stream
from pramana_core.learn.common.options import RegressionOptions
from pramana_core.mixed import Floats, MixedTable
from pramana_core.progress import Progress, unwatched
from pramana_core.regression.least_squares import Fit, diagnose, least_squares, scored
from pramana_core.regression.model import Coefficient, RegressionModel, Score
from pramana_core.regression.records import read_records
from pramana_core.regression.terms import INTERCEPT, Terms, choose_terms

FOLDS = 5

MASKED_ERRORS = (
    "The errors include the variance from masking only if the method keeps the moments exactly"
    " (egadp, ipso, nmegadp)."
)


def learn_regression(
    table: MixedTable,
    target: str,
    features: Sequence[str] | None = None,
    options: RegressionOptions | None = None,
    on_step: Progress = unwatched,
    *,
    masked: bool = True,
) -> RegressionModel:
    """Learn how a numeric column of n records depends on other columns, by default on all others.

    With `masked`, the model gets notes on masking. `on_step` is called with the numbers of steps
    done and expected. Raises MissingColumn, OptionError, TableError: see `read_records`.
    LimitExceeded: there would be too many terms. EstimationError: too few records, or the target or
    every feature does not vary.
    """
    options = options or RegressionOptions()
    records = read_records(table, target, features)
    on_step(0, FOLDS + 1)
    chosen = choose_terms(records.table, records.features, options.degree)
    terms = chosen.terms
    if not terms.terms:
        raise EstimationError("Every feature has the same value in all records.", where="features")
    matrix = terms.matrix(records.table)
    fit = least_squares(matrix, records.target)
    score = _score(matrix, records.target, options.seed, on_step)
    on_step(FOLDS + 1, FOLDS + 1)
    return RegressionModel(
        target=target,
        features=records.features,
        options=options,
        records=table.records,
        terms=terms,
        weights=tuple(map(float, fit.weights)),
        coefficients=_coefficients(terms, fit, matrix, options.confidence),
        diagnostics=diagnose(fit, records.target),
        score=score,
        constant=chosen.constant,
        redundant=chosen.redundant,
        notes=(MASKED_ERRORS,) if masked else (),
    )


def _score(matrix: Floats, target: Floats, seed: int, on_step: Progress) -> Score | None:
    n = len(target)
    if n < 2 * FOLDS:
        return None
    order = stream(seed, 2).permutation(n)
    predictions = np.empty(n)
    for step, outside in enumerate(np.array_split(order, FOLDS)):
        inside = np.setdiff1d(order, outside)
        # Without some records a rare category may be missing; use the minimum-norm weights.
        weights = np.linalg.lstsq(matrix[inside], target[inside], rcond=None)[0]
        predictions[outside] = matrix[outside] @ weights
        on_step(step + 1, FOLDS + 1)
    return scored(predictions, target, FOLDS)


def _coefficients(
    terms: Terms, fit: Fit, matrix: Floats, confidence: float
) -> tuple[Coefficient, ...]:
    carry = terms.to_own_units()
    errors, robust = (
        np.sqrt(np.einsum("ij,jk,ik->i", carry, covariance, carry).clip(0))
        for covariance in (fit.covariance, fit.robust)
    )
    freedom = len(matrix) - len(fit.weights)
    width = -float(stdtrit(freedom, (1 - confidence) / 2))
    labels = [INTERCEPT, *(term.label for term in terms.terms)]
    deviations = [0.0, *terms.deviations(matrix)]
    coefficients = []
    for k, (label, estimate, se) in enumerate(
        zip(labels, carry @ fit.weights, errors, strict=True)
    ):
        # An exact fit has no error to divide by.
        t = float(estimate / se) if se else None
        coefficients.append(
            Coefficient(
                term=label,
                estimate=float(estimate),
                se=float(se),
                se_robust=float(robust[k]),
                t=t,
                freedom=float(freedom),
                p=None if t is None else float(2 * stdtr(freedom, -abs(t))),
                interval=(float(estimate - width * se), float(estimate + width * se)),
                deviation=deviations[k],
            )
        )
    return tuple(coefficients)
