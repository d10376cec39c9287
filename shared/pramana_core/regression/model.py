"""A learned regression: its terms and weights, coefficients with errors, and diagnostics."""

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
    """A coefficient in its column's own unit.

    Attributes:
        term: such as `age`, `age^2`, `sex=male` or `(intercept)`.
        estimate, se, se_robust: the coefficient, with its errors for equal and for any variances
            (HC3).
        t, freedom, p: the two-sided t-test of 0; t and p are None where `se` is 0.
        interval: by `se`, at the confidence of the options.
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
    """How a model fits its records: R^2, and the residuals' deviation in the target's unit."""

    r2: float
    residual_sd: float


@dataclass(frozen=True)
class Score:
    """How well a model predicts records from the other `folds` - 1 parts of them.

    `r2` may be below 0, with its standard error against the population given the models; `rmse` is
    in the target's unit.
    """

    folds: int
    r2: float
    se: float
    rmse: float


@dataclass(frozen=True)
class RegressionModel:
    """A learned regression of one numeric column on others.

    Attributes:
        target, features: the column that is explained, and those that explain it.
        options, records: how it was fitted, and n.
        terms, weights: the terms of the sum, and the weights of the constant and standardized
            terms.
        coefficients: the same in the columns' own units, with their errors.
        diagnostics, score: of the fit, and on left-out records; None where there are too few.
        constant, redundant: what was left out: without variation, or combinations of others.
        notes: sentences for the reader of the errors.

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
                f"{len(self.terms.terms)} terms and a constant have {len(self.weights)} weights.",
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
        """Return n predicted targets, in the target's unit. Raises as `as_learned`."""
        matrix = self.terms.matrix(as_learned(table, self.features))
        found: Floats = matrix @ np.array(self.weights)
        return found


DOCUMENT = DocumentForm("regression", RegressionModel, "a regression")
"""Regressions as JSON: a field for each attribute."""
