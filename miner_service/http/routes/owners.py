"""Invitations and the owners that took them up."""

from __future__ import annotations

from fastapi import Request
from sqlalchemy import select

from miner_service.http.access.access import Caller
from miner_service.http.access.deps import PagingDep, ServicesDep, StudyPath
from miner_service.http.access.entering import RuledRouter
from miner_service.http.access.problems import problem_responses
from miner_service.intake.intake import gone
from miner_service.store import people
from miner_service.store.jobs import fail_jobs_on
from miner_service.store.paging import page_of
from miner_service.store.releases import releases_of
from miner_service.store.schema import InvitationRow, OwnerRow
from shared.wire.base import Page
from shared.wire.people import Invitation, InvitationAccept, InvitationCreate, Owner, TokenIssued

router = RuledRouter(tags=["owners"])


@router.post("/studies/{study}/invitations", status_code=201, responses=problem_responses(409))
def create_invitation(
    study: StudyPath, body: InvitationCreate, services: ServicesDep
) -> Invitation:
    """Invite an owner; the secret is shown this once."""
    with services.database.write() as session:
        row, credential = people.invite(
            session,
            study=study,
            owner=body.owner,
            hours=body.valid_hours,
            now=services.now(),
        )
    return people.invitation_message(row, credential.text)


@router.get("/studies/{study}/invitations")
def list_invitations(
    study: StudyPath, services: ServicesDep, paging: PagingDep
) -> Page[Invitation]:
    """List invitations, without their secrets."""
    with services.database.read() as session:
        query = select(InvitationRow).where(InvitationRow.study == study)
        return page_of(session, query, InvitationRow.seq, paging, people.invitation_message)


@router.delete("/invitations/{invitation}", status_code=204, responses=problem_responses(409))
def revoke_invitation(invitation: str, services: ServicesDep) -> None:
    """Revoke an invitation that was not taken up; again is harmless."""
    with services.database.write() as session:
        row = people.find_invitation(session, invitation)
        people.revoke_invitation(row, services.now())


@router.post("/invitations/accept", status_code=201, responses=problem_responses(409))
def accept_invitation(
    body: InvitationAccept, services: ServicesDep, request: Request
) -> TokenIssued:
    """Take up an invitation: the owner joins and is given its token."""
    with services.database.write() as session:
        row, credential = people.accept_invitation(session, body.secret, services.now())
    # The audit log reads who it was that the secret made the sender.
    request.state.caller = Caller(row.id, row.role, row.study, row.name)
    return people.issued_message(row, credential)


@router.get("/studies/{study}/owners")
def list_owners(study: StudyPath, services: ServicesDep, paging: PagingDep) -> Page[Owner]:
    """List a study's owners."""
    with services.database.read() as session:
        query = select(OwnerRow).where(OwnerRow.study == study)
        return page_of(session, query, OwnerRow.seq, paging, people.owner_message)


@router.delete("/studies/{study}/owners/{owner}", status_code=204)
def remove_owner(study: StudyPath, owner: str, services: ServicesDep) -> None:
    """Take an owner out of a study: its tokens are revoked and its releases no longer used.

    Invitations that it has not taken up end, and unfinished jobs that were to use its releases
    fail. Again is harmless.
    """
    with services.database.write() as session:
        people.deactivate_owner(session, study, owner, services.now())
        for row in releases_of(session, study, owner):
            fail_jobs_on(session, row.id, gone(row, "taken out of use"), services.now())
