"""Models: read, drawn, asked, sampled. Whoever may read a model may do all of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Response
from fastapi.responses import HTMLResponse, PlainTextResponse, StreamingResponse

from miner_service.http.access.access import OWNER, Caller
from miner_service.http.access.deps import (
    CallerDep,
    ModelPath,
    RecordsQuery,
    SeedQuery,
    ServicesDep,
)
from miner_service.http.access.problems import problem_responses
from miner_service.jobs.questions import answer, predictions, synthetic
from miner_service.kinds import MODEL_KINDS
from miner_service.services import Services
from miner_service.store.jobs import find_model
from miner_service.store.people import no_such
from shared.errors import NotFound
from shared.learn.networks.network import BayesNet
from shared.wire.models import (
    ModelAnswer,
    ModelMessage,
    ModelQuery,
    PredictionAnswer,
    PredictionQuery,
)

router = APIRouter(tags=["models"])

SVG_MEDIA_TYPE = "image/svg+xml"
CSV_MEDIA_TYPE = "text/csv"
JSON_MEDIA_TYPE = "application/json"
_INERT = {
    # Names of variables come from outside; whatever they are, nothing here runs or loads.
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'",
    "X-Content-Type-Options": "nosniff",
}


def _text(
    description: str, media_type: str, form: str = "string"
) -> dict[int | str, dict[str, Any]]:
    content = {media_type: {"schema": {"type": form}}}
    return {200: {"description": description, "content": content}}


@router.get("/models/{model}")
def read_model(model: ModelPath, services: ServicesDep, caller: CallerDep) -> ModelMessage:
    """Read a model with its errors; `kind` says what else is in it.

    Roles: any of the study; a model of other than identical records not owners.
    """
    message: ModelMessage = _visible(services, caller, model).message
    return message


@router.get(
    "/models/{model}/page",
    response_class=HTMLResponse,
    responses={200: {"description": "One page that loads nothing."}},
)
def read_model_page(model: ModelPath, services: ServicesDep, caller: CallerDep) -> Response:
    """See a model of any kind on one page, with its errors. Roles: as for the model."""
    return _view(services, caller, model, "page")


@router.get(
    "/models/{model}/svg",
    response_class=Response,
    responses=_text("A picture of the model.", SVG_MEDIA_TYPE),
)
def read_model_svg(model: ModelPath, services: ServicesDep, caller: CallerDep) -> Response:
    """Draw a network (links with their confidence), a tree or weights. Roles: as for the model."""
    return _view(services, caller, model, "svg")


@router.get(
    "/models/{model}/bif",
    response_class=PlainTextResponse,
    responses={200: {"description": "The network in the Bayesian network interchange format."}},
)
def read_model_bif(model: ModelPath, services: ServicesDep, caller: CallerDep) -> Response:
    """Read a network as BIF, its probabilities made valid. Roles: as for the model."""
    return _view(services, caller, model, "bif")


@router.get(
    "/models/{model}/dot",
    response_class=PlainTextResponse,
    responses={200: {"description": "The structure in the language of Graphviz."}},
)
def read_model_dot(model: ModelPath, services: ServicesDep, caller: CallerDep) -> Response:
    """Read a network's structure as DOT, links with their confidence. Roles: as for the model."""
    return _view(services, caller, model, "dot")


@router.get(
    "/models/{model}/csv",
    response_class=Response,
    responses=_text("A row per cell of the table after the header.", CSV_MEDIA_TYPE),
)
def read_model_csv(model: ModelPath, services: ServicesDep, caller: CallerDep) -> Response:
    """Read a contingency table as CSV. Roles: as for the model."""
    return _view(services, caller, model, "csv")


@router.get(
    "/models/{model}/itemsets.csv",
    response_class=Response,
    responses=_text("A row per itemset after the header.", CSV_MEDIA_TYPE),
)
def read_model_itemsets(model: ModelPath, services: ServicesDep, caller: CallerDep) -> Response:
    """Read the itemsets of association rules as CSV. Roles: as for the model."""
    return _view(services, caller, model, "itemsets.csv")


