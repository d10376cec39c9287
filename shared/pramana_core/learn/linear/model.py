"""A linear classifier: planes in the space of its columns, and how well they are known."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import log_expit, softmax

from pramana_core.csv_text import csv_text
from pramana_core.domain import Domain, Variable
from pramana_core.errors import DomainError
from pramana_core.learn.common.documents import DocumentForm, Ends, finite
from pramana_core.learn.common.inputs import record_columns, require_inputs
from pramana_core.learn.common.options import Basis, LinearOptions
from pramana_core.learn.linear.columns import Cells, Column, DesignMatrix, ListedCells
from pramana_core.marginals.counts import Codes, Tensor
from pramana_core.pictures import plots
from pramana_core.pictures.plots import Chart
from pramana_core.pictures.svg import breadth, short
from pramana_core.ties import TIE

if TYPE_CHECKING:
    from matplotlib.axes import Axes


INTERCEPT = "(intercept)"


@dataclass(frozen=True)
class Weight:
    """A weight in the unit of its column, with its errors where the theory gives them.

    `se` is the standard error against the population the records were drawn from, `se_records`
    that given the true records (the noise of randomization alone). `interval` is the 95 % interval
    against the population, by inverting the score test: not the same to both sides, and infinite on
    a side where the reports are compatible with any weight.
    """

    column: str
    estimate: float
    se: float | None = None
    se_records: float | None = None
    interval: Ends | None = None


@dataclass(frozen=True)
class Plane:
    """One linear function: the class on its positive side, and its weights, intercept first."""

    positive: str
    weights: tuple[Weight, ...]

    @cached_property
    def vector(self) -> Tensor:
        """The weights as numbers, shape (1 + columns,)."""
        return np.array([weight.estimate for weight in self.weights])


@dataclass(frozen=True)
class LinearClassifier:
    """Predicts a class by the side of a plane, or of several classes by the highest score.

    Attributes:
        inputs: the variables that a prediction is made from.
        target: the class.
        columns: the numbers that stand for their categories; a plane has a weight for each.
        planes: one if there are two classes, with the second on the positive side; otherwise one
            for each class against all others. A class without a plane is never predicted.
        options: how it was fitted.
        basis: what it was fitted to: the counts of all `cells`, or records drawn from a `network`.
        records: the number of records behind the counts.
        sampled: the number of records drawn, where the basis is `network`.
        seed: decided the draws, of records and of the perceptron.
        notes: what the reader of the weights must know.

    Raises:
        DomainError: planes or columns that do not fit the variables or each other, the class among
            the inputs, or weights that make a score too large for a number.
        UnknownVariable, UnknownCategory: a column of no input, a plane of no class.
    """

    inputs: Domain
    target: Variable
    columns: tuple[Column, ...]
    planes: tuple[Plane, ...]
    options: LinearOptions
    basis: Basis
    records: int
    sampled: int | None = None
    seed: int = 0
    notes: tuple[str, ...] = ()

    sums_out = False

    def __post_init__(self) -> None:
        require_inputs(self.inputs, self.target)
        self._require_columns()
        self._require_planes()

    def _require_columns(self) -> None:
        for column in self.columns:
            if len(column.values) != self.inputs[column.variable].size:
                raise DomainError(
                    f"Column {column.name!r} does not have one number for each category of"
                    f" {column.variable!r}.",
                    where=column.name,
                )
        # An indicator may be called as another variable is.
        named = {(column.variable, column.name) for column in self.columns}
        axes = [self.inputs.axis(column.variable) for column in self.columns]
        if len(named) < len(self.columns) or axes != sorted(axes):
            raise DomainError(
                "The columns must be distinct and in the order of their variables.",
                where="columns",
            )

    def _require_planes(self) -> None:
        positives = {plane.positive for plane in self.planes}
        binary = self.target.size == 2
        if len(positives) < len(self.planes) or (len(self.planes) == 1) != binary or not positives:
            raise DomainError(
                f"{len(self.planes)} planes of {len(positives)} classes do not part"
                f" {self.target.size} classes.",
                where=self.target.name,
            )
        names = (INTERCEPT, *(column.name for column in self.columns))
        for plane in self.planes:
            self.target.code(plane.positive)
            if tuple(weight.column for weight in plane.weights) != names:
                raise DomainError(
                    f"The plane of class {plane.positive!r} does not have one weight for each"
                    " column.",
                    where=plane.positive,
                )
            with np.errstate(over="ignore", invalid="ignore"):
                largest = self._largest(plane)
            if not np.isfinite(largest):
                raise DomainError(
                    f"The weights of class {plane.positive!r} make scores too large for numbers.",
                    where=plane.positive,
                )

    def _largest(self, plane: Plane) -> float:
        """Return a bound of a plane's scores in size: the scale at which they round."""
        parts = self.design.contributions(plane.vector)
        return sum(float(np.abs(part).max()) for part in parts)

    @cached_property
    def design(self) -> DesignMatrix:
        """The columns in their own units."""
        return DesignMatrix.of(self.inputs, self.columns)

    @property
    def used(self) -> tuple[str, ...]:
        """The inputs: predictions hang on all of them."""
        return self.inputs.names

    def scores(self, codes: Mapping[str, Codes]) -> Tensor:
        """Return each plane's linear function of n records, shape (n, planes).

        Raises:
            UnknownVariable, DomainError: see `record_columns`.
        """
        return self.scores_of(ListedCells(record_columns(self.inputs, codes), self.inputs.shape))

    def scores_of(self, cells: Cells) -> Tensor:
        """Return each plane's linear function in each cell of the inputs, (cells, planes)."""
        return np.stack([self.design.scores(cells, p.vector) for p in self.planes], axis=-1)

    def predict(self, codes: Mapping[str, Codes]) -> Codes:
        """Return the class code of each of n records. Raises as `scores`."""
        return self.classes_of(ListedCells(record_columns(self.inputs, codes), self.inputs.shape))

    def classes_of(self, cells: Cells) -> Codes:
        """Return the class code in each cell of the inputs, shape (cells,).

        It is that of the highest score, of the first plane among equals; a cell on the only plane
        is on its negative side.
        """
        first, *others = self.planes
        highest = self.design.scores(cells, first.vector)
        chosen = np.full(len(highest), self.target.code(first.positive))
        slack = TIE * max(self._largest(plane) for plane in self.planes)
        if not others:
            chosen[highest <= slack] = 1 - self.target.code(first.positive)
        # Plane by plane: the scores of many cells and many classes together are too large to keep.
        for plane in others:
            scores = self.design.scores(cells, plane.vector)
            chosen[scores > highest + slack] = self.target.code(plane.positive)
            highest = np.maximum(highest, scores)
        return chosen.astype(np.min_scalar_type(self.target.size - 1))

    def probabilities(self, codes: Mapping[str, Codes]) -> Tensor | None:
        """Return the probability of each class, (n, classes); None but for the logistic loss.

        With several planes their probabilities are divided by their sum; a class without a plane
        has 0. Raises as `scores`.
        """
        if self.options.loss != "logistic":
            return None
        scores = self.scores(codes)
        if len(self.planes) == 1:
            scores = np.concatenate([scores, -scores], axis=1)
        codes_of = [self.target.code(plane.positive) for plane in self.planes]
        order = codes_of if len(codes_of) > 1 else [codes_of[0], 1 - codes_of[0]]
        found = np.zeros((len(scores), self.target.size))
        # By logarithms, for all probabilities of a far record may be too small for numbers.
        found[:, order] = softmax(log_expit(scores), axis=1)
        return found


