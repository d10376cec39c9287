"""Models: the list of them, one with its picture and files, two side by side, and predictions."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Query, Request, Response
from pydantic import ValidationError

from miner_service.http.access.access import Caller, RuledRouter, require_rule, rule_of
from miner_service.http.access.deps import CallerDep, ModelPath, ServicesDep, StudyPath
from miner_service.http.endpoints import models
from miner_service.http.endpoints.models import SeenModel
from miner_service.http.endpoints.results import models_of
from miner_service.http.pages.rendering import SHOWN, NewestDep, SentDep, newest, page
from miner_service.kinds import MODEL_KINDS
from miner_service.kinds.base import in_words, media_type_of
from miner_service.services import Services
from pramana_core.csv_text import csv_cell, csv_line, unmarked
from pramana_core.errors import InputError, PramanaError
from pramana_core.model_sharing.attributes import CategoricalAttribute
from pramana_core.pages.forms import FRAMED, ROOT, SentForm
from pramana_core.wire.models import PredictionQuery

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
    return _shown(request, services, caller, model)


@router.get("/models/{model}/page", name="read_model_page")
def read_model_page(model: ModelPath, services: ServicesDep, caller: CallerDep) -> Response:
    """Return the model's own page, with its pictures and their error bars, to be framed."""
    seen = models.visible_model(services, caller, model)
    written = models.written_as(seen, "page")
    return Response(written, media_type="text/html", headers=dict(FRAMED))


@router.get("/models/{model}/files/{form}", name="read_model")
def read_model_file(
    model: ModelPath, form: str, services: ServicesDep, caller: CallerDep
) -> Response:
    """Return a model as a file."""
    seen = models.visible_model(services, caller, model)
    if form == "json":
        written, media = seen.message.model_dump_json(), "application/json"
    else:
        written, media = models.written_as(seen, form), media_type_of(form)
    name = f"{model}.{_SUFFIXES.get(form, form)}"
    return Response(
        written,
        media_type=media,
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


@router.get("/models/{model}/beside", name="read_model")
def read_model_beside(
    request: Request,
    model: ModelPath,
    services: ServicesDep,
    caller: CallerDep,
    other: Annotated[str, Query(max_length=64)],
) -> Response:
    """Show two models side by side."""
    both = [models.visible_model(services, caller, model)]
    with services.database.read() as session:
        require_rule(session, caller, rule_of("read_model"), {"model": other})
    both.append(models.visible_model(services, caller, other))
    shown = [(seen.message, seen.kind, in_words(seen.message)) for seen in both]
    return page(request, "beside.html.j2", title="Two models", both=shown)


@router.post("/models/{model}/predictions", name="predict")
def predict(
    request: Request, model: ModelPath, services: ServicesDep, caller: CallerDep, sent: SentDep
) -> Response:
    """Predict the class of pasted rows; nothing of them is kept."""
    try:
        rows = _rows(models.visible_model(services, caller, model), sent.text("rows"))
        asked = PredictionQuery(records=rows)
        prediction = models.predict(model, asked, services, caller)
    except ValidationError:
        error = InputError("A row has a value that cannot be read.", where="rows")
        return _shown(request, services, caller, model, sent=sent, error=error)
    except PramanaError as error:
        return _shown(request, services, caller, model, sent=sent, error=error)
    return _shown(request, services, caller, model, sent=sent, told=prediction)


def _shown(
    request: Request,
    services: Services,
    caller: Caller,
    model: str,
    *,
    sent: SentForm | None = None,
    told: Any = None,
    error: PramanaError | None = None,
) -> Response:
    seen = models.visible_model(services, caller, model)
    message = seen.message
    with services.database.read() as session:
        others = [
            one
            for one in models_of(session, caller, message.study, newest(SHOWN)).items
            if one.id != model
        ]
    inputs = _inputs(seen)
    return page(
        request,
        "model.html.j2",
        title=f"Model {model}",
        status=200 if error is None else error.http_status,
        model=message,
        kind=seen.kind,
        forms=["json", *(one for one in MODEL_KINDS[seen.kind].views)],
        others=others,
        inputs=inputs,
        header=_line(inputs),
        example=_line([choices[0] if choices else "0" for choices in inputs.values()]),
        sent=sent,
        told=told,
        error=error,
    )


def _inputs(seen: SeenModel) -> dict[str, tuple[str, ...]]:
    """Return what a prediction is made from: each variable's categories; of a number, none."""
    kind = MODEL_KINDS[seen.kind]
    if kind.predictor is not None:
        return {one.name: one.categories for one in kind.predictor(seen.message).inputs}
    if kind.classifier is None:
        return {}
    return {
        one.name: one.categories if isinstance(one, CategoricalAttribute) else ()
        for one in kind.classifier(seen.message).schema.attributes
    }


def _rows(seen: SeenModel, text: str) -> list[dict[str, Any]]:
    """Return rows that were pasted: JSON, or a header and lines as in CSV. Raises InputError."""
    inputs = _inputs(seen)
    try:
        if text.startswith(("{", "[")):
            found = json.loads(text)
            return found if isinstance(found, list) else [found]
        separator = "\t" if "\t" in text.partition("\n")[0] else ","
        lines = csv.DictReader(io.StringIO(text), delimiter=separator, strict=True)
        return [
            {name: _value(inputs, name, value) for name, value in line.items()} for line in lines
        ]
    except (ValueError, TypeError, AttributeError, csv.Error) as error:
        raise InputError(
            "The rows cannot be read.",
            where="rows",
            remedy="Paste a line with the names of the columns and one line for each row.",
        ) from error


def _value(inputs: Mapping[str, tuple[str, ...]], name: str, text: str) -> str | float | None:
    """Return a value: a category as it is written, any other text as a number, if it is one."""
    value = unmarked(text.strip())
    if not value:
        return None
    if value in inputs.get(name, ()):
        return value
    try:
        return float(value)
    except ValueError:
        return value


def _line(values: Any) -> str:
    """Return values as a line of CSV."""
    return csv_line(map(csv_cell, values)).rstrip("\n")
