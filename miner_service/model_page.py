"""A model on one page: its picture, its links and its parameters, with nothing loaded."""

from __future__ import annotations

import math

from jinja2 import Environment, PackageLoader, StrictUndefined

from shared.learn.drawing import draw_structure
from shared.learn.network_json import NetworkDocument
from shared.wire import BayesNetMessage, BayesNetStructureSpec

PARAMETERS_SHOWN = 2_000
"""A longer list of parameters is left to the JSON."""


def model_page(model: BayesNetMessage, document: NetworkDocument) -> str:
    """Return the HTML page of a model.

    Args:
        model: the model as it is answered.
        document: the same model as a network with its learned links.
    """
    environment = Environment(
        loader=PackageLoader("miner_service"), autoescape=True, undefined=StrictUndefined
    )
    picture = draw_structure(document.network.structure, confidence=document.confidence)
    return environment.get_template("model.html.j2").render(
        model=model,
        picture=picture,
        links=document.links,
        score=model.spec.score.name if isinstance(model.spec, BayesNetStructureSpec) else None,
        draws=model.spec.draws if isinstance(model.spec, BayesNetStructureSpec) else 0,
        parameters=model.parameters[:PARAMETERS_SHOWN],
        free=sum(t.size - t.size // t.shape[-1] for t in document.network.tables.values()),
        infinite=math.isinf,
    )
