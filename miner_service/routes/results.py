"""What came of it all: alignment, models, the dashboard."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import PlainTextResponse

from miner_service.access import ANYONE, OWNER, Caller, enter_study
from miner_service.dashboard import dashboard
from miner_service.deps import CallerDep, ModelPath, ServicesDep, StudyPath
from miner_service.services import Services
from miner_service.store.jobs import find_model
from miner_service.store.people import no_such
from miner_service.store.schema import ModelRow
from shared.errors import Forbidden
from shared.wire import Alignment, BayesNetMessage, Dashboard

router = APIRouter(tags=["results"])


@router.get("/studies/{study}/alignment")
def read_alignment(study: StudyPath, services: ServicesDep, caller: CallerDep) -> Alignment:
    """Say which records are at which owners, from their releases in use.

    An owner sees its own row and whether the records are the same everywhere; how many are not,
    only the others see. Roles: any of the study.
    """
    with services.database.read() as session:
        enter_study(session, caller, study, *ANYONE)
        return caller.view_alignment(services.alignment(session, study))


@router.get("/models/{model}")
def read_model(model: ModelPath, services: ServicesDep, caller: CallerDep) -> BayesNetMessage:
    """Read a model with the errors of its parameters.

    Roles: any of the study; a model of the `common` records not owners.
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


@router.get("/dashboard")
def read_dashboard(services: ServicesDep, caller: CallerDep) -> Dashboard:
    """See at one moment all that the caller may see. Roles: any."""
    with services.database.read() as session:
        return dashboard(services, session, caller)


def _visible(services: Services, caller: Caller, model: str) -> ModelRow:
    with services.database.read() as session:
        row = find_model(session, model)
    if not caller.sees_study(row.study):
        raise no_such("model")
    if (
        caller.role == OWNER
        and BayesNetMessage.model_validate_json(row.body).spec.records == "common"
    ):
        # Whoever published one person's record only would read that person's others here.
        raise Forbidden(
            "This model is of the records common to all owners, which owners may not read.",
            where="role",
            remedy="Ask the analyst for a model of records that are the same set at every owner.",
        )
    return row
