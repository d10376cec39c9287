"""A learned regression, with its terms, weights, coefficients with errors, and diagnostics."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pramana_core.errors import InputError
from pramana_core.learn.common.documents import DocumentForm
from pramana_core.learn.common.options import RegressionOptions
from pramana_core.mixed import Floats, MixedTable
from pramana_core.regression.records import Feature, as_learned
from pramana_core.regression.terms import Terms


@dataclass(frozen=True)
class Coefficient:
    """A coefficient of a term, in the unit of its column.

    Attributes:
        term: the name of the term, such as `age`, `age^2`, `sex=male` or `(intercept)`.
        estimate, se, se_robust: the coefficient, and its standard errors that assume equal
            variances and that allow unequal variances (HC3).
        t, freedom, p: the statistic, degrees of freedom and p-value of the two-sided t-test against
            0; t and p are None if `se` is 0.
        interval: the interval based on `se`, at the confidence level of the options.
        deviation: the standard deviation of the term, in its own unit.
    """

    term: str
    estimate: float
    se: float
    se_robust: float
    t: float | None
    freedom: float
    p: float | None
    interval: tuple[float, float]
    deviation: float


@dataclass(frozen=True)
class Diagnostics:
    """The fit of a model to its own records: R^2, and the standard deviation of the residuals."""

    r2: float
    residual_sd: float


@dataclass(frozen=True)
class Score:
    """How well a model predicts each part of the records from the other `folds` - 1 parts.

    `r2` may be below 0. `se` is the standard error of `r2` against the population, given the
    models. `rmse` is in the unit of the target.
    """

    folds: int
    r2: float
    se: float
    rmse: float


@dataclass(frozen=True)
class RegressionModel:
    """A learned regression of one numeric column on other columns.

    Attributes:
        target, features: the explained column, and the columns that explain it.
        options, records: the options of the fit, and the number of records.
        terms, weights: the terms, and the weights of the constant and of the standardized terms.
        coefficients: the weights in the columns' own units, with errors.
        diagnostics: how well the model fits its own records.
        score: how well it predicts left-out records, or None if there are too few records.
        constant, redundant: terms left out because they do not vary, or because they are
            combinations of other terms.
        notes: remarks, one sentence each, for readers of the errors.

    Raises InputError: the terms do not fit the features or the weights.
    """

    target: str
    features: tuple[Feature, ...]
    options: RegressionOptions
    records: int
    terms: Terms
    weights: tuple[float, ...]
    coefficients: tuple[Coefficient, ...]
    diagnostics: Diagnostics
    score: Score | None
    constant: tuple[str, ...]
    redundant: tuple[str, ...]
    notes: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.weights) != 1 + len(self.terms.terms):
            raise InputError(
                f"{len(self.terms.terms)} terms and a constant cannot have"
                f" {len(self.weights)} weights.",
                where="weights",
            )
        known = {feature.name: feature.categories for feature in self.features}
        scaled = self.terms.centres.keys() & self.terms.scales.keys()
        for term in self.terms.terms:
            labels = known.get(term.column, ())
            fits = term.column in scaled if labels is None else term.category in labels
            if not fits:
                raise InputError(
                    f"The features do not have the term {term.label!r}.", where="terms"
                )

    def predict(self, table: MixedTable) -> Floats:
        """Return the predicted targets of n records, in their unit.

        Raises the errors of `as_learned`.
        """
        matrix = self.terms.matrix(as_learned(table, self.features))
        predictions: Floats = matrix @ np.array(self.weights)
        return predictions


DOCUMENT = DocumentForm("regression", RegressionModel, "a regression")
"""The form of regressions as JSON documents, with a field for each attribute."""
