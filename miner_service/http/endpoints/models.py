"""Routes of models, as JSON or in another form of their kind."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Path, Response

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


@router.get("/models/{model}")
def read_model(model: ModelPath, services: ServicesDep, caller: CallerDep) -> ModelMessage:
    """Read a model with its errors; `kind` determines the other fields."""
    message: ModelMessage = visible_model(services, caller, model)
    return message


@router.get(
    "/models/{model}/{form}",
    response_class=Response,
    responses={
        200: {
            "description": "The model in this form.",
            "content": {
                media: {"schema": {"type": "string"}}
                for media in ("text/html", "image/svg+xml", "text/csv", "text/plain")
            }
            | {"application/json": {"schema": {"type": "object"}}},
        }
    },
)
def read_model_form(
    model: ModelPath,
    form: Annotated[str, Path(max_length=64, examples=["page"], description="The name of a form.")],
    services: ServicesDep,
    caller: CallerDep,
) -> Response:
    """Read a model in a form of its kind.

    All kinds have `page`. Some have `svg`, `bif` (networks), `csv` (tables, regressions),
    `itemsets.csv`, `rules.csv`, `text`, or `document`: JSON for predictions elsewhere.
    """
    return Response(written_as(services, caller, model, form), media_type=media_type_of(form))


def written_as(services: Services, caller: Caller, model: str, form: str) -> str:
    """Return a model as text in one of the forms that its kind offers. Raises NotFound."""
    seen = visible_model(services, caller, model)
    views = MODEL_KINDS[seen.kind].views
    if form not in views:
        raise NotFound(
            f"A model of kind {seen.kind!r} has no form {form!r}.",
            where=form,
            remedy=f"Use one of the forms {list(views)}.",
        )
    return stated(seen, form, views[form](seen))


def visible_model(services: Services, caller: Caller, model: str) -> Any:
    """Return a caller's view of a model's message. Raises NotFound."""
    with services.database.read() as session:
        row = find_model(session, model)
        message = MODEL_KINDS[row.kind].message.model_validate_json(row.body)
        marked = caller.view_inconsistent(session, message.inconsistent)
    # Owners get only the local bound: the central bound depends on all owners' columns.
    central = message.central if caller.as_owner is None else None
    return message.model_copy(update={"inconsistent": marked, "central": central, "name": row.name})