DOCUMENT = DocumentForm("linear-classifier", LinearClassifier, "a linear classifier")
"""Linear classifiers as JSON."""


def weights_csv(model: LinearClassifier) -> str:
    """Return a row for each weight of each plane; an error or end there is none of is empty."""
    header = ["class", "column", "weight", "se_population", "se_records", "low", "high"]
    rows = (
        [
            *(plane.positive, weight.column, weight.estimate, weight.se, weight.se_records),
            *map(finite, weight.interval or (None, None)),
        ]
        for plane in model.planes
        for weight in plane.weights
    )
    return csv_text(header, rows)


_PALE = 0.35
_BESIDE = 0.05
"""What an axis leaves beside bars and ends, as a share of its width."""

_LONGEST = 36
"""Letters of a title, beside which the intercept stands."""

_AROUND = 24
"""Points beside the heading."""


def draw_weights(model: LinearClassifier) -> str:
    """Return the picture of `weights_chart` as self-contained SVG."""
    return weights_chart(model).svg()


def weights_chart(model: LinearClassifier) -> Chart:
    """Return a picture of a classifier's weights.

    A bar is a weight times the deviation of its column, so that bars of columns in different units
    can be compared: how far the score moves when the column moves by one standard deviation. The
    line across its end is the 95 % interval against the population, where there is one, with an
    arrow to a side where it has no end; an interval that holds 0 makes the bar pale. Beside it
    stands the weight in its own unit.
    """

    def draw(axes: Sequence[Axes]) -> None:
        for axis, plane in zip(axes, model.planes, strict=True):
            _draw_plane(axis, model, plane)
        axes[-1].set_xlabel("weight × standard deviation of its column", fontsize=9)

    notes = [_written(weight) for plane in model.planes for weight in plane.weights]
    width, height = plots.size_of([column.name for column in model.columns], notes)
    heading = (breadth(_summary(model), 10) + _AROUND) / 72
    size = max(width, heading), 0.55 + height * len(model.planes)
    title = "Linear classifier: weights"
    return Chart(title, "weights", size, draw, _summary(model) + "\n", len(model.planes))


