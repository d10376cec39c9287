"""Bayesian network classifiers as JSON: written without loss, and read back.

The document lists the parameters of the class and of each attribute as arrays, the class along the
first axis, the other parents in order, and the attribute's own categories along the last; a number
that the reports do not tell is null.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Literal

import numpy as np
from pydantic import Field

from pramana_core.domain import Domain, Variable
from pramana_core.errors import InputError
from pramana_core.learn.bayes_classifier.model import Attribute, BayesClassifier, ChosenModel
from pramana_core.learn.bayes_classifier.options import BayesClassifierOptions
from pramana_core.learn.common.documents import DocumentPart, read_json, variable_json, write_json
from pramana_core.learn.networks.bayes_net import LearnedFamily
from pramana_core.marginals.counts import Tensor

KIND = "bayes-classifier"

_ARRAYS = ("estimate", "probability", "se", "se_records", "low", "high")


def bayes_classifier_json(model: BayesClassifier) -> dict[str, Any]:
    """Return a classifier as what JSON is made of."""
    return {
        "kind": KIND,
        "model": model.model,
        "records": model.records,
        "options": asdict(model.options),
        "target": variable_json(model.target),
        "inputs": [variable_json(variable) for variable in model.inputs],
        "prior": _written(model.prior),
        "attributes": [
            _written(attribute.family)
            | {"parents": list(attribute.parents), "information": attribute.information}
            for attribute in model.attributes
        ],
        "notes": list(model.notes),
        "weight": model.weight,
    }


def write_bayes_classifier_json(model: BayesClassifier) -> str:
    """Return a classifier as JSON text; every number is written so that nothing of it is lost."""
    return write_json(bayes_classifier_json(model))


def read_bayes_classifier_json(text: str) -> BayesClassifier:
    """Read a classifier from the text of `write_bayes_classifier_json`.

    Raises:
        InputError: the text is no such document, an option is out of its range, or an array does
            not fit its variables.
        DomainError, NotStochastic, StructureError, UnknownVariable: it is, but describes no
            classifier.
    """
    document = read_json(
        _Document,
        text,
        "a Bayesian network classifier",
        "Give the JSON of such a classifier as the miner or a session of owners wrote it.",
    )
    inputs, target = Domain(document.inputs), document.target
    domain = inputs.join(Domain((target,)))
    if len(document.attributes) != len(inputs):
        raise InputError("The document has not one attribute for each input.", where="attributes")
    attributes = tuple(
        Attribute(
            part.family(domain, variable.name, (target.name, *part.parents)), part.information
        )
        for part, variable in zip(document.attributes, inputs, strict=True)
    )
    prior = document.prior.family(domain, target.name, ())
    return BayesClassifier(
        inputs=inputs,
        target=target,
        model=document.model,
        prior=prior,
        attributes=attributes,
        options=document.options,
        records=document.records,
        notes=document.notes,
        weight=document.weight,
    )


def _written(family: LearnedFamily) -> dict[str, Any]:
    return {name: _listed(getattr(family, name)) for name in _ARRAYS}


def _listed(array: Tensor) -> Any:
    listed = array.astype(object)
    listed[np.isnan(array)] = None
    return listed.tolist()


class _Family(DocumentPart):
    estimate: list[Any]
    probability: list[Any]
    se: list[Any]
    se_records: list[Any]
    low: list[Any]
    high: list[Any]

    def family(self, domain: Domain, node: str, parents: tuple[str, ...]) -> LearnedFamily:
        shape = domain.project((*parents, node)).shape
        arrays = {name: _read(getattr(self, name), shape, node) for name in _ARRAYS}
        return LearnedFamily(node, parents, **arrays)


class _Attribute(_Family):
    parents: tuple[str, ...]
    information: float = Field(ge=0)


class _Document(DocumentPart):
    kind: Literal["bayes-classifier"]
    model: ChosenModel
    records: int
    options: BayesClassifierOptions
    target: Variable
    inputs: tuple[Variable, ...]
    prior: _Family
    attributes: list[_Attribute]
    notes: tuple[str, ...]
    weight: float = Field(default=1.0, gt=0, le=1)


def _read(listed: list[Any], shape: tuple[int, ...], node: str) -> Tensor:
    """Return a nested list as an array, NaN for null. Raises InputError."""
    try:
        found = np.array(listed, dtype=object)
        numbers = np.where(found == None, np.nan, found).astype(np.float64)  # noqa: E711 - by cell
    except (TypeError, ValueError, OverflowError):
        numbers = np.empty(())
    texts = any(isinstance(value, str | bool) for value in np.ravel(np.array(listed, dtype=object)))
    if numbers.shape != shape or texts or np.isinf(numbers).any():
        raise InputError(
            f"An array of {node!r} is not one of numbers of the shape {list(shape)}.", where=node
        )
    return numbers
