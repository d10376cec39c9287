"""A linear classifier: its columns, its planes, and the errors of their weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import log_expit, softmax

from pramana_core.csv_text import csv_text
from pramana_core.domain import Domain, Variable
from pramana_core.errors import DomainError
from pramana_core.learn.common.documents import DocumentForm
from pramana_core.learn.common.inputs import record_columns, require_inputs
from pramana_core.learn.common.options import Basis, LinearOptions
from pramana_core.learn.linear.columns import Cells, Column, DesignMatrix
from pramana_core.marginals.counts import Codes, Tensor
from pramana_core.marginals.score_interval import normal_quantile
from pramana_core.marginals.tables import LEVEL
from pramana_core.ties import TIE

INTERCEPT = "(intercept)"

_Z = normal_quantile(LEVEL)


@dataclass(frozen=True)
class Weight:
    """A weight in the unit of its column, with errors against the population and the records."""

    column: str
    estimate: float
    se: float | None = None
    se_records: float | None = None

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval against the population, or None if the error is unknown."""
        if self.se is None:
            return None
        return self.estimate - _Z * self.se, self.estimate + _Z * self.se


@dataclass(frozen=True)
class Plane:
    """A linear function, with the class on its positive side, and weights, intercept first."""

    positive: str
    weights: tuple[Weight, ...]

    @cached_property
    def vector(self) -> Tensor:
        """The weights as numbers, shape (1 + columns,)."""
        return np.array([weight.estimate for weight in self.weights])


@dataclass(frozen=True)
class LinearClassifier:
    """A `Predictor` that picks a class by the side of a plane or, for several, the highest score.

    Attributes:
        inputs, target: the variables used for predictions, and the class.
        columns: the numbers assigned to categories; a plane has a weight for each column.
        planes: one plane for two classes, otherwise one for each class against all others. Classes
            without a plane are never predicted.
        options, records: the options of the fit, and the number of records.
        basis: `cells` if the counts of all cells were used for the fit, `network` if `sampled`
            records drawn from a network were.
        seed: the seed of the draws.
        notes: remarks, one sentence each, for readers of the weights.

    Raises DomainError, UnknownVariable, UnknownCategory: planes or columns do not fit the
    variables, or weights make a score overflow.
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
                    f"Column {column.name!r} needs a number for each category.", where=column.name
                )
        # An indicator may have the name of another variable.
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
                f"{len(self.planes)} planes cannot separate {self.target.size} classes.",
                where=self.target.name,
            )
        names = (INTERCEPT, *(column.name for column in self.columns))
        for plane in self.planes:
            self.target.code(plane.positive)
            fits = tuple(weight.column for weight in plane.weights) == names
            with np.errstate(over="ignore", invalid="ignore"):
                if not fits or not np.isfinite(self._largest(plane)):
                    raise DomainError(
                        f"The plane of class {plane.positive!r} needs a weight for each column and"
                        " finite scores.",
                        where=plane.positive,
                    )

    def _largest(self, plane: Plane) -> float:
        parts = self.design.contributions(plane.vector)
        return sum(float(np.abs(part).max()) for part in parts)

    @cached_property
    def design(self) -> DesignMatrix:
        """The design matrix of the columns in their own units."""
        return DesignMatrix.of(self.inputs, self.columns)

    @property
    def used(self) -> tuple[str, ...]:
        """The inputs, because predictions depend on all of them."""
        return self.inputs.names

    def scores(self, codes: Mapping[str, Codes]) -> Tensor:
        """Return each plane's linear function for n records, (n, planes); see `record_columns`."""
        cells = Cells(record_columns(self.inputs, codes), self.inputs.shape)
        return np.stack([self.design.scores(cells, p.vector) for p in self.planes], axis=-1)

    def predict(self, codes: Mapping[str, Codes]) -> Codes:
        """Return, for each of n records, the code of the class with the highest score.

        If scores are equal, it is the first such class.
        """
        cells = Cells(record_columns(self.inputs, codes), self.inputs.shape)
        first, *others = self.planes
        highest = self.design.scores(cells, first.vector)
        chosen = np.full(len(highest), self.target.code(first.positive))
        slack = TIE * max(self._largest(plane) for plane in self.planes)
        if not others:
            chosen[highest <= slack] = 1 - self.target.code(first.positive)
        # Plane by plane: the scores of many records and classes together could exceed memory.
        for plane in others:
            scores = self.design.scores(cells, plane.vector)
            chosen[scores > highest + slack] = self.target.code(plane.positive)
            highest = np.maximum(highest, scores)
        return chosen.astype(np.min_scalar_type(self.target.size - 1))

    def probabilities(self, codes: Mapping[str, Codes]) -> Tensor | None:
        """Return the probability of each class, (n, classes), or None without logistic loss."""
        if self.options.loss != "logistic":
            return None
        scores = self.scores(codes)
        if len(self.planes) == 1:
            scores = np.concatenate([scores, -scores], axis=1)
        codes_of = [self.target.code(plane.positive) for plane in self.planes]
        order = codes_of if len(codes_of) > 1 else [codes_of[0], 1 - codes_of[0]]
        found = np.zeros((len(scores), self.target.size))
        # By logarithms, because all probabilities of a distant record may underflow.
        found[:, order] = softmax(log_expit(scores), axis=1)
        return found


DOCUMENT = DocumentForm("linear-classifier", LinearClassifier, "a linear classifier")
"""Linear classifiers as JSON."""


def weights_csv(model: LinearClassifier) -> str:
    """Return the weights as CSV, one row per weight and plane; an unknown error or end is empty."""
    header = ["class", "column", "weight", "se_population", "se_records", "low", "high"]
    rows = (
        [
            *(plane.positive, weight.column, weight.estimate, weight.se, weight.se_records),
            *(weight.interval or (None, None)),
        ]
        for plane in model.planes
        for weight in plane.weights
    )
    return csv_text(header, rows)
