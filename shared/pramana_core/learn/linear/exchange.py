"""Linear classifiers as JSON: written without loss, and read back equal.

Also here:

* Pictures of linear classifiers: weights with their intervals.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal

from pydantic_core import to_jsonable_python

from pramana_core.domain import Domain, Variable
from pramana_core.learn.common.documents import DocumentPart, read_json, variable_json
from pramana_core.learn.linear.columns import Column
from pramana_core.learn.linear.model import Accuracy, Basis, LinearClassifier, Plane, Weight
from pramana_core.learn.linear.options import LinearOptions
from pramana_core.pictures import plots
from pramana_core.pictures.chart import Chart
from pramana_core.pictures.svg import breadth, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes


KIND = "linear-classifier"


def linear_json(model: LinearClassifier) -> dict[str, Any]:
    """Return a classifier as what JSON can say."""
    planes = [
        {
            "positive": plane.positive,
            "weights": [asdict(w) | {"interval": _ends(w.interval)} for w in plane.weights],
        }
        for plane in model.planes
    ]
    document: dict[str, Any] = to_jsonable_python(
        {
            "kind": KIND,
            "target": variable_json(model.target),
            "inputs": [variable_json(variable) for variable in model.inputs],
            "columns": model.columns,
            "planes": planes,
            "options": model.options,
            "basis": model.basis,
            "records": model.records,
            "sampled": model.sampled,
            "seed": model.seed,
            "accuracy": model.accuracy,
            "notes": model.notes,
        }
    )
    return document


def read_linear_json(text: str) -> LinearClassifier:
    """Read a classifier from the JSON text of `linear_json`.

    Raises:
        InputError: the text is no such document, or an option is out of its range.
        DomainError, UnknownVariable, UnknownCategory, OptionError: it is, but describes no
            classifier.
    """
    document = read_json(
        _Document,
        text,
        "a linear classifier",
        "Give the JSON of a linear classifier as the miner or a session of owners wrote it.",
    )
    planes = [
        Plane(
            plane.positive,
            tuple(weight.read() for weight in plane.weights),
        )
        for plane in document.planes
    ]
    told = {name: value for name, value in document if name != "kind"}
    return LinearClassifier(**told | {"inputs": Domain(document.inputs), "planes": tuple(planes)})


def weights_csv(model: LinearClassifier) -> str:
    """Return a row for each weight of each plane; an error or end there is none of is empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["class", "column", "weight", "se_population", "se_records", "low", "high"])
    for plane in model.planes:
        for weight in plane.weights:
            errors = [weight.se, weight.se_records, *(_ends(weight.interval) or (None, None))]
            writer.writerow([plane.positive, weight.column, weight.estimate, *errors])
    return text.getvalue()


def _ends(interval: tuple[float, float] | None) -> list[float | None] | None:
    """Return the ends of an interval, None for one that is infinite."""
    if interval is None:
        return None
    return [end if math.isfinite(end) else None for end in interval]


class _Weight(DocumentPart):
    """A weight as it is told; an end of its interval is null where it has none."""

    column: str
    estimate: float
    se: float | None
    se_records: float | None
    interval: tuple[float | None, float | None] | None = None

    def read(self) -> Weight:
        ends = None
        if self.interval is not None:
            low, high = self.interval
            ends = (-math.inf if low is None else low, math.inf if high is None else high)
        return Weight(self.column, self.estimate, self.se, self.se_records, ends)


class _Plane(DocumentPart):
    positive: str
    weights: list[_Weight]


class _Document(DocumentPart):
    kind: Literal["linear-classifier"]
    target: Variable
    inputs: tuple[Variable, ...]
    columns: tuple[Column, ...]
    planes: list[_Plane]
    options: LinearOptions
    basis: Basis
    records: int
    sampled: int | None
    seed: int
    accuracy: Accuracy | None
    notes: tuple[str, ...]


# Pictures of linear classifiers: weights with their intervals.

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
    """Return between which values an axis shows all bars and all ends that there are.

    What has no end goes to its edge, beyond all others.
    """
    told = [0.0]
    for column, weight in zip(columns, weights, strict=True):
        known = weight.estimate, *(weight.interval or ())
        told += [value * column.deviation for value in known if math.isfinite(value)]
    beside = _BESIDE * (max(told) - min(told)) or 1.0
    return min(told) - beside, max(told) + beside


def _draw_interval(
    axis: Axes, row: int, column: Column, ends: tuple[float, float], title: str
) -> None:
    """Draw a line from end to end, and to the side without one an arrow."""
    told = [end * column.deviation for end in ends]
    finite = [place for place, end in enumerate(told) if math.isfinite(end)]
    left, right = axis.get_xlim()
    inside = _BESIDE / 3 * (right - left)
    edges = left + inside, right - inside
    shown = [end if math.isfinite(end) else edges[end > 0] for end in told]
    (line,) = axis.plot(
        shown, [row] * 2, "|-", color=plots.BLACK, linewidth=1.4, markersize=7, markevery=finite
    )
    plots.entitle(line, title)
    for end, at in zip(told, shown, strict=True):
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
    if model.accuracy is not None:
        known = model.accuracy
        said += (
            f"; right of new records {_percent(known.estimate)}"
            f" ({_percent(known.low)} to {_percent(known.high)}) %"
        )
    return f"{said}; a bar is a weight times its column's standard deviation"


def _percent(share: float) -> str:
    return f"{100 * min(max(share, 0.0), 1.0):.1f}"
