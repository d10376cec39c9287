"""Reports of single records: the plan published to their holders, batches from gateways, counts."""

from __future__ import annotations

from fastapi import Request, Response

from miner_service.http.access.access import RuledRouter
from miner_service.http.access.deps import CallerDep, ServicesDep, StudyPath
from miner_service.http.access.problems import problem_responses
from miner_service.intake import reports
from pramana_core.wire.releases import Release
from pramana_core.wire.reports import (
    BatchReceipt,
    PublishedPlan,
    ReportBatch,
    ReportCounts,
    ReportPlanCreate,
)

router = RuledRouter(tags=["single records"])


@router.put(
    "/studies/{study}/reports/plan",
    status_code=201,
    responses={
        200: {"model": PublishedPlan, "description": "It was there."},
        **problem_responses(409),
    },
)
def put_report_plan(
    study: StudyPath, body: ReportPlanCreate, services: ServicesDep, response: Response
) -> PublishedPlan:
    """Publish the plan by which everybody randomizes the one record she has; there is no other."""
    told, new = reports.publish(services, study, body)
    response.status_code = 201 if new else 200
    return told


@router.get("/studies/{study}/reports/plan")
def read_report_plan(study: StudyPath, services: ServicesDep) -> PublishedPlan:
    """Read the published plan, and what a report made by it tells of a record."""
    with services.database.read() as session:
        return reports.published(session, study)


@router.post(
    "/studies/{study}/reports",
    status_code=201,
    responses={
        200: {"model": BatchReceipt, "description": "It was counted before."},
        **problem_responses(409),
    },
)
def send_reports(
    study: StudyPath,
    body: ReportBatch,
    services: ServicesDep,
    caller: CallerDep,
    response: Response,
) -> BatchReceipt:
    """Count a batch of reports, whole or not at all; acknowledged when it is safe on disk."""
    receipt, new = reports.count(services, study, caller.name, body)
    response.status_code = 201 if new else 200
    return receipt


@router.get("/studies/{study}/reports")
def read_reports(study: StudyPath, services: ServicesDep) -> ReportCounts:
    """Tell how many reports there are, of which gateways, and how many are in use."""
    with services.database.read() as session:
        return reports.counts(session, study)


@router.post(
    "/studies/{study}/reports/release",
    status_code=201,
    responses={
        200: {"model": Release, "description": "The same reports were in use."},
        **problem_responses(409),
    },
)
async def release_reports(
    study: StudyPath, services: ServicesDep, request: Request, response: Response
) -> Release:
    """Put into use what was counted so far: from now on jobs learn from it."""
    released: Release
    released, new = await request.state.pools.sealing.run(reports.release, services, study)
    response.status_code = 201 if new else 200
    response.headers["Location"] = f"/v1/releases/{released.id}"
    return released


@router.post("/studies/{study}/reports/close", responses=problem_responses(409))
def close_reports(study: StudyPath, services: ServicesDep) -> ReportCounts:
    """Take no more reports; what was counted stays."""
    return reports.close(services, study)


@router.delete("/studies/{study}/reports")
def withdraw_reports(study: StudyPath, services: ServicesDep) -> ReportCounts:
    """Delete what was counted, and withdraw the releases of it; that it was told stays told."""
    return reports.withdraw(services, study)
