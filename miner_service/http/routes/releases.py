"""Releases: announced, sent in parts, sealed, withdrawn."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import Header, Request, Response
from fastapi.concurrency import run_in_threadpool
from sqlalchemy import select

from miner_service.http.access.deps import (
    CallerDep,
    PagingDep,
    PartPath,
    ReleasePath,
    ServicesDep,
    StudyPath,
)
from miner_service.http.access.entering import RuledRouter
from miner_service.http.access.problems import problem_responses
from miner_service.http.gate.bodies import Incoming
from miner_service.http.gate.pools import Pools
from miner_service.http.gate.spool import BLOCK, gather, spool
from miner_service.intake import intake, receiving
from miner_service.intake.withdrawing import withdraw
from miner_service.services import Services
from miner_service.store.files.durable import storing
from miner_service.store.paging import page_of
from miner_service.store.people import OWNER
from miner_service.store.releases import find_release, release_message
from miner_service.store.schema import ReleaseRow
from shared.errors import PartInvalid
from shared.wire.base import Page
from shared.wire.parts import DIGEST_HEADER, PART_JSON_MEDIA_TYPE, PART_MEDIA_TYPE, PartJson
from shared.wire.releases import PartReceipt, Release, ReleaseCreate

router = RuledRouter(tags=["releases"])

_PART_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "The pseudonyms and the reported codes, ascending by pseudonym.",
        "content": {
            PART_MEDIA_TYPE: {"schema": {"type": "string", "format": "binary"}},
            PART_JSON_MEDIA_TYPE: {"schema": PartJson.model_json_schema()},
        },
    }
}


@router.post(
    "/studies/{study}/releases",
    status_code=201,
    responses={200: {"model": Release, "description": "It was there."}, **problem_responses(409)},
)
def create_release(
    study: StudyPath,
    body: ReleaseCreate,
    services: ServicesDep,
    caller: CallerDep,
    response: Response,
) -> Release:
    """Announce a release: its plan, and the digest of each part."""
    release, new = intake.announce(services, study, caller.name, body)
    response.status_code = 201 if new else 200
    response.headers["Location"] = f"/v1/releases/{release.id}"
    return release


@router.get("/studies/{study}/releases")
def list_releases(
    study: StudyPath, services: ServicesDep, caller: CallerDep, paging: PagingDep
) -> Page[Release]:
    """List releases; an owner sees its own."""
    with services.database.read() as session:
        query = select(ReleaseRow).where(ReleaseRow.study == study)
        if caller.role == OWNER:
            query = query.where(ReleaseRow.owner == caller.name)
        return page_of(
            session, query, ReleaseRow.seq, paging, lambda row: release_message(session, row)
        )


@router.get("/releases/{release}")
def read_release(release: ReleasePath, services: ServicesDep) -> Release:
    """Read a release and which of its parts are stored."""
    with services.database.read() as session:
        return release_message(session, find_release(session, release))


@router.put(
    "/releases/{release}/parts/{number}",
    status_code=201,
    openapi_extra=_PART_BODY,
    responses={
        200: {"model": PartReceipt, "description": "The same bytes were there."},
        **problem_responses(409),
    },
)
async def put_part(
    release: ReleasePath,
    number: PartPath,
    request: Request,
    services: ServicesDep,
    caller: CallerDep,
    response: Response,
    digest: Annotated[
        str | None,
        Header(alias=DIGEST_HEADER, description="`sha-256=:<base64>:`, checked if it is there."),
    ] = None,
) -> PartReceipt:
    """Store one part; acknowledged when it is safe on disk."""
    body: Incoming = request.state.body
    pools: Pools = request.state.pools
    expected = await run_in_threadpool(
        receiving.expect_part,
        services,
        release,
        number,
        media=_part_media(request),
        length=body.announced,
    )
    with request.state.in_flight.held(caller.token, expected.bytes):
        if expected.bytes <= BLOCK:  # no more is in memory of a larger one, either
            small = await gather(body.chunks(expected.bytes, "part"))
            receipt, new = await pools.storing.run(
                receiving.take_small_part, services, expected, small, digest
            )
        else:
            async with _received(services, expected, body, pools) as arrived:
                receipt, new = await pools.storing.run(
                    receiving.take_part, services, expected, arrived, digest
                )
    response.status_code = 201 if new else 200
    return receipt


@asynccontextmanager
async def _received(
    services: Services, expected: receiving.Expected, body: Incoming, pools: Pools
) -> AsyncIterator[receiving.Arrived]:
    """Receive a part into a file that nobody else leaves behind, or only hash it."""
    chunks = body.chunks(expected.bytes, "part")
    if expected.stored:
        came = await spool(chunks, None, pools.writing)
        yield receiving.Arrived(None, came.size, came.digest.digest())
        return
    scratch = services.segments.scratch_path()
    try:
        with storing(f"Part {expected.number}"), scratch.open("wb", buffering=0) as file:
            came = await spool(chunks, file, pools.writing)
        yield receiving.Arrived(scratch, came.size, came.digest.digest())
    finally:
        scratch.unlink(missing_ok=True)


@router.post("/releases/{release}/seal", responses=problem_responses(409))
async def seal_release(release: ReleasePath, services: ServicesDep, request: Request) -> Release:
    """Seal a release that has all its parts; from now on it is used."""
    sealed: Release = await request.state.pools.sealing.run(intake.seal, services, release)
    return sealed


@router.post("/releases/{release}/withdraw", responses=problem_responses(409))
def withdraw_release(release: ReleasePath, services: ServicesDep) -> Release:
    """Withdraw a release: its records are deleted, its entry stays."""
    return withdraw(services, release)


def _part_media(request: Request) -> str:
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media not in (PART_MEDIA_TYPE, PART_JSON_MEDIA_TYPE):
        raise PartInvalid(
            f"A part must be {PART_MEDIA_TYPE} or, if small, {PART_JSON_MEDIA_TYPE}.",
            where="Content-Type",
            remedy="Set the Content-Type header to what the body is.",
        )
    return media
