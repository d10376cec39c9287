"""The plan that a study's owners agree on."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Header, Response

from miner_service.http.access.access import RuledRouter
from miner_service.http.access.deps import ServicesDep, StudyPath
from miner_service.http.access.problems import problem_responses
from miner_service.intake.agreement import agree, agreed_plan, withdraw_agreement
from pramana_core.wire.study_plans import StudyPlanMessage, StudyPlanView

router = RuledRouter(tags=["study plans"])

_UNCHANGED: dict[int | str, dict[str, Any]] = {304: {"description": "It is the one you have."}}


@router.put(
    "/studies/{study}/plan",
    status_code=201,
    responses={
        200: {"model": StudyPlanView, "description": "It was there."},
        **problem_responses(409),
    },
)
def put_study_plan(
    study: StudyPath,
    body: StudyPlanMessage,
    services: ServicesDep,
    response: Response,
) -> StudyPlanView:
    """Give the study its plan: who reports what. Another one only while no release follows it."""
    plan, new = agree(services, study, body)
    response.status_code = 201 if new else 200
    response.headers["ETag"] = _tag(plan.digest)
    return StudyPlanView.of(study, plan)


@router.get("/studies/{study}/plan", response_model=StudyPlanView, responses=_UNCHANGED)
def read_study_plan(
    study: StudyPath,
    services: ServicesDep,
    response: Response,
    known: Annotated[
        str | None, Header(alias="If-None-Match", description="The ETag of the plan you have.")
    ] = None,
) -> Any:
    """Read the plan of the study and what it tells of a record."""
    with services.database.read() as session:
        plan = agreed_plan(session, study)
    tag = _tag(plan.digest)
    if known is not None and tag in [one.strip() for one in known.split(",")]:
        return Response(status_code=304, headers={"ETag": tag})
    response.headers["ETag"] = tag
    return StudyPlanView.of(study, plan)


@router.delete("/studies/{study}/plan", status_code=204, responses=problem_responses(409))
def delete_study_plan(study: StudyPath, services: ServicesDep) -> None:
    """Take the plan away while no release follows it; again is harmless."""
    withdraw_agreement(services, study)


def _tag(digest: str) -> str:
    return f'"{digest}"'
