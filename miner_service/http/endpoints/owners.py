"""Invitations and the owners that took them up."""

from __future__ import annotations

from fastapi import Request, Response
from sqlalchemy import select
from sqlalchemy.orm import Session

from miner_service.http.access.access import Caller, RuledRouter
from miner_service.http.access.deps import PagingDep, ServicesDep, StudyPath
from miner_service.http.access.keyed import KeyedDep
from miner_service.http.access.problems import problem_responses
from miner_service.intake.withdrawing import gone
from miner_service.store import owners
from miner_service.store.database import page_of
from miner_service.store.people import owner_message
from miner_service.store.queue import fail_jobs_on
from miner_service.store.releases import releases_of
from miner_service.store.schema import InvitationRow, OwnerRow
from miner_service.store.tokens import issued_message
from pramana_core.wire.base import Page
from pramana_core.wire.privacy import (
    Invitation,
    InvitationAccept,
    InvitationCreate,
    Owner,
    TokenIssued,
)

router = RuledRouter(tags=["owners"])


@router.post(
    "/studies/{study}/invitations",
    status_code=201,
    response_model=Invitation,
    responses=problem_responses(409),
)
def create_invitation(
    study: StudyPath, body: InvitationCreate, services: ServicesDep, keyed: KeyedDep
) -> Response:
    """Invite an owner; the secret is shown this once."""

    def invite(session: Session) -> Invitation:
        row, credential = owners.invite(
            session,
            study=study,
            owner=body.owner,
            hours=body.valid_hours,
            days=body.valid_days,
            now=services.now(),
        )
        return owners.invitation_message(row, credential.text)

    return keyed.answer(services, body, invite)


@router.get("/studies/{study}/invitations")
def list_invitations(
    study: StudyPath, services: ServicesDep, paging: PagingDep
) -> Page[Invitation]:
    """List invitations, without their secrets."""
    with services.database.read() as session:
        query = select(InvitationRow).where(InvitationRow.study == study)
        return page_of(session, query, InvitationRow.seq, paging, owners.invitation_message)


@router.delete("/invitations/{invitation}", status_code=204, responses=problem_responses(409))
def revoke_invitation(invitation: str, services: ServicesDep) -> None:
    """Revoke an invitation that was not taken up; again is harmless."""
    with services.database.write() as session:
        row = owners.find_invitation(session, invitation)
        owners.revoke_invitation(row, services.now())


@router.post(
    "/invitations/accept",
    status_code=201,
    response_model=TokenIssued,
    responses=problem_responses(409),
)
def accept_invitation(
    body: InvitationAccept, services: ServicesDep, request: Request, keyed: KeyedDep
) -> Response:
    """Take up an invitation: the owner joins and is given its token."""

    def accept(session: Session) -> TokenIssued:
        row, credential = owners.accept_invitation(
            session, body.secret, services.now(), days=services.settings.tokens.valid_days
        )
        return issued_message(row, credential)

    answer = keyed.answer(services, body, accept, secret=body.secret)
    issued = TokenIssued.model_validate_json(bytes(answer.body))
    # The audit log reads who it was that the secret made the sender.
    request.state.caller = Caller(issued.id, issued.role, issued.study, issued.name)
    return answer


@router.get("/studies/{study}/owners")
def list_owners(study: StudyPath, services: ServicesDep, paging: PagingDep) -> Page[Owner]:
    """List a study's owners."""
    with services.database.read() as session:
        query = select(OwnerRow).where(OwnerRow.study == study)
        return page_of(session, query, OwnerRow.seq, paging, owner_message)


@router.delete("/studies/{study}/owners/{owner}", status_code=204, responses=problem_responses(409))
def remove_owner(study: StudyPath, owner: str, services: ServicesDep) -> None:
    """Take an owner out of a study: its tokens are revoked and its releases no longer used.

    Invitations that it has not taken up end, and unfinished jobs that were to use its releases
    fail. Holders of single records are taken out by withdrawing their reports. Again is harmless.
    """
    with services.database.write() as session:
        owners.deactivate_owner(session, study, owner, services.now())
        for row in releases_of(session, study, owner):
            fail_jobs_on(session, row.id, gone(row, "taken out of use"), services.now())
