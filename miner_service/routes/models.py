"""Models: read, drawn, asked, sampled. Whoever may read a model may do all of it."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response
from fastapi.responses import HTMLResponse, PlainTextResponse, StreamingResponse

from miner_service.access import OWNER, Caller
from miner_service.asking import answer, synthetic
from miner_service.deps import CallerDep, ModelPath, RecordsQuery, SeedQuery, ServicesDep
from miner_service.model_page import model_page
from miner_service.problems import problem_responses
from miner_service.services import Services
from miner_service.store.jobs import find_model
from miner_service.store.people import no_such
from miner_service.store.schema import ModelRow
from shared.errors import Forbidden
from shared.learn.dot import write_dot
from shared.learn.drawing import draw_structure
from shared.learn.network_json import NetworkDocument, read_network_json
from shared.wire import BayesNetMessage, ModelAnswer, ModelQuery

router = APIRouter(tags=["models"])

SVG_MEDIA_TYPE = "image/svg+xml"
CSV_MEDIA_TYPE = "text/csv"
_INERT = {
    # Names of variables come from outside; whatever they are, nothing here runs or loads.
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'",
    "X-Content-Type-Options": "nosniff",
}


def _text(description: str, media_type: str) -> dict[int | str, dict[str, Any]]:
    content = {media_type: {"schema": {"type": "string"}}}
    return {200: {"description": description, "content": content}}


@router.get("/models/{model}")
def read_model(model: ModelPath, services: ServicesDep, caller: CallerDep) -> BayesNetMessage:
    """Read a model with the errors of its parameters.

    Roles: any of the study; a model of other than identical records not owners.
    """
    return BayesNetMessage.model_validate_json(_visible(services, caller, model).body)


@router.get(
    "/models/{model}/bif",
    response_class=PlainTextResponse,
    responses={200: {"description": "The network in the Bayesian network interchange format."}},
)
def read_model_bif(model: ModelPath, services: ServicesDep, caller: CallerDep) -> PlainTextResponse:
    """Read a model as BIF, its probabilities made valid. Roles: as for the model."""
    return PlainTextResponse(_visible(services, caller, model).bif)


@router.get(
    "/models/{model}/dot",
    response_class=PlainTextResponse,
    responses={200: {"description": "The structure in the language of Graphviz."}},
)
def read_model_dot(model: ModelPath, services: ServicesDep, caller: CallerDep) -> PlainTextResponse:
    """Read a model's structure as DOT, links with their confidence. Roles: as for the model."""
    document = _document(services, caller, model)
    text = write_dot(document.network.structure, model, document.confidence)
    return PlainTextResponse(text)


@router.get(
    "/models/{model}/svg",
    response_class=Response,
    responses=_text("A picture of the structure.", SVG_MEDIA_TYPE),
)
def read_model_svg(model: ModelPath, services: ServicesDep, caller: CallerDep) -> Response:
    """Draw a model's structure, links with their confidence. Roles: as for the model."""
    document = _document(services, caller, model)
    picture = draw_structure(document.network.structure, confidence=document.confidence)
    return Response(picture, media_type=SVG_MEDIA_TYPE, headers=_INERT)


@router.get(
    "/models/{model}/page",
    response_class=HTMLResponse,
    responses={200: {"description": "One page that loads nothing."}},
)
def read_model_page(model: ModelPath, services: ServicesDep, caller: CallerDep) -> HTMLResponse:
    """See a model on one page: picture, links, parameters. Roles: as for the model."""
    row = _visible(services, caller, model)
    page = model_page(BayesNetMessage.model_validate_json(row.body), read_network_json(row.body))
    return HTMLResponse(page, headers=_INERT)


@router.post("/models/{model}/queries", responses=problem_responses(501))
def ask_model(
    model: ModelPath, body: ModelQuery, services: ServicesDep, caller: CallerDep
) -> ModelAnswer:
    """Ask for the joint distribution of some nodes, given others. Roles: as for the model."""
    document = _document(services, caller, model)
    return answer(document.network, body, services.settings.limits)


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
    """Draw synthetic records from a model, as CSV. Roles: as for the model."""
    network = _document(services, caller, model).network
    pieces = synthetic(network, records, seed, services.settings.limits)
    return StreamingResponse(pieces, media_type=CSV_MEDIA_TYPE, headers=_INERT)


def _document(services: Services, caller: Caller, model: str) -> NetworkDocument:
    return read_network_json(_visible(services, caller, model).body)


def _visible(services: Services, caller: Caller, model: str) -> ModelRow:
    with services.database.read() as session:
        row = find_model(session, model)
    if not caller.sees_study(row.study):
        raise no_such("model")
    if (
        caller.role == OWNER
        and BayesNetMessage.model_validate_json(row.body).spec.records != "identical"
    ):
        # Whoever published one person's record only would read that person's others here.
        raise Forbidden(
            "This model is of records that are not the same at all owners; owners may not read it.",
            where="role",
            remedy="Ask the analyst for a model of records that are the same set at every owner.",
        )
    return row
