"""A learned regression: how it predicts, its coefficients with errors, its diagnostics.

It predicts by terms with weights, kernels at points, or a tree of questions. All are plain numbers
and names. The points of kernels are means of several records, and so are the leaves of a tree: no
form holds a record.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pramana_core.errors import InputError
from pramana_core.kernel_regression.tuning import gaussian
from pramana_core.mixed import Floats, MixedTable, raw_columns
from pramana_core.regression.options import RegressionOptions
from pramana_core.regression.records import Feature, as_learned
from pramana_core.regression.terms import Terms

_BLOCK = 1 << 22
"""The most numbers of a matrix of records by points that is held at once."""


@dataclass(frozen=True)
class LinearForm:
    """A sum of terms: `weights` are the constant's and those of the standardized terms."""

    terms: Terms
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.weights) != 1 + len(self.terms.terms):
            raise InputError(
                f"{len(self.terms.terms)} terms and a constant have {len(self.weights)} weights.",
                where="weights",
            )

    def predict(self, table: MixedTable) -> Floats:
        """Return n predicted targets."""
        found: Floats = self.terms.matrix(table) @ np.array(self.weights)
        return found


@dataclass(frozen=True)
class Standardization:
    """Columns and indicators, standardized.

    Attributes:
        labels: a column's name, or `name=category`: k of them.
        centres: their k means where the model was learned.
        scales: their k standard deviations.
    """

    labels: tuple[str, ...]
    centres: tuple[float, ...]
    scales: tuple[float, ...]

    def matrix(self, table: MixedTable) -> Floats:
        """Return a table's records as n x k numbers."""
        columns = dict(raw_columns(table))
        if absent := [label for label in self.labels if label not in columns]:
            raise InputError(
                f"The model asks for {absent}, which its features do not have.", where="labels"
            )
        stacked = np.stack([columns[label] for label in self.labels], axis=1)
        found: Floats = (stacked - np.array(self.centres)) / np.array(self.scales)
        return found


@dataclass(frozen=True)
class KernelForm:
    """A sum of Gaussian kernels.

    Attributes:
        columns: how records become k numbers each.
        bandwidth: of the kernel exp(-d^2 / (2 bandwidth^2)), d the distance of two records.
        constant: what is added to the sum.
        points: the centres of the kernels: p points of k numbers.
        weights: the p kernels' weights.
        penalty: of the squared norm of the sum, as a share of the records; predictions do not
            need it.
        freedom: the effective number of parameters, the mean over copies; the same.
    """

    columns: Standardization
    bandwidth: float
    constant: float
    points: tuple[tuple[float, ...], ...]
    weights: tuple[float, ...]
    penalty: float
    freedom: float

    def __post_init__(self) -> None:
        if len(self.weights) != len(self.points) or not self.points or self.bandwidth <= 0:
            raise InputError(
                f"{len(self.points)} points of kernels have {len(self.weights)} weights, and the"
                f" bandwidth {self.bandwidth:g}.",
                where="points",
            )

    def predict(self, table: MixedTable) -> Floats:
        """Return n predicted targets."""
        matrix, points = self.columns.matrix(table), np.array(self.points)
        weights, rows = np.array(self.weights), max(1, _BLOCK // len(points))
        parts = [
            gaussian(matrix[start : start + rows], points, self.bandwidth) @ weights
            for start in range(0, len(matrix), rows)
        ]
        return np.concatenate([*parts, np.empty(0)]) + self.constant


@dataclass(frozen=True)
class TreeNode:
    """A question, or a leaf, of a tree.

    Attributes:
        records: how many records are in it, the mean over copies.
        mean: their mean target.
        se: the standard error of the mean against the population, the tree given; None where
            copies have too few records there.
        sd: the standard deviation of the target in it.
        column: the column or indicator that is asked for; None in a leaf.
        threshold: records up to it, in the column's own unit, go on to `below`.
        below: the place of the next node.
        above: the place of the node for all others.
    """

    records: float
    mean: float
    se: float | None
    sd: float
    column: str | None = None
    threshold: float | None = None
    below: int | None = None
    above: int | None = None


@dataclass(frozen=True)
class TreeForm:
    """A tree of questions; the first node is its root, and later nodes are further down.

    Raises:
        InputError: a node leads to none further down.
    """

    nodes: tuple[TreeNode, ...]

    def __post_init__(self) -> None:
        for place, node in enumerate(self.nodes):
            if node.column is None:
                continue
            ways = (node.below, node.above)
            if node.threshold is None or any(
                way is None or not place < way < len(self.nodes) for way in ways
            ):
                raise InputError(f"Node {place} of the tree leads to no two nodes.", where="nodes")
        if not self.nodes:
            raise InputError("The tree has no nodes.", where="nodes")

    @property
    def leaves(self) -> tuple[int, ...]:
        """The places of the leaves."""
        return tuple(k for k, node in enumerate(self.nodes) if node.column is None)

    def leaf_of(self, table: MixedTable) -> npt.NDArray[np.intp]:
        """Return the place of each record's leaf: n whole numbers."""
        columns = dict(raw_columns(table))
        at = np.zeros(table.records, dtype=np.intp)
        for place, node in enumerate(self.nodes):
            if node.column is None or node.below is None or node.above is None:
                continue
            threshold = np.inf if node.threshold is None else node.threshold
            if node.column not in columns:
                raise InputError(
                    f"The tree asks for {node.column!r}, which its features do not have.",
                    where="nodes",
                )
            here = at == place
            low = columns[node.column] <= threshold
            at[here & low] = node.below
            at[here & ~low] = node.above
        return at

    def predict(self, table: MixedTable) -> Floats:
        """Return n predicted targets."""
        return np.array([node.mean for node in self.nodes])[self.leaf_of(table)]


Form = LinearForm | KernelForm | TreeForm


@dataclass(frozen=True)
class Coefficient:
    """A coefficient in its column's own unit, its copies combined.

    Attributes:
        term: what it multiplies, such as `age`, `age^2`, `sex=male`, or `(intercept)`.
        estimate: the coefficient.
        se: its standard error against the population, if the errors of all records have one
            variance and are independent.
        se_robust: the same whatever the variances of the errors (HC3).
        t: the estimate over `se`; None without an error.
        freedom: the degrees of freedom of `t`.
        p: how often a coefficient of 0 would give as large a `t`, either way.
        interval: by `se`, at the confidence that was asked for.
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
    deviation: float


@dataclass(frozen=True)
class Diagnostics:
    """How a model fits one copy.

    Attributes:
        r2: the share of the target's variance that the fitted values explain.
        adjusted_r2: the same with variances in place of sums, so that terms cost something.
        residual_sd: the residuals' standard deviation, in the target's unit.
        aic: Akaike's criterion with normal errors, their variance counted as a parameter; None of
            an exact fit.
    """

    r2: float
    adjusted_r2: float
    residual_sd: float
    aic: float | None


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
        diagnostics: of each copy.
        score: by records that were left out; None where they are too few.
        curves: of the features that are left; of a linear model none, for its coefficients say it.
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
    diagnostics: tuple[Diagnostics, ...]
    score: Score | None
    curves: tuple[Curve, ...]
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
