"""Models: the list of them, and one with its picture and files."""

from __future__ import annotations

from fastapi import Request, Response

from miner_service.http.access.deps import CallerDep, ModelPath, ServicesDep, StudyPath
from miner_service.http.access.routing import RuledRouter
from miner_service.http.endpoints import models
from miner_service.http.endpoints.results import models_of
from miner_service.http.pages.rendering import NewestDep, page
from miner_service.kinds import MODEL_KINDS
from miner_service.kinds.base import media_type_of
from pramana_core.pages.forms import FRAMED, ROOT

router = RuledRouter(prefix=ROOT, include_in_schema=False)

_SUFFIXES = {"document": "document.json", "text": "txt", "page": "html"}


@router.get("/studies/{study}/models", name="list_jobs")
def show_models(
    request: Request,
    study: StudyPath,
    services: ServicesDep,
    caller: CallerDep,
    paging: NewestDep,
) -> Response:
    """Show the models of a study that who asks may know of."""
    with services.database.read() as session:
        found = models_of(session, caller, study, paging)
    title = f"{study}: models"
    return page(request, "models.html.j2", title=title, study=study, found=found)


@router.get("/models/{model}", name="read_model")
def read_model_shown(
    request: Request, model: ModelPath, services: ServicesDep, caller: CallerDep
) -> Response:
    """Show a model."""
    seen = models.visible_model(services, caller, model)
    return page(
        request,
        "model.html.j2",
        title=f"Model {model}",
        model=seen,
        kind=seen.kind,
        forms=["json", *(one for one in MODEL_KINDS[seen.kind].views)],
    )


@router.get("/models/{model}/page", name="read_model_form")
def read_model_page(model: ModelPath, services: ServicesDep, caller: CallerDep) -> Response:
    """Return the model's own page, with its pictures and their error bars, to be framed."""
    written = models.written_as(services, caller, model, "page")
    return Response(written, media_type="text/html", headers=dict(FRAMED))


@router.get("/models/{model}/files/{form}", name="read_model")
def read_model_file(
    model: ModelPath, form: str, services: ServicesDep, caller: CallerDep
) -> Response:
    """Return a model as a file."""
    if form == "json":
        seen = models.visible_model(services, caller, model)
        written, media = seen.model_dump_json(), "application/json"
    else:
        written, media = models.written_as(services, caller, model, form), media_type_of(form)
    name = f"{model}.{_SUFFIXES.get(form, form)}"
    return Response(
        written,
        media_type=media,
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )
