"""A learned regression: how it predicts, its coefficients with errors, its diagnostics."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pramana_core.mixed.table import Floats, MixedTable
from pramana_core.regression.forms import Form
from pramana_core.regression.inputs import Feature, as_learned
from pramana_core.regression.options import RegressionOptions


@dataclass(frozen=True)
class Coefficient:
    """A coefficient in its column's own unit, its copies combined.

    Attributes:
        term: what it multiplies, such as `age`, `age^2`, `sex=male * age`, or `(intercept)`.
        estimate: the coefficient.
        se: its standard error against the population, if the errors of all records have one
            variance and are independent.
        se_robust: the same whatever the variances of the errors (HC3).
        t: the estimate over `se`; None without an error.
        freedom: the degrees of freedom of `t`.
        p: how often a coefficient of 0 would give as large a `t`, either way.
        interval: by `se`, at the confidence that was asked for.
        inflation: the variance inflation factor, of centred columns; None for the intercept.
        deviation: the standard deviation of the centred term, in its own unit.
    """

    term: str
    estimate: float
    se: float
    se_robust: float
    t: float | None
    freedom: float
    p: float | None
    interval: tuple[float, float]
    inflation: float | None
    deviation: float


@dataclass(frozen=True)
class Test:
    """A test: its statistic, its degrees of freedom, and its p-value."""

    __test__ = False

    statistic: float
    freedom: tuple[float, ...]
    p: float


@dataclass(frozen=True)
class Diagnostics:
    """How a model fits one copy.

    Attributes:
        r2: the share of the target's variance that the fitted values explain.
        adjusted_r2: the same with variances in place of sums, so that terms cost something.
        residual_sd: the residuals' standard deviation, in the target's unit.
        aic: Akaike's criterion with normal errors, their variance counted as a parameter.
        normality: of the residuals (Jarque and Bera 1987).
        even: whether the residuals' variance is the same everywhere (Breusch and Pagan 1979, as
            Koenker 1981 has it, which supposes no normal errors).
        largest_leverage: the most that a record's own target weighs in its fitted value.
        largest_distance: the largest of Cook's distances.
        influential: how many of Cook's distances are above 4 / n.
        condition: the condition number of the standardized terms.
    """

    r2: float
    adjusted_r2: float
    residual_sd: float
    aic: float | None
    normality: Test | None
    even: Test | None
    largest_leverage: float | None
    largest_distance: float | None
    influential: int | None
    condition: float | None


@dataclass(frozen=True)
class Score:
    """How well records are predicted that a model was not fitted to.

    Attributes:
        folds: into how many parts the records were divided; each is predicted from the others.
        r2: the share of the target's variance that is predicted; may be below 0.
        se: its standard error against the population of records, the models given.
        rmse: the root of the mean squared error, in the target's unit.
    """

    folds: int
    r2: float
    se: float
    rmse: float


@dataclass(frozen=True)
class Curve:
    """The mean prediction as one feature moves and all others stay (partial dependence).

    Attributes:
        feature: its name.
        at: the places, between its 5 % and 95 % quantiles; of a categorical one the labels.
        mean: the mean prediction at each.
        low: the lower ends of its intervals against the population, the form of the model given.
        high: their upper ends.
    """

    feature: str
    at: tuple[float, ...] | tuple[str, ...]
    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


@dataclass(frozen=True)
class Strip:
    """Records of about one fitted value, at least `learning.FEWEST` of each copy.

    Attributes:
        fitted: their mean fitted value.
        residual: their mean residual.
        sd: the residuals' standard deviation.
        records: how many, in each copy.
    """

    fitted: float
    residual: float
    sd: float
    records: float


@dataclass(frozen=True)
class Cells:
    """How many records have which fitted and observed target, cells of few records left out.

    Attributes:
        edges: of the cells in both directions, k + 1 numbers.
        counts: (fitted cell, observed cell, records in each copy).
        hidden: the share of the records that no cell shows.
    """

    edges: tuple[float, ...]
    counts: tuple[tuple[int, int, float], ...]
    hidden: float


@dataclass(frozen=True)
class RegressionModel:
    """A learned regression of one numeric column on others.

    Attributes:
        target: what is explained.
        features: what explains it.
        options: how it was fitted.
        records: n, of each copy.
        copies: m; estimates of several are combined by the rules of Reiter (2003).
        form: how it predicts.
        coefficients: of least squares; none of other models.
        overall: the test that all coefficients but the intercept are 0.
        diagnostics: of each copy.
        score: by records that were left out; None where they are too few.
        curves: of the features that are left; of a linear model none, for its coefficients say it.
        strips: residuals by fitted values.
        cells: observed by fitted values.
        constant: columns, or categories, without variation, left out.
        redundant: terms that others tell exactly, left out.
        notes: what must be known of the errors, in words.
    """

    target: str
    features: tuple[Feature, ...]
    options: RegressionOptions
    records: int
    copies: int
    form: Form
    coefficients: tuple[Coefficient, ...]
    overall: Test | None
    diagnostics: tuple[Diagnostics, ...]
    score: Score | None
    curves: tuple[Curve, ...]
    strips: tuple[Strip, ...]
    cells: Cells
    constant: tuple[str, ...]
    redundant: tuple[str, ...]
    notes: tuple[str, ...]

    def predict(self, table: MixedTable) -> Floats:
        """Return the predicted target of records: n numbers, in the target's unit.

        Raises:
            MissingColumn, TableError, UnknownCategory: see `as_learned`.
        """
        return self.form.predict(as_learned(table, self.features))

    def mean(self, name: str) -> float:
        """Return a number of the diagnostics, the mean over the copies; NaN where there is none."""
        values = [getattr(one, name) for one in self.diagnostics]
        return float(np.mean([np.nan if value is None else value for value in values]))
