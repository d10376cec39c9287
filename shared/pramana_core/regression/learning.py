"""Regressions learned from masked copies: each is fitted alike, and the results are combined.

Also here:

* What pictures of a regression show: curves, residuals and fits, and no record by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pramana_core.errors import EstimationError
from pramana_core.learn.common.documents import stream
from pramana_core.mask.copies import ONE_COPY, CombinedEstimates, combine_copies
from pramana_core.mixed import CategoricalColumn, Column, Floats, MixedTable, NumericColumn
from pramana_core.progress import Progress, unwatched
from pramana_core.regression import kernels_and_trees
from pramana_core.regression.model import (
    Basis,
    Cells,
    Coefficient,
    Curve,
    Fit,
    Form,
    LinearForm,
    RegressionModel,
    Score,
    Strip,
    Test,
    diagnose,
    inflations,
    least_squares,
    overall_test,
    scored,
)
from pramana_core.regression.options import RegressionOptions
from pramana_core.regression.terms import Copies, SelectedTerms, choose_terms, label_of, read_copies

if TYPE_CHECKING:
    from pramana_core.regression.terms import Copies


# What pictures of a regression show: curves, residuals and fits, and no record by itself.

FEWEST = 5
"""Of each copy at least so many records are in a cell or strip that is shown."""

STRIPS, PER_STRIP = 20, 25
"""The most strips, and the fewest records that one has."""

CELLS = 30
"""The most cells in each direction; fewer of few records, so that most of these are in cells that
are shown."""

PLACES, OTHERS = 25, 200
"""Places of a curve, and the records over which its mean is taken."""

MOST_CURVES = 12


def curves(
    copies: Copies, fits: Sequence[Fit], basis: Basis, confidence: float
) -> tuple[Curve, ...]:
    """Return how the mean prediction moves with each feature (Friedman 2001, section 8.2).

    The mean is over at most `OTHERS` records spread over the table. Features beyond the first
    `MOST_CURVES` have none, and neither have those without variation.
    """
    found: list[Curve] = []
    for column in copies.tables[0].columns:
        places = _places(column)
        if len(places) < 2 or len(found) == MOST_CURVES:
            continue
        means = [_mean_rows(table, places, basis) for table in copies.tables]
        combined = combine_copies(
            [rows @ fit.weights for rows, fit in zip(means, fits, strict=True)],
            [
                np.maximum(np.einsum("ij,jk,ik->i", rows, fit.covariance, rows), 0.0)
                for rows, fit in zip(means, fits, strict=True)
            ],
            copies.records,
            parameters=int(np.ceil(fits[0].freedom)),
        )
        low, high = combined.interval(confidence)
        at = (
            tuple(column.categories[c.codes[0]] for c in places if isinstance(c, CategoricalColumn))
            if isinstance(column, CategoricalColumn)
            else tuple(float(c.values[0]) for c in places if isinstance(c, NumericColumn))
        )
        told_ends = (tuple(map(float, ends)) for ends in (combined.estimate, low, high))
        found.append(Curve(column.name, at, *told_ends))
    return tuple(found)


def strips(copies: Copies, fits: Sequence[Fit]) -> tuple[Strip, ...]:
    """Return the residuals by fitted values, in strips of about as many records each."""
    fitted = np.concatenate([fit.fitted for fit in fits])
    residuals = np.concatenate([fit.residuals for fit in fits])
    m = len(fits)
    count = max(1, min(STRIPS, copies.records // PER_STRIP))
    # Equal fitted values stay together, however many they are.
    ends = np.unique(np.quantile(fitted, np.linspace(0, 1, count + 1)[1:-1]))
    strip_of = np.searchsorted(ends, fitted, side="left")
    inside = (np.flatnonzero(strip_of == place) for place in range(len(ends) + 1))
    return tuple(
        Strip(
            float(fitted[rows].mean()),
            float(residuals[rows].mean()),
            float(residuals[rows].std()),
            len(rows) / m,
        )
        for rows in inside
        if len(rows) >= FEWEST * m
    )


def cells(copies: Copies, fits: Sequence[Fit]) -> Cells:
    """Return how many records have which fitted and observed target.

    The cells lie between the 1 % and 99 % quantiles of both together; those of fewer than `FEWEST`
    records of each copy are not told.
    """
    fitted = np.concatenate([fit.fitted for fit in fits])
    observed = copies.targets.ravel()
    m = len(fits)
    low, high = np.quantile(np.concatenate([fitted, observed]), [0.01, 0.99])
    if not low < high:
        return Cells((float(low), float(high)), (), 1.0)
    count = max(4, min(CELLS, int((copies.records / 4) ** 0.5)))
    edges = np.linspace(low, high, count + 1)
    counts, _, _ = np.histogram2d(fitted, observed, bins=(edges, edges))
    shown = np.argwhere(counts >= FEWEST * m)
    told = tuple((int(i), int(j), float(counts[i, j]) / m) for i, j in shown)
    hidden = 1 - sum(count for *_, count in told) / copies.records
    return Cells(tuple(map(float, edges)), told, max(0.0, hidden))


def _places(column: Column) -> list[Column]:
    """Return a feature as columns of one value each, where its curve is asked."""
    if isinstance(column, CategoricalColumn):
        present = np.flatnonzero(np.bincount(column.codes, minlength=len(column.categories)))
        return [
            CategoricalColumn(column.name, np.full(1, code, dtype=np.intp), column.categories)
            for code in present[:PLACES]
        ]
    low, high = np.quantile(column.values, [0.05, 0.95])
    if not low < high:
        return []
    return [NumericColumn(column.name, np.array([at])) for at in np.linspace(low, high, PLACES)]


def _mean_rows(table: MixedTable, places: Sequence[Column], basis: Basis) -> Floats:
    """Return the mean row of the basis at each place: places x k."""
    step = max(1, table.records // OTHERS)
    some = table.rows(np.arange(0, table.records, step)[:OTHERS])
    return np.stack([basis(moved).mean(axis=0) for moved in _moved(some, places)])


def _moved(table: MixedTable, places: Sequence[Column]) -> Iterator[MixedTable]:
    """Yield a table with one of its columns at each of some places."""
    same = np.zeros(table.records, dtype=np.intp)
    for place in places:
        columns = (place.rows(same) if c.name == place.name else c for c in table.columns)
        yield MixedTable(tuple(columns), table.records)


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
    coefficients, overall = _coefficients(fitted, copies, how)
    on_step(FOLDS + 2, FOLDS + 2)
    return RegressionModel(
        target=target,
        features=copies.features,
        options=how,
        records=copies.records,
        copies=len(copies.tables),
        form=fitted.form,
        coefficients=coefficients,
        overall=overall,
        diagnostics=tuple(
            diagnose(fit, values, None if fitted.matrices is None else fitted.matrices[place])
            for place, (fit, values) in enumerate(zip(fitted.fits, copies.targets, strict=True))
        ),
        score=score,
        curves=() if linear else curves(copies, fitted.fits, fitted.basis, how.confidence),
        strips=strips(copies, fitted.fits),
        cells=cells(copies, fitted.fits),
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
    basis = kernels_and_trees.kernel_basis(copies, options)
    fits = kernels_and_trees.kernel_fits(basis, copies)

    def left_out(copy: int, inside: Places, outside: Places) -> Floats:
        return kernels_and_trees.left_out_predictions(
            basis, copy, copies.targets[copy], inside, outside
        )

    weights = np.mean([fit.weights for fit in fits], axis=0)
    freedom = float(np.mean([fit.freedom for fit in fits]))
    return _Fitted(basis.form(weights, freedom), basis.matrix, fits, left_out)


def _tree(copies: Copies, options: RegressionOptions) -> _Fitted:
    form = kernels_and_trees.grow_tree(copies, options)

    def left_out(copy: int, inside: Places, outside: Places) -> Floats:
        # The whole tree is grown anew, of this copy alone.
        table, values = copies.tables[copy], copies.targets[copy : copy + 1]
        part = Copies(copies.target, copies.features, (table.rows(inside),), values[:, inside])
        return kernels_and_trees.grow_tree(part, options).predict(table.rows(outside))

    fits = kernels_and_trees.leaf_fits(form, copies)
    return _Fitted(form, lambda table: kernels_and_trees.leaf_matrix(form, table), fits, left_out)


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
    needed = {"tree": 2 * options.min_leaf, "kernel": kernels_and_trees.FEWEST_RECORDS // 2}
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
) -> tuple[tuple[Coefficient, ...], Test | None]:
    """Return the coefficients of least squares in the columns' units, and their common test."""
    if fitted.chosen is None or fitted.matrices is None:
        return (), None
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
    factors = np.mean([inflations(matrix) for matrix in fitted.matrices], axis=0)
    labels = [label_of(()), *map(label_of, fitted.chosen.terms.terms)]
    inflation = [None, *map(float, factors)]
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
            inflation=inflation[k],
            deviation=deviations[k],
        )
        for k, label in enumerate(labels)
    ), overall_test(fitted.fits)


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