@router.get(
    "/models/{model}/rules.csv",
    response_class=Response,
    responses=_text("A row per rule after the header.", CSV_MEDIA_TYPE),
)
def read_model_rules(model: ModelPath, services: ServicesDep, caller: CallerDep) -> Response:
    """Read association rules as CSV. Roles: as for the model."""
    return _view(services, caller, model, "rules.csv")


@router.get(
    "/models/{model}/text",
    response_class=PlainTextResponse,
    responses={200: {"description": "The tree as indented rules."}},
)
def read_model_text(model: ModelPath, services: ServicesDep, caller: CallerDep) -> Response:
    """Read a decision tree as rules in text. Roles: as for the model."""
    return _view(services, caller, model, "text")


@router.get(
    "/models/{model}/document",
    response_class=Response,
    responses=_text("The model in the form that travels.", JSON_MEDIA_TYPE, "object"),
)
def read_model_document(model: ModelPath, services: ServicesDep, caller: CallerDep) -> Response:
    """Read a tree or a linear classifier as JSON for predictions elsewhere.

    Roles: as for the model.
    """
    return _view(services, caller, model, "document")


@router.post("/models/{model}/predictions")
def predict(
    model: ModelPath, body: PredictionQuery, services: ServicesDep, caller: CallerDep
) -> PredictionAnswer:
    """Predict the class of records with a tree or a linear classifier; nothing of them is kept.

    Roles: as for the model.
    """
    seen = _visible(services, caller, model)
    read = MODEL_KINDS[seen.kind].predictor
    if read is None:
        raise _not_offered(seen.kind, "predictions")
    return predictions(read(seen.message), body, services.settings.limits)


@router.post("/models/{model}/queries", responses=problem_responses(501))
def ask_model(
    model: ModelPath, body: ModelQuery, services: ServicesDep, caller: CallerDep
) -> ModelAnswer:
    """Ask a network for the distribution of some nodes, given others. Roles: as for the model."""
    return answer(_network(services, caller, model, "queries"), body, services.settings.limits)


@router.get(
    "/models/{model}/samples",
    response_class=StreamingResponse,
    responses=_text("Synthetic records, one line each after the header.", CSV_MEDIA_TYPE),
)
def sample_model(
    model: ModelPath,
    records: RecordsQuery,
    services: ServicesDep,
    caller: CallerDep,
    seed: SeedQuery = 0,
) -> StreamingResponse:
    """Draw synthetic records from a network, as CSV. Roles: as for the model."""
    network = _network(services, caller, model, "samples")
    pieces = synthetic(network, records, seed, services.settings.limits)
    return StreamingResponse(pieces, media_type=CSV_MEDIA_TYPE, headers=_INERT)


def _view(services: Services, caller: Caller, model: str, form: str) -> Response:
    seen = _visible(services, caller, model)
    view = MODEL_KINDS[seen.kind].views.get(form)
    if view is None:
        raise _not_offered(seen.kind, form)
    return Response(view.write(seen.message), media_type=view.media_type, headers=_INERT)


def _network(services: Services, caller: Caller, model: str, purpose: str) -> BayesNet:
    seen = _visible(services, caller, model)
    read = MODEL_KINDS[seen.kind].network
    if read is None:
        raise _not_offered(seen.kind, purpose)
    return read(seen.message).network


def _not_offered(kind: str, asked: str) -> NotFound:
    return NotFound(
        f"A model of kind {kind!r} has no {asked!r}.",
        where=asked,
        remedy=f"It has {list(MODEL_KINDS[kind].offers)}.",
    )


@dataclass(frozen=True)
class _Seen:
    """A model as a caller may see it."""

    kind: str
    message: Any


def _visible(services: Services, caller: Caller, model: str) -> _Seen:
    with services.database.read() as session:
        row = find_model(session, model)
        # Whoever published one person's record only would read that person's others in a model of
        # records that are not the same at all owners.
        identical = json.loads(row.body)["spec"]["records"] == "identical"
        if not caller.sees_study(row.study) or (caller.role == OWNER and not identical):
            raise no_such("model")
        message = MODEL_KINDS[row.kind].message.model_validate_json(row.body)
        marked = caller.view_inconsistent(session, message.inconsistent)
    return _Seen(row.kind, message.model_copy(update={"inconsistent": marked}))
