"""Models, read as JSON or in one of the forms that their kind has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fastapi import Response

from miner_service.http.access.access import Caller
from miner_service.http.access.deps import CallerDep, ModelPath, ServicesDep
from miner_service.http.access.routing import RuledRouter
from miner_service.kinds import MODEL_KINDS
from miner_service.kinds.base import media_type_of, stated
from miner_service.services import Services
from miner_service.store.jobs import find_model
from pramana_core.errors import NotFound
from pramana_core.wire.models import ModelMessage

router = RuledRouter(tags=["models"])


def _answers(description: str, media_type: str) -> dict[int | str, dict[str, Any]]:
    form = "object" if media_type == "application/json" else "string"
    content = {media_type: {"schema": {"type": form}}}
    return {200: {"description": description, "content": content}}


@router.get("/models/{model}")
def read_model(model: ModelPath, services: ServicesDep, caller: CallerDep) -> ModelMessage:
    """Read a model with its errors; `kind` says what else is in it."""
    message: ModelMessage = visible_model(services, caller, model).message
    return message


def written_as(seen: SeenModel, form: str) -> str:
    """Return a model in one of the forms it can be read in. Raises NotFound."""
    view = MODEL_KINDS[seen.kind].views.get(form)
    if view is None:
        raise _not_offered(seen.kind, form)
    return stated(seen.message, form, view(seen.message))


def _add_view(form: str, description: str, answer: str) -> None:
    """Add the route that answers with a model in one of the forms it can be read in."""

    def read(model: ModelPath, services: ServicesDep, caller: CallerDep) -> Response:
        seen = visible_model(services, caller, model)
        return Response(written_as(seen, form), media_type=media_type_of(form))

    # What the audit log and the OpenAPI document call it.
    read.__name__ = f"read_model_{form.partition('.')[0]}"
    router.get(
        f"/models/{{model}}/{form}",
        description=description,
        response_class=Response,
        responses=_answers(answer, media_type_of(form)),
    )(read)


_add_view(
    "page",
    "See a model of any kind on one page, with its errors.",
    "One page that loads nothing.",
)
_add_view(
    "svg",
    "Draw a network (links with their confidence), a tree, weights, or what attributes tell.",
    "A picture of the model.",
)
_add_view(
    "bif",
    "Read a network as BIF, its probabilities made valid.",
    "The network in the Bayesian network interchange format.",
)
_add_view(
    "csv", "Read a contingency table as CSV.", "A row per cell of the table after the header."
)
_add_view(
    "itemsets.csv",
    "Read the itemsets of association rules as CSV.",
    "A row per itemset after the header.",
)
_add_view("rules.csv", "Read association rules as CSV.", "A row per rule after the header.")
_add_view(
    "text",
    "Read a decision tree as rules, or a Bayesian classifier's probabilities, in text.",
    "The model as indented lines.",
)
_add_view(
    "document",
    "Read a tree or a classifier as JSON for predictions elsewhere.",
    "The model in the form that travels.",
)


def _not_offered(kind: str, asked: str) -> NotFound:
    return NotFound(
        f"A model of kind {kind!r} has no {asked!r}.",
        where=asked,
        remedy=f"It has {list(MODEL_KINDS[kind].views)}.",
    )


@dataclass(frozen=True)
class SeenModel:
    """A model as a caller may see it."""

    kind: str
    message: Any


def visible_model(services: Services, caller: Caller, model: str) -> SeenModel:
    """Return a model that a caller was let in to. Raises NotFound."""
    with services.database.read() as session:
        row = find_model(session, model)
        message = MODEL_KINDS[row.kind].message.model_validate_json(row.body)
        marked = caller.view_inconsistent(session, message.inconsistent)
    return SeenModel(row.kind, message.model_copy(update={"inconsistent": marked}))
