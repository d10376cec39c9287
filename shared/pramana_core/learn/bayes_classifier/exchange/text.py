"""Bayesian network classifiers as plain text."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pramana_core.learn.bayes_classifier.exchange.words import beside, summary
from pramana_core.learn.bayes_classifier.model import Attribute, BayesClassifier
from pramana_core.ties import descending

_ROWS_SHOWN = 64
"""Of a larger table the rest is left to the JSON."""


def write_bayes_classifier_text(model: BayesClassifier) -> str:
    """Return what each attribute tells, the most first, with the probabilities that predict.

    A line for each class (and each combination of other parents) has the probability of each
    category in percent, in brackets its 95 % interval against the population, where the reports
    tell it.
    """
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
        yield f"{attribute.name}{beside(attribute.parents)}: {attribute.information:.3f} bits"
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