def _draw_plane(axis: Axes, model: LinearClassifier, plane: Plane) -> None:
    intercept, *weights = plane.weights
    notes = [_written(weight) for weight in weights]
    plots.rows(axis, [column.name for column in model.columns], notes)
    axis.set_xlim(_reach(model.columns, weights))
    for row, (column, weight) in enumerate(zip(model.columns, weights, strict=True)):
        value, ends = weight.estimate * column.deviation, weight.interval
        sure = ends is None or not ends[0] <= 0 <= ends[1]
        colour = plots.BLUE if value >= 0 else plots.RED
        (bar,) = axis.barh(row, value, 0.6, color=colour, alpha=1.0 if sure else _PALE)
        plots.entitle(bar, f"{column.name}: {notes[row]}")
        if ends is not None:
            _draw_interval(axis, row, column, ends, f"{column.name}: {_range(ends)}")
    axis.axvline(0.0, color="#555555", linewidth=1)
    title = f"{model.target.name} = {plane.positive}"
    axis.set_title(short(title, _LONGEST), parse_math=False)
    axis.set_title(f"intercept {_written(intercept)}", loc="right", fontsize=9, fontweight="normal")


def _reach(columns: Sequence[Column], weights: Sequence[Weight]) -> tuple[float, float]:
    """Return between which values an axis shows all bars and all ends that there are."""
    reach = [0.0]
    for column, weight in zip(columns, weights, strict=True):
        known = weight.estimate, *(weight.interval or ())
        reach += [value * column.deviation for value in known if math.isfinite(value)]
    beside = _BESIDE * (max(reach) - min(reach)) or 1.0
    return min(reach) - beside, max(reach) + beside


def _draw_interval(
    axis: Axes, row: int, column: Column, ends: tuple[float, float], title: str
) -> None:
    """Draw a line from end to end, and to the side without one an arrow."""
    bounds = [end * column.deviation for end in ends]
    finite = [place for place, end in enumerate(bounds) if math.isfinite(end)]
    left, right = axis.get_xlim()
    inside = _BESIDE / 3 * (right - left)
    edges = left + inside, right - inside
    shown = [end if math.isfinite(end) else edges[end > 0] for end in bounds]
    (line,) = axis.plot(
        shown, [row] * 2, "|-", color=plots.BLACK, linewidth=1.4, markersize=7, markevery=finite
    )
    plots.entitle(line, title)
    for end, at in zip(bounds, shown, strict=True):
        if not math.isfinite(end):
            axis.plot(at, row, ">" if end > 0 else "<", color=plots.BLACK, markersize=7)


def _range(ends: tuple[float, float]) -> str:
    low, high = (f"{end:.3g}" if math.isfinite(end) else "no end" for end in ends)
    return f"{low} to {high}"


def _written(weight: Weight) -> str:
    error = "" if weight.se is None else f" ± {weight.se:.2g}"
    return f"{weight.estimate:.3g}{error}"


def _summary(model: LinearClassifier) -> str:
    said = f"{model.options.loss}, {model.records:,} records"
    known = any(weight.se is not None for plane in model.planes for weight in plane.weights)
    errors = "" if known else "; no errors of weights are known"
    return f"{said}; a bar is a weight times its column's standard deviation{errors}"
