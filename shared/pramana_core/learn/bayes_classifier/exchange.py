"""Bayesian network classifiers as JSON, text and pictures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from pramana_core.learn.bayes_classifier.information import information_error
from pramana_core.learn.bayes_classifier.model import Attribute, BayesClassifier, ChosenModel
from pramana_core.learn.common.documents import DocumentForm
from pramana_core.pictures import plots
from pramana_core.pictures.plots import Chart
from pramana_core.pictures.svg import breadth
from pramana_core.ties import descending

if TYPE_CHECKING:
    from matplotlib.axes import Axes


DOCUMENT = DocumentForm("bayes-classifier", BayesClassifier, "a Bayesian network classifier")
"""Classifiers as JSON documents; in tables, the class is the first axis, the attribute the last."""


NAMES: dict[ChosenModel, str] = {
    "naive-bayes": "naive Bayes",
    "tan": "tree-augmented naive Bayes",
}


def summary(model: BayesClassifier) -> str:
    """Return a one-line summary of a classifier."""
    chosen = " (chosen)" if model.options.model == "auto" else ""
    weighted = (
        f"; evidence weighted by {model.weight:.2f} for redundancy and noise"
        if model.weight < 1
        else ""
    )
    return (
        f"{NAMES[model.model]}{chosen} of {model.target.name}: {len(model.inputs)} attributes,"
        f" {len(model.links)} links between them, {model.records:,} records{weighted}"
    )


def given(parents: tuple[str, ...]) -> str:
    """Return an attribute's parents other than the class as text, or "" if it has none."""
    return f" given {', '.join(parents)}" if parents else ""


_DRAWN = 60
"""The maximum number of attributes in a picture; those with the most information are drawn."""

_AROUND = 24
"""The space on each side of the heading, in points."""

_NORMAL = 1.96
"""The half-width of a 95 % interval, in standard errors."""


def draw_bayes_classifier(model: BayesClassifier) -> str:
    """Return the picture of `bayes_chart` as self-contained SVG."""
    return bayes_chart(model).svg()


def bayes_chart(model: BayesClassifier) -> Chart:
    """Return a picture of each attribute's information about the class, in bits, largest first.

    Lines are 95 % intervals. An attribute with parents other than the class is orange.
    """
    order = descending([a.information for a in model.attributes]).tolist()[:_DRAWN]
    ranked = [model.attributes[at] for at in order]
    errors = [information_error(model, attribute) for attribute in ranked]
    notes = [_bits(a, error) for a, error in zip(ranked, errors, strict=True)]

    def draw(axes: Sequence[Axes]) -> None:
        (axis,) = axes
        plots.rows(axis, [a.name for a in ranked], notes)
        for row, (attribute, error) in enumerate(zip(ranked, errors, strict=True)):
            colour = plots.ORANGE if attribute.parents else plots.BLUE
            (bar,) = axis.barh(row, attribute.information, 0.6, color=colour)
            plots.entitle(bar, f"{attribute.name}: {notes[row]} bits")
            if error is not None:
                half = _NORMAL * error
                ends = [max(attribute.information - half, 0.0), attribute.information + half]
                axis.plot(ends, [row] * 2, "|-", color=plots.BLACK, linewidth=1.4, markersize=7)
        axis.set_xlim(left=0)
        axis.set_xlabel(_label(model), fontsize=9, parse_math=False)

    width, height = plots.size_of([a.name for a in ranked], notes)
    size = max(width, (breadth(_heading(model), 10) + _AROUND) / 72), height + 0.7
    title = "The information of each attribute about the class"
    return Chart(title, "bayes", size, draw, _heading(model))


def _bits(attribute: Attribute, error: float | None) -> str:
    within = "" if error is None else f" ± {error:.3f}"
    return f"{attribute.information:.3f}{within}{given(attribute.parents)}"


def _label(model: BayesClassifier) -> str:
    return (
        f"information about {model.target.name} in bits, ± a standard error\nline: 95 % interval"
    ) + ("; orange: given the attributes named" if model.links else "")


def _heading(model: BayesClassifier) -> str:
    left = len(model.attributes) - _DRAWN
    return summary(model) + (f"; {left} with less information are not drawn" if left > 0 else "")


_ROWS_SHOWN = 64
"""The maximum number of rows of a table that are written as text; JSON has all rows."""


def write_bayes_classifier_text(model: BayesClassifier) -> str:
    """Return a classifier as text: attributes by information, probabilities and 95 % intervals."""
    return "\n".join(_lines(model)) + "\n"


def _lines(model: BayesClassifier) -> Iterator[str]:
    yield summary(model)
    yield from model.notes
    yield ""
    shares = zip(model.target.categories, model.prior.probability, strict=True)
    yield f"{model.target.name}: " + ", ".join(f"{label} {100 * p:.1f}" for label, p in shares)
    for at in descending([a.information for a in model.attributes]).tolist():
        attribute = model.attributes[at]
        yield ""
        yield f"{attribute.name}{given(attribute.parents)}: {attribute.information:.3f} bits"
        yield from _rows(model, attribute)


def _rows(model: BayesClassifier, attribute: Attribute) -> Iterator[str]:
    family = attribute.family
    parents = model.domain.project(family.parents)
    labels = model.inputs[attribute.name].categories
    indices = list(np.ndindex(*parents.shape))
    for index in indices[:_ROWS_SHOWN]:
        given = ", ".join(v.categories[i] for v, i in zip(parents, index, strict=True))
        cells = [
            f"{label} {100 * family.probability[(*index, code)]:.1f}"
            f" [{100 * family.low[(*index, code)]:.1f} to {100 * family.high[(*index, code)]:.1f}]"
            for code, label in enumerate(labels)
        ]
        yield f"    {given}: {', '.join(cells)}"
    if len(indices) > _ROWS_SHOWN:
        yield f"    and {len(indices) - _ROWS_SHOWN} more"
