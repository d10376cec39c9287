"""A model on one page with nothing loaded: its picture, its parts and their errors."""

from __future__ import annotations

import math
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from pramana_core.wire.learning.models import ModelHead


def render(template: str, model: ModelHead, **shown: Any) -> str:
    """Return the HTML page of a model.

    Args:
        template: a file of `miner_service/kinds/templates` that extends `model.html.j2`.
        model: the model as it is answered.
        shown: what else the template names.
    """
    environment = Environment(
        loader=PackageLoader("miner_service.kinds"), autoescape=True, undefined=StrictUndefined
    )
    told = None if model.told is None else model.told.to_amplification()
    return environment.get_template(template).render(
        model=model, told=told, infinite=math.isinf, **shown
    )
