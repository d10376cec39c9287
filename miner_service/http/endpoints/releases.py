"""Routes of releases and of reports of single records."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from io import BufferedWriter
from pathlib import Path
from typing import Annotated, Any

from fastapi import Header, Request, Response
from sqlalchemy import select
from starlette.datastructures import Headers

from miner_service.http.access.deps import (
    CallerDep,
    GateDep,
    PagingDep,
    PartPath,
    ReleasePath,
    ServicesDep,
    StudyPath,
)
from miner_service.http.access.gate import announced, spool
from miner_service.http.access.pools import Pools
from miner_service.http.access.problems import found_before, say_made
from miner_service.http.access.routing import RuledRouter
from miner_service.intake import intake, receiving, reports
from miner_service.intake.withdrawing import withdraw
from miner_service.services import Services
from miner_service.store.durable import storing
from miner_service.store.paging import page_of
from miner_service.store.people import OWNER
from miner_service.store.releases import find_release, release_message
from miner_service.store.schema import ReleaseRow
from pramana_core.errors import PartInvalid
from pramana_core.wire.base import Page
from pramana_core.wire.parts import DIGEST_HEADER, PART_JSON_MEDIA_TYPE, PART_MEDIA_TYPE, PartJson
from pramana_core.wire.releases import PartReceipt, Release, ReleaseCreate
from pramana_core.wire.reports import (
    BatchReceipt,
    PublishedPlan,
    ReportBatch,
    ReportCounts,
    ReportPlanCreate,
)

router = RuledRouter(tags=["releases"])

_PART_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "Pseudonyms and reported codes, ascending by pseudonym.",
        "content": {
            PART_MEDIA_TYPE: {"schema": {"type": "string", "format": "binary"}},
            PART_JSON_MEDIA_TYPE: {"schema": PartJson.model_json_schema()},
        },
    }
}


@router.post("/studies/{study}/releases", status_code=201, responses=found_before(Release))
def create_release(
    study: StudyPath,
    body: ReleaseCreate,
    services: ServicesDep,
    caller: CallerDep,
    response: Response,
) -> Release:
    """Announce a release with its plan and the digest of each part."""
    release, new = intake.announce(services, study, caller.name, body)
    say_made(response, new, f"/v1/releases/{release.id}")
    return release


@router.get("/studies/{study}/releases")
def list_releases(
    study: StudyPath, services: ServicesDep, caller: CallerDep, paging: PagingDep
) -> Page[Release]:
    """List releases. An owner sees its own."""
    with services.database.read() as session:
        query = select(ReleaseRow).where(ReleaseRow.study == study)
        if caller.role == OWNER:
            query = query.where(ReleaseRow.owner == caller.name)
        return page_of(
            session,
            query,
            ReleaseRow.seq,
            paging,
            lambda row: caller.view_release(release_message(session, row)),
        )


@router.get("/releases/{release}")
def read_release(release: ReleasePath, services: ServicesDep, caller: CallerDep) -> Release:
    """Read a release and the numbers of its stored parts."""
    with services.database.read() as session:
        return caller.view_release(release_message(session, find_release(session, release)))


@router.put(
    "/releases/{release}/parts/{number}",
    status_code=201,
    openapi_extra=_PART_BODY,
    responses=found_before(PartReceipt, "The same bytes were already stored."),
)
async def put_part(
    release: ReleasePath,
    number: PartPath,
    request: Request,
    services: ServicesDep,
    caller: CallerDep,
    gate: GateDep,
    response: Response,
    digest: Annotated[
        str | None,
        Header(alias=DIGEST_HEADER, description="`sha-256=:<base64>:`, checked if given."),
    ] = None,
) -> PartReceipt:
    """Store one part. The response follows once the part is safe on disk."""
    media, length = _part_media(request.headers), announced(request)
    limits = services.settings.limits

    def expect() -> receiving.ExpectedPart:
        with services.database.read() as session:
            return receiving.expect_part(
                session, limits, release, number, media=media, length=length
            )

    expected = await gate.pools.entering.run(expect)
    with gate.in_flight.in_transfer(caller.token, expected.bytes):
        chunks = gate.chunks(request, expected.bytes, "part")
        async with _receive(services, expected, chunks, gate.pools) as arrived:
            take = receiving.take_part
            new = await gate.pools.storing.run(take, services, expected, arrived, digest)
    say_made(response, new)
    return receiving.receipt_of(expected)


@asynccontextmanager
async def _receive(
    services: Services, expected: receiving.ExpectedPart, chunks: AsyncIterator[bytes], pools: Pools
) -> AsyncIterator[receiving.ReceivedPart]:
    """Receive a part into a temporary file, which is always removed, or only compute its hash."""
    if expected.stored:
        came = await spool(chunks, None, pools.writing)
        yield receiving.ReceivedPart(None, came.size, came.digest.digest())
        return
    # Never on the event loop: creating or removing a file may wait for a flush.
    file = await pools.writing.run(_open_scratch, services, expected)
    scratch = Path(file.name)
    try:
        with storing(f"Part {expected.number}"), file:
            came = await spool(chunks, file, pools.writing)
        yield receiving.ReceivedPart(scratch, came.size, came.digest.digest())
    finally:
        await pools.writing.run(scratch.unlink, missing_ok=True)


def _open_scratch(services: Services, expected: receiving.ExpectedPart) -> BufferedWriter:
    with storing(f"Part {expected.number}"):
        return services.segments.scratch_path().open("wb")


@router.post("/releases/{release}/seal")
async def seal_release(release: ReleasePath, services: ServicesDep, gate: GateDep) -> Release:
    """Seal a release with all its parts, which puts it into use."""
    sealed: Release = await gate.pools.sealing.run(intake.seal, services, release)
    return sealed


@router.post("/releases/{release}/withdraw")
def withdraw_release(release: ReleasePath, services: ServicesDep) -> Release:
    """Withdraw a release: its records are deleted, its entry remains."""
    return withdraw(services, release)


def _part_media(headers: Headers) -> str:
    media = headers.get("content-type", "").partition(";")[0].strip().lower()
    if media not in (PART_MEDIA_TYPE, PART_JSON_MEDIA_TYPE):
        raise PartInvalid(
            f"A part must be {PART_MEDIA_TYPE} or, if small, {PART_JSON_MEDIA_TYPE}.",
            where="Content-Type",
            remedy="Set the Content-Type header to the type of the body.",
        )
    return media


report_router = RuledRouter(tags=["single records"])


@report_router.put(
    "/studies/{study}/reports/plan", status_code=201, responses=found_before(PublishedPlan)
)
def put_report_plan(
    study: StudyPath, body: ReportPlanCreate, services: ServicesDep, response: Response
) -> PublishedPlan:
    """Publish the plan by which people randomize their single records; a study has only one."""
    answer, new = reports.publish(services, study, body)
    say_made(response, new)
    return answer


@report_router.get("/studies/{study}/reports/plan")
def read_report_plan(study: StudyPath, services: ServicesDep) -> PublishedPlan:
    """Read the published plan, and the loss of a record by a report under the plan."""
    with services.database.read() as session:
        return reports.published(session, study)


@report_router.post(
    "/studies/{study}/reports",
    status_code=201,
    responses=found_before(BatchReceipt, "The batch was already counted."),
)
def send_reports(
    study: StudyPath,
    body: ReportBatch,
    services: ServicesDep,
    caller: CallerDep,
    response: Response,
) -> BatchReceipt:
    """Count a whole batch of reports. The response follows once the counts are safe on disk."""
    receipt, new = reports.count(services, study, caller.name, body)
    say_made(response, new)
    return receipt


@report_router.get("/studies/{study}/reports")
def read_reports(study: StudyPath, services: ServicesDep) -> ReportCounts:
    """Read the count of reports, in total, by gateway, and in use."""
    with services.database.read() as session:
        return reports.counts(session, study)


@report_router.post(
    "/studies/{study}/reports/release",
    status_code=201,
    responses=found_before(Release, "The same reports were already in use."),
)
async def release_reports(
    study: StudyPath, services: ServicesDep, gate: GateDep, response: Response
) -> Release:
    """Put the current counts into use, so that jobs learn from them."""
    released: Release
    released, new = await gate.pools.sealing.run(reports.release, services, study)
    say_made(response, new, f"/v1/releases/{released.id}")
    return released


@report_router.post("/studies/{study}/reports/close")
def close_reports(study: StudyPath, services: ServicesDep) -> ReportCounts:
    """Accept no more reports; the counts remain."""
    return reports.close(services, study)


@report_router.delete("/studies/{study}/reports")
def withdraw_reports(study: StudyPath, services: ServicesDep) -> ReportCounts:
    """Delete the counts and withdraw their releases; the privacy sums still include them."""
    return reports.withdraw(services, study)
