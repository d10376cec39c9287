"""A learned regression: how it predicts, its coefficients with errors, its diagnostics.

It predicts by terms with weights, kernels at points, or a tree of questions. All are plain numbers
and names. The points of kernels are means of several records, and so are the leaves of a tree: no
form holds a record.

Also here:

* Standard diagnostics of a regression: what its residuals show, and tests of its coefficients. They
  are of masked records. Where the method draws its noise from a normal distribution of one
  variance, residuals of a masked target look normal and even whatever the true ones are.
* What one copy gives: weights of a basis with their covariance, and what is left of the target.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import linalg, stats

from pramana_core.errors import EstimationError, InputError
from pramana_core.kernel_regression.tuning import gaussian
from pramana_core.mixed import Floats, MixedTable, raw_columns
from pramana_core.regression.options import RegressionOptions
from pramana_core.regression.terms import Feature, Terms, as_learned

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


# What one copy gives: weights of a basis with their covariance, and what is left of the target.
#
# Every model here is linear in a basis: terms, kernels at points, or the leaves of a tree.

Basis = Callable[[MixedTable], Floats]
"""What makes of n records an n x k matrix that the model is linear in."""


@dataclass(frozen=True, eq=False)
class Fit:
    """A model fitted to one copy.

    Attributes:
        weights: of the k columns of the basis.
        covariance: of the weights, k x k, if errors have one variance and are independent.
        robust: of the weights whatever the errors' variances (HC3), k x k; None for other models
            than least squares.
        fitted: n fitted targets.
        residuals: n targets less their fitted values.
        leverages: n numbers, how much each record's target weighs in its own fitted value; None
            where that is not known.
        freedom: the effective number of parameters, the constant among them.
        condition: of the standardized terms; None for other models than least squares.
    """

    weights: Floats
    covariance: Floats
    robust: Floats | None
    fitted: Floats
    residuals: Floats
    leverages: Floats | None
    freedom: float
    condition: float | None = None

    @property
    def records(self) -> int:
        """n."""
        return len(self.fitted)

    @property
    def rest(self) -> float:
        """The degrees of freedom that the residuals have."""
        return self.records - self.freedom

    @property
    def variance(self) -> float:
        """The residuals' variance."""
        return float(self.residuals @ self.residuals) / self.rest


def least_squares(matrix: Floats, targets: Floats) -> Fit:
    """Fit a target by the columns of a matrix of full rank, through QR.

    Args:
        matrix: n x k; the constant is its first column.
        targets: n numbers.

    Raises:
        EstimationError: there are not more records than columns.
    """
    records, columns = matrix.shape
    if records <= columns:
        raise EstimationError(
            f"{records} records are too few for {columns} coefficients, the intercept among them.",
            where="features",
            remedy="Name fewer features, or a lower degree.",
        )
    q, r = np.linalg.qr(matrix)
    inverse = linalg.solve_triangular(r, np.eye(columns))
    projections = q.T @ targets
    fitted = q @ projections
    residuals = targets - fitted
    # Once more, against rounding where the target is far from 0.
    again = q.T @ residuals
    fitted, residuals = fitted + q @ again, residuals - q @ again
    leverages: Floats = np.einsum("ij,ij->i", q, q).astype(np.float64)
    variance = float(residuals @ residuals) / (records - columns)
    return Fit(
        weights=inverse @ (projections + again),
        covariance=variance * inverse @ inverse.T,
        robust=_robust(q, inverse, residuals, leverages),
        fitted=fitted,
        residuals=residuals,
        leverages=leverages,
        freedom=columns,
        condition=_condition(matrix),
    )


def inflations(matrix: Floats) -> list[float]:
    """Return the variance inflation factor of each column but the constant, the first.

    By how much the others enlarge the variance of its coefficient: 1 if they tell nothing of it.
    """
    standard = _standard(matrix[:, 1:])
    if not standard.shape[1]:
        return []
    r = linalg.qr(standard, mode="r")[0][: standard.shape[1]]
    inverse = linalg.solve_triangular(r, np.eye(len(r)))
    return [float(v) for v in np.einsum("ij,ij->i", inverse, inverse)]


def _robust(q: Floats, inverse: Floats, residuals: Floats, leverages: Floats) -> Floats:
    """Return the covariance of MacKinnon and White (1985), HC3."""
    # A record that decides its own fitted value has no residual, and adds nothing.
    free = leverages < 1 - 1e-9
    scaled = np.where(free, residuals, 0.0) / np.where(free, 1 - leverages, 1.0)
    half = inverse @ (q * scaled[:, None]).T
    found: Floats = half @ half.T
    return found


def _condition(matrix: Floats) -> float:
    """Return the ratio of the largest to the smallest singular value of the standardized terms."""
    standard = _standard(matrix[:, 1:])
    if not standard.shape[1]:
        return 1.0
    values = linalg.svdvals(linalg.qr(standard, mode="r")[0][: standard.shape[1]])
    return float(values[0] / values[-1])


def _standard(columns: Floats) -> Floats:
    """Return centred columns of length 1."""
    centred = columns - columns.mean(axis=0)
    found: Floats = centred / np.linalg.norm(centred, axis=0)
    return found


_NOTHING = 1e-24
"""A share of the target's variance that is rounding: residuals so small have no shape."""


