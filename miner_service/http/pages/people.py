"""Pages of a study's people, and of the service's state."""

from __future__ import annotations

import shutil
from typing import Any

from fastapi import Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse

from miner_service.http.access.access import Caller
from miner_service.http.access.deps import CallerDep, CrewDep, GateDep, ServicesDep, StudyPath
from miner_service.http.access.figures import Queue
from miner_service.http.access.routing import RuledRouter
from miner_service.http.endpoints import studies
from miner_service.http.endpoints.health import read_readiness
from miner_service.http.pages.rendering import (
    SHOWN,
    NewestDep,
    Read,
    SentDep,
    newest,
    page,
    read_message,
)
from miner_service.services import Services
from miner_service.store.address import address_of
from miner_service.store.people import ADMIN
from pramana_core.errors import NotReady, OptionError, PramanaError
from pramana_core.pages.forms import ROOT, SentForm
from pramana_core.wire.privacy import (
    BUDGET,
    AccessFile,
    InvitationCreate,
    InvitationFile,
    StudyCreate,
    TokenCreate,
)

router = RuledRouter(prefix=ROOT, include_in_schema=False)


@router.post("/studies", name="create_study")
def create_study(
    request: Request, services: ServicesDep, caller: CallerDep, sent: SentDep
) -> Response:
    """Create a study."""
    try:
        body = _read(StudyCreate, sent, "name", "title", "people", *BUDGET)
        made = studies.create_study(body, services, Response())
    except PramanaError as error:
        paging = newest(SHOWN)
        found = studies.list_studies(services, caller, paging)
        return page(
            request,
            "studies.html.j2",
            title="Studies",
            status=error.http_status,
            found=found,
            ending=[],
            error=error,
        )
    return RedirectResponse(f"{ROOT}/studies/{made.name}", 303)


@router.get("/studies/{study}/people", name="list_invitations")
def show_people(
    request: Request, study: StudyPath, services: ServicesDep, caller: CallerDep, paging: NewestDep
) -> Response:
    """Show the invitations of a study and, to the admin, its tokens."""
    return _shown(request, services, caller, study, paging)


@router.post("/studies/{study}/invitations", name="create_invitation")
def create_invitation(
    request: Request, study: StudyPath, services: ServicesDep, caller: CallerDep, sent: SentDep
) -> Response:
    """Invite an owner; only this response has the file for `owner-agent join`."""
    few = newest(SHOWN)
    try:
        body = _read(InvitationCreate, sent, "owner", "valid_hours")
        made = studies.create_invitation(study, body, services, Response())
    except PramanaError as error:
        return _shown(request, services, caller, study, few, error=error)
    invited = InvitationFile(
        miner=_address(request, services),
        study=study,
        owner=made.owner,
        secret=str(made.secret),
        expires=made.expires,
    )
    return _shown(request, services, caller, study, few, invited=invited)


@router.post("/studies/{study}/tokens", name="issue_token")
def issue_token(
    request: Request, study: StudyPath, services: ServicesDep, caller: CallerDep, sent: SentDep
) -> Response:
    """Issue a token to an analyst; only this response has the access file."""
    few = newest(SHOWN)
    try:
        body = _read(TokenCreate, sent, "name", "valid_days")
        made = studies.issue_token(study, body, services, Response())
    except PramanaError as error:
        return _shown(request, services, caller, study, few, error=error)
    issued = AccessFile(
        miner=_address(request, services),
        study=study,
        name=made.name,
        token=made.token,
        expires=made.expires,
    )
    return _shown(request, services, caller, study, few, issued=issued)


def _address(request: Request, services: Services) -> str:
    """Return the address for invitations, by default where the browser reached the service."""
    try:
        return address_of(services.settings, None)
    except OptionError:
        return str(request.base_url).rstrip("/")


@router.post("/invitations/{invitation}/revoke", name="revoke_invitation")
def revoke_invitation(invitation: str, services: ServicesDep, sent: SentDep) -> Response:
    """Revoke an invitation."""
    studies.revoke_invitation(invitation, services)
    return _back(sent)


@router.post("/tokens/{token}/revoke", name="revoke_token")
def revoke_token(token: str, services: ServicesDep, sent: SentDep) -> Response:
    """Revoke a token."""
    studies.revoke_token(token, services)
    return _back(sent)


def _back(sent: SentForm) -> Response:
    study = sent.text("study")
    plain = study.replace("-", "").replace(".", "").replace("_", "")
    there = f"{ROOT}/studies/{study}/people" if plain.isalnum() and plain.isascii() else ROOT
    return RedirectResponse(there, 303)


def _read(message: type[Read], sent: SentForm, *names: str) -> Read:
    """Return a message from those fields of a form that are filled in. Raises InputError."""
    return read_message(message, {name: sent.text(name) for name in names if sent.text(name)})


def _shown(
    request: Request,
    services: Services,
    caller: Caller,
    study: str,
    paging: Any,
    *,
    invited: InvitationFile | None = None,
    issued: AccessFile | None = None,
    error: PramanaError | None = None,
) -> Response:
    tokens = None
    if caller.role == ADMIN:
        tokens = studies.list_tokens(study, services, newest(SHOWN))
    return page(
        request,
        "people.html.j2",
        title=f"{study}: people",
        status=200 if error is None else error.http_status,
        study=study,
        now=services.now(),
        invitations=studies.list_invitations(study, services, paging),
        tokens=tokens,
        invited=invited,
        issued=issued,
        error=error,
    )


@router.get("/operator", name="read_metrics")
async def show_operator(
    request: Request, services: ServicesDep, crew: CrewDep, gate: GateDep
) -> Response:
    """Show the state of the service: unavailable parts, the queue, and free disk space."""
    away = ""
    try:
        await read_readiness(services, crew, gate)
    except NotReady as error:
        away = error.message
    queue = await run_in_threadpool(_queue, services)
    disk = await run_in_threadpool(shutil.disk_usage, services.settings.data_dir)
    return page(
        request,
        "operator.html.j2",
        title="The service",
        away=away,
        queue=queue,
        disk=disk,
        at=services.now(),
    )


def _queue(services: Services) -> Queue | None:
    try:
        with services.database.read() as session:
            return Queue.of(services, session)
    except NotReady:
        return None
