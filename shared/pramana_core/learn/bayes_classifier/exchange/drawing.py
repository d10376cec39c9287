"""Pictures of Bayesian network classifiers: what each attribute tells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pramana_core.learn.bayes_classifier.exchange.words import beside, summary
from pramana_core.learn.bayes_classifier.model import BayesClassifier
from pramana_core.pictures import plots
from pramana_core.pictures.chart import Chart
from pramana_core.pictures.svg import breadth
from pramana_core.ties import descending

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DRAWN = 60
"""Attributes in a picture; of more, those that tell the most."""

_AROUND = 24
"""Points beside the heading."""


def draw_bayes_classifier(model: BayesClassifier) -> str:
    """Return the picture of `bayes_chart` as self-contained SVG."""
    return bayes_chart(model).svg()


def bayes_chart(model: BayesClassifier) -> Chart:
    """Return a picture of what each attribute tells of the class, in bits, the most first.

    The bar of an attribute that depends on others is what it tells beside them, and in another
    colour; these are named with the number.
    """
    order = descending([a.information for a in model.attributes]).tolist()[:_DRAWN]
    ranked = [model.attributes[at] for at in order]
    notes = [f"{a.information:.3f}{beside(a.parents)}" for a in ranked]

    def draw(axes: Sequence[Axes]) -> None:
        (axis,) = axes
        plots.rows(axis, [a.name for a in ranked], notes)
        for row, attribute in enumerate(ranked):
            colour = plots.ORANGE if attribute.parents else plots.BLUE
            (bar,) = axis.barh(row, attribute.information, 0.6, color=colour)
            plots.entitle(bar, f"{attribute.name}: {notes[row]} bits")
        axis.set_xlim(left=0)
        axis.set_xlabel(_label(model), fontsize=9, parse_math=False)

    width, height = plots.size_of([a.name for a in ranked], notes)
    size = max(width, (breadth(_heading(model), 10) + _AROUND) / 72), height + 0.5
    title = "What each attribute tells of the class"
    return Chart(title, "bayes", size, draw, _heading(model))


def _label(model: BayesClassifier) -> str:
    return f"bits that an attribute tells of {model.target.name}" + (
        "; orange: given the attributes named" if model.links else ""
    )


def _heading(model: BayesClassifier) -> str:
    left = len(model.attributes) - _DRAWN
    return summary(model) + (f"; {left} that tell less are not drawn" if left > 0 else "")
