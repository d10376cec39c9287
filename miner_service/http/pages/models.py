"""Pages of models: the list, a single model with its picture and files, and a comparison."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated

from fastapi import Query, Request, Response

from miner_service.http.access.deps import CallerDep, ModelPath, ServicesDep, StudyPath
from miner_service.http.access.routing import RuledRouter
from miner_service.http.endpoints import models
from miner_service.http.endpoints.results import models_of, visible_models
from miner_service.http.pages.rendering import NewestDep, page
from miner_service.kinds import MODEL_KINDS
from miner_service.kinds.base import media_type_of
from pramana_core.learn.common.worth import Worth
from pramana_core.pages.forms import FRAMED, ROOT
from pramana_core.wire.models import ModelHead

router = RuledRouter(prefix=ROOT, include_in_schema=False)

_COMPARED = 4
"""The maximum number of models in a comparison."""

_SUFFIXES = {"document": "document.json", "text": "txt", "page": "html"}


@router.get("/studies/{study}/models", name="list_jobs")
def show_models(
    request: Request,
    study: StudyPath,
    services: ServicesDep,
    caller: CallerDep,
    paging: NewestDep,
) -> Response:
    """Show the models of a study that the caller may see."""
    with services.database.read() as session:
        found = models_of(session, caller, study, paging)
    title = f"{study}: models"
    return page(request, "models.html.j2", title=title, study=study, found=found)


@router.get("/studies/{study}/compare", name="list_jobs")
def compare_models(
    request: Request,
    study: StudyPath,
    services: ServicesDep,
    caller: CallerDep,
    model: Annotated[tuple[str, ...], Query(max_length=_COMPARED)] = (),
) -> Response:
    """Show the assessments of some models, and their other differences."""
    with services.database.read() as session:
        known = visible_models(session, caller, study, model)
    found = [models.visible_model(services, caller, one) for one in known]
    rows = differences(found)
    title = f"{study}: models compared"
    return page(request, "compare.html.j2", title=title, study=study, found=found, rows=rows)


def differences(found: Sequence[ModelHead]) -> list[tuple[str, list[str]]]:
    """Return table rows of a name and each model's value: the assessment, then the differences."""
    worths = [one.worth.to_worth() if one.worth else Worth("") for one in found]
    figures = [{figure.name: figure.words for figure in worth.figures} for worth in worths]
    shown = [{"verdict": worth.verdict, **own} for worth, own in zip(worths, figures, strict=True)]
    chosen = [
        {
            "records": f"{one.records:,}",
            "releases": ", ".join(sorted(one.releases)),
            **{name: _text_of(value) for name, value in one.spec.model_dump(mode="json").items()},
        }
        for one in found
    ]
    rows = [(name, [own.get(name, "–") for own in shown]) for name in _names(shown)]
    rows += [(name, [own.get(name, "–") for own in chosen]) for name in _names(chosen)]
    return [row for row in rows if row[0] in _names(shown) or len(set(row[1])) > 1]


def _names(rows: Sequence[Mapping[str, str]]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def _text_of(value: object) -> str:
    if value is None:
        return "–"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


@router.get("/models/{model}", name="read_model")
def read_model_shown(
    request: Request, model: ModelPath, services: ServicesDep, caller: CallerDep
) -> Response:
    """Show a model."""
    seen = models.visible_model(services, caller, model)
    return page(
        request,
        "model.html.j2",
        title=seen.name or f"Model {model}",
        model=seen,
        kind=seen.kind,
        forms=["json", *(one for one in MODEL_KINDS[seen.kind].views)],
    )


@router.get("/models/{model}/page", name="read_model_form")
def read_model_page(model: ModelPath, services: ServicesDep, caller: CallerDep) -> Response:
    """Return the model's own page, with pictures and error bars, to show inside another page."""
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