def diagnose(fit: Fit, targets: Floats, matrix: Floats | None) -> Diagnostics:
    """Return the diagnostics of a model of one copy.

    Args:
        fit: the model.
        targets: n numbers.
        matrix: the terms of least squares, the constant first, n x (1 + k); None for other models.
    """
    centred = targets - targets.mean()
    total, rest = float(centred @ centred), float(fit.residuals @ fit.residuals)
    exact = rest <= _NOTHING * total
    r2 = 1 - rest / total
    adjusted = 1 - (1 - r2) * (fit.records - 1) / fit.rest
    shown = None if exact or matrix is None else matrix[:, 1:]
    distances = None if matrix is None or exact else cook_distances(fit)
    return Diagnostics(
        r2=r2,
        adjusted_r2=adjusted,
        residual_sd=float(np.sqrt(fit.variance)),
        aic=None if exact else aic(fit),
        normality=None if exact else jarque_bera(fit.residuals),
        even=None if shown is None else breusch_pagan(fit.residuals, shown),
        largest_leverage=None if fit.leverages is None else float(fit.leverages.max()),
        largest_distance=None if distances is None else float(distances.max()),
        influential=None if distances is None else int((distances > 4 / fit.records).sum()),
        condition=fit.condition,
    )


def aic(fit: Fit) -> float:
    """Return Akaike's criterion with normal errors; their variance counts as a parameter."""
    mean_square = float(fit.residuals @ fit.residuals) / fit.records
    likelihood = fit.records * (np.log(2 * np.pi * mean_square) + 1)
    return float(likelihood + 2 * (fit.freedom + 1))


def jarque_bera(residuals: Floats) -> Test:
    """Test whether residuals are normal, by their skewness and kurtosis (Jarque and Bera 1987)."""
    found = stats.jarque_bera(residuals)
    return Test(float(found.statistic), (2.0,), float(found.pvalue))


def breusch_pagan(residuals: Floats, terms: Floats) -> Test | None:
    """Test whether the residuals' variance depends on the terms.

    n R^2 of the regression of squared residuals on the k terms is chi-square with k (Breusch and
    Pagan 1979, studentized by Koenker 1981).

    Args:
        residuals: n numbers.
        terms: n x k, independent of each other and of the constant; k at least 1.

    Returns:
        the test; None where all squares are the same.
    """
    squares = np.square(residuals)
    centred = squares - squares.mean()
    if not centred.any():
        return None
    basis, _ = np.linalg.qr(terms - terms.mean(axis=0))
    share = float(np.square(basis.T @ centred).sum() / (centred @ centred))
    statistic, freedom = len(residuals) * share, terms.shape[1]
    return Test(statistic, (float(freedom),), float(stats.chi2.sf(statistic, freedom)))


def cook_distances(fit: Fit) -> Floats:
    """Return how far each record moves all fitted values (Cook 1977): n numbers.

    A record that decides its own fitted value alone has no distance, and gets 0.
    """
    leverages = np.zeros(fit.records) if fit.leverages is None else fit.leverages
    free = leverages < 1 - 1e-9
    outer = np.where(free, leverages / np.square(np.where(free, 1 - leverages, 1.0)), 0.0)
    found: Floats = np.square(fit.residuals) * outer / (fit.freedom * fit.variance)
    return found


def overall_test(fits: Sequence[Fit]) -> Test | None:
    """Test that all coefficients but the constant's are 0.

    With one copy it is the F test of least squares. With m of them it is that of Reiter (2005,
    "Significance tests for multi-component estimands from multiply imputed, synthetic microdata",
    section 2.2 for partially synthetic data): r is the share that copies add to the variance.

    Returns:
        the test; None without a term, or where nothing is left of the target.
    """
    copies, terms = len(fits), len(fits[0].weights) - 1
    rest = fits[0].rest
    within = np.mean([fit.covariance[1:, 1:] for fit in fits], axis=0)
    if not terms or not np.trace(within) > 0:
        return None
    weights = np.stack([fit.weights[1:] for fit in fits])
    mean = weights.mean(axis=0)
    statistic = float(mean @ np.linalg.solve(within, mean)) / terms
    freedom = rest
    if copies > 1:
        around = weights - mean
        between = around.T @ around / (copies - 1)
        added = float(np.trace(np.linalg.solve(within, between))) / (copies * terms)
        statistic /= 1 + added
        freedom = min(rest, _freedom(terms, copies, added))
    return Test(statistic, (float(terms), freedom), float(stats.f.sf(statistic, terms, freedom)))


def _freedom(terms: int, copies: int, added: float) -> float:
    """Return the degrees of freedom in the denominator of the test of m copies."""
    if added < 1e-9:
        return float("inf")
    t = terms * (copies - 1)
    if t > 4:
        return float(4 + (t - 4) * (1 + (1 - 2 / t) / added) ** 2)
    return float((terms + 1) * (copies - 1) * (1 + 1 / added) ** 2 / 2)


def scored(predictions: Floats, targets: Floats, folds: int) -> Score:
    """Return how well left-out records were predicted, of all copies together.

    The error of R^2 is by the delta method over records: 1 - R^2 is a ratio of two means.

    Args:
        predictions: m x n.
        targets: m x n.
        folds: into how many parts records were divided.
    """
    wrong = np.square(targets - predictions).mean(axis=0)
    spread = np.square(targets - targets.mean(axis=1, keepdims=True)).mean(axis=0)
    lost = float(wrong.mean() / spread.mean())
    influence = (wrong - lost * spread) / spread.mean()
    se = float(influence.std(ddof=1) / np.sqrt(len(influence)))
    return Score(folds, 1 - lost, se, float(np.sqrt(wrong.mean())))
