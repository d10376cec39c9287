"""Regressions learned from masked copies: each is fitted alike, and the results are combined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pramana_core.errors import EstimationError
from pramana_core.learn.common.documents import stream
from pramana_core.mask.copies import ONE_COPY, CombinedEstimates, combine_copies
from pramana_core.mixed import Floats, MixedTable
from pramana_core.progress import Progress, unwatched
from pramana_core.regression import kernels, trees
from pramana_core.regression.curves import curves
from pramana_core.regression.least_squares import (
    Basis,
    Fit,
    diagnose,
    least_squares,
    scored,
)
from pramana_core.regression.model import Coefficient, Form, LinearForm, RegressionModel, Score
from pramana_core.regression.options import RegressionOptions
from pramana_core.regression.records import Copies, read_copies
from pramana_core.regression.terms import INTERCEPT, SelectedTerms, choose_terms

FOLDS = 5

Places = npt.NDArray[np.signedinteger[Any]]

OutOfFold = Callable[[int, Places, Places], Floats]
"""Predictions of records of a copy, given its place, by a fit to others: inside, outside."""


@dataclass(frozen=True, eq=False)
class _Fitted:
    """What differs by model: the form, what it is linear in, and each copy's fit."""

    form: Form
    basis: Basis
    fits: list[Fit]
    left_out: OutOfFold
    matrices: list[Floats] | None = None
    chosen: SelectedTerms | None = None


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
        tables: one for each masked copy, of the same n records and columns. A table that is not
            masked is one copy.
        target: the name of a numeric column.
        features: the names of the columns that explain it; None for all others.
        options: the model, and its own options.
        on_step: told how far it is.
        masked: whether the tables are masked; decides what the notes say.

    Raises:
        MissingColumn, OptionError, TableError: see `read_copies`.
        LimitExceeded: least squares would have too many terms.
        EstimationError: too few records, or a target or all features without variation.
        NotInstalled: a tree, without scikit-learn.
    """
    how = options or RegressionOptions()
    copies = read_copies(tables, target, features)
    on_step(0, FOLDS + 2)
    fitted = _FITTED[how.model](copies, how)
    on_step(1, FOLDS + 2)
    score = _score(copies, fitted.left_out, how, on_step)
    linear = how.model == "linear"
    on_step(FOLDS + 2, FOLDS + 2)
    return RegressionModel(
        target=target,
        features=copies.features,
        options=how,
        records=copies.records,
        copies=len(copies.tables),
        form=fitted.form,
        coefficients=_coefficients(fitted, copies, how),
        diagnostics=tuple(
            diagnose(fit, values) for fit, values in zip(fitted.fits, copies.targets, strict=True)
        ),
        score=score,
        curves=() if linear else curves(copies, fitted.fits, fitted.basis, how.confidence),
        constant=_constant(copies) if fitted.chosen is None else fitted.chosen.constant,
        redundant=() if fitted.chosen is None else fitted.chosen.redundant,
        notes=(ONE_COPY,) if masked and len(copies.tables) == 1 else (),
    )


def _linear(copies: Copies, options: RegressionOptions) -> _Fitted:
    chosen = choose_terms(copies.tables, copies.features, options)
    if not chosen.terms.terms:
        raise EstimationError("Every feature has the same value in all records.", where="features")
    matrices = [chosen.terms.matrix(table) for table in copies.tables]
    fits = [
        least_squares(matrix, values)
        for matrix, values in zip(matrices, copies.targets, strict=True)
    ]

    def left_out(copy: int, inside: Places, outside: Places) -> Floats:
        matrix, values = matrices[copy], copies.targets[copy]
        # Without some records a rare category may be missing: the shortest weights are taken.
        weights = np.linalg.lstsq(matrix[inside], values[inside], rcond=None)[0]
        found: Floats = matrix[outside] @ weights
        return found

    weights = np.mean([fit.weights for fit in fits], axis=0)
    form = LinearForm(chosen.terms, tuple(map(float, weights)))
    return _Fitted(form, chosen.terms.matrix, fits, left_out, matrices, chosen)


def _kernel(copies: Copies, options: RegressionOptions) -> _Fitted:
    basis = kernels.kernel_basis(copies, options)
    fits = kernels.kernel_fits(basis, copies)

    def left_out(copy: int, inside: Places, outside: Places) -> Floats:
        return kernels.left_out_predictions(basis, copy, copies.targets[copy], inside, outside)

    weights = np.mean([fit.weights for fit in fits], axis=0)
    freedom = float(np.mean([fit.freedom for fit in fits]))
    return _Fitted(basis.form(weights, freedom), basis.matrix, fits, left_out)


def _tree(copies: Copies, options: RegressionOptions) -> _Fitted:
    form = trees.grow_tree(copies, options)

    def left_out(copy: int, inside: Places, outside: Places) -> Floats:
        # The whole tree is grown anew, of this copy alone.
        table, values = copies.tables[copy], copies.targets[copy : copy + 1]
        part = Copies(copies.target, copies.features, (table.rows(inside),), values[:, inside])
        return trees.grow_tree(part, options).predict(table.rows(outside))

    fits = trees.leaf_fits(form, copies)
    return _Fitted(form, lambda table: trees.leaf_matrix(form, table), fits, left_out)


_FITTED: dict[str, Callable[[Copies, RegressionOptions], _Fitted]] = {
    "linear": _linear,
    "polynomial": _linear,
    "kernel": _kernel,
    "tree": _tree,
}


def _score(
    copies: Copies, left_out: OutOfFold, options: RegressionOptions, on_step: Progress
) -> Score | None:
    """Return how well records are predicted from others; None of fewer than 2 in a fold."""
    n, m = copies.records, len(copies.tables)
    needed = {"tree": 2 * options.min_leaf, "kernel": kernels.FEWEST_RECORDS // 2}
    if n < 2 * FOLDS or n - -(-n // FOLDS) < max(2, needed.get(options.model, 0)):
        return None
    order = stream(options.seed, 2).permutation(n)
    predictions = np.empty((m, n))
    for step, outside in enumerate(np.array_split(order, FOLDS)):
        inside = np.setdiff1d(order, outside)
        for copy in range(m):
            predictions[copy, outside] = left_out(copy, inside, outside)
        on_step(step + 2, FOLDS + 2)
    return scored(predictions, copies.targets, FOLDS)


def _coefficients(
    fitted: _Fitted, copies: Copies, options: RegressionOptions
) -> tuple[Coefficient, ...]:
    """Return the coefficients of least squares in the columns' units."""
    if fitted.chosen is None or fitted.matrices is None:
        return ()
    carry = fitted.chosen.terms.to_own_units()
    found = [carry @ fit.weights for fit in fitted.fits]
    errors, robust = (
        combine_copies(
            found,
            [np.einsum("ij,jk,ik->i", carry, which, carry).clip(0) for which in covariances],
            copies.records,
        )
        for covariances in (
            [fit.covariance for fit in fitted.fits],
            [fit.covariance if fit.robust is None else fit.robust for fit in fitted.fits],
        )
    )
    labels = [INTERCEPT, *(term.label for term in fitted.chosen.terms.terms)]
    deviations = [0.0, *fitted.chosen.terms.deviations(fitted.matrices[0])]
    low, high = errors.interval(options.confidence)
    return tuple(
        Coefficient(
            term=label,
            estimate=float(errors.estimate[k]),
            se=float(errors.standard_error[k]),
            se_robust=float(robust.standard_error[k]),
            t=_finite(errors, "t", k),
            freedom=float(errors.freedom[k]),
            p=_finite(errors, "p_value", k),
            interval=(float(low[k]), float(high[k])),
            deviation=deviations[k],
        )
        for k, label in enumerate(labels)
    )


def _finite(combined: CombinedEstimates, name: str, place: int) -> float | None:
    """Return a number of the coefficients; None where an exact fit leaves no error."""
    if combined.variance[place] == 0:
        return None
    return float(getattr(combined, name)[place])


def _constant(copies: Copies) -> tuple[str, ...]:
    """Return the features that have the same value in every record."""
    return tuple(
        column.name
        for column in copies.tables[0].columns
        if len(np.unique(getattr(column, "codes", getattr(column, "values", ())))) < 2
    )
