"""Routes of studies: tokens, invitations, owners, plan and privacy."""

from __future__ import annotations

from typing import Annotated

from fastapi import Header, Request, Response
from sqlalchemy import select

from miner_service.http.access.access import Caller
from miner_service.http.access.deps import CallerDep, PagingDep, ServicesDep, StudyPath
from miner_service.http.access.problems import found_before, say_made
from miner_service.http.access.routing import RuledRouter
from miner_service.intake.admission import check_linkage, require_one_secret
from miner_service.intake.agreement import agree, agreed_plan, require_followed, withdraw_agreement
from miner_service.intake.intake import checked_content
from miner_service.intake.next_steps import study_now
from miner_service.intake.study_privacy import forecast, losses_of_plan, study_privacy
from miner_service.intake.withdrawing import gone
from miner_service.store import owners, people, tokens
from miner_service.store.paging import page_of
from miner_service.store.people import OWNER, no_such, owner_message
from miner_service.store.queue import fail_jobs_on
from miner_service.store.releases import active_owners, note_linkage, releases_of
from miner_service.store.schema import InvitationRow, OwnerRow, StudyRow, TokenRow
from pramana_core.errors import Forbidden, LinkageDiffers, OptionError, StudyPlanNotFollowed
from pramana_core.wire.base import Page
from pramana_core.wire.privacy import (
    Invitation,
    InvitationAccept,
    InvitationCreate,
    Owner,
    PrivacyForecast,
    PrivacyQuestion,
    Study,
    StudyCreate,
    StudyPrivacy,
    TokenCreate,
    TokenInfo,
    TokenIssued,
)
from pramana_core.wire.release_kinds import KINDS, RANDOMIZED
from pramana_core.wire.releases import LinkageCheck, LinkageQuestion
from pramana_core.wire.services import IDEMPOTENCY_HEADER, LONGEST_KEY, SHORTEST_KEY
from pramana_core.wire.study_plans import StudyPlanMessage, StudyPlanView

router = RuledRouter(tags=["studies"])


@router.post("/studies", status_code=201, responses=found_before(Study))
def create_study(body: StudyCreate, services: ServicesDep, response: Response) -> Study:
    """Create a study."""
    with services.database.write() as session:
        row, new = people.create_study(session, body, services.now())
        study = study_now(session, row, services.now(), for_owner=False)
    say_made(response, new, f"/v1/studies/{row.name}")
    return study


@router.get("/studies")
def list_studies(services: ServicesDep, caller: CallerDep, paging: PagingDep) -> Page[Study]:
    """List the studies to which the caller belongs."""
    query, now, for_owner = select(StudyRow), services.now(), caller.role == OWNER
    if caller.role != people.ADMIN:
        query = query.where(StudyRow.name == caller.study)
    with services.database.read() as session:
        return page_of(
            session,
            query,
            StudyRow.seq,
            paging,
            lambda row: study_now(session, row, now, for_owner=for_owner),
        )


@router.get("/studies/{study}")
def read_study(study: StudyPath, services: ServicesDep, caller: CallerDep) -> Study:
    """Read a study, its next steps, and who takes them."""
    with services.database.read() as session:
        row = people.find_study(session, study)
        return study_now(session, row, services.now(), for_owner=caller.role == OWNER)


@router.post("/studies/{study}/linkage")
def compare_linkage(
    study: StudyPath, body: LinkageQuestion, services: ServicesDep, caller: CallerDep
) -> LinkageCheck:
    """Compare an owner's linkage fingerprint with those of the other owners.

    The fingerprint is stored, so that owners who join later see a difference before releasing.
    """
    with services.database.write() as session:
        note_linkage(session, study, caller.name, body.fingerprint)
        return check_linkage(session, study, caller.name, body.fingerprint)


_NO_STORE = {"Cache-Control": "no-store"}
"""Header of a response with a secret."""


@router.post("/studies/{study}/tokens", status_code=201)
def issue_token(
    study: StudyPath, body: TokenCreate, services: ServicesDep, response: Response
) -> TokenIssued:
    """Issue a token to an analyst or a gateway; only this response contains it."""
    response.headers.update(_NO_STORE)
    with services.database.write() as session:
        row, credential = tokens.issue_token(
            session,
            role=body.role,
            study=study,
            name=body.name,
            now=services.now(),
            days=body.valid_days or services.settings.tokens.valid_days,
        )
    return tokens.issued_message(row, credential)


@router.get("/studies/{study}/tokens")
def list_tokens(study: StudyPath, services: ServicesDep, paging: PagingDep) -> Page[TokenInfo]:
    """List a study's tokens, without their secrets."""
    with services.database.read() as session:
        query = select(TokenRow).where(TokenRow.study == study)
        return page_of(session, query, TokenRow.seq, paging, tokens.token_message)


@router.delete("/tokens/{token}", status_code=204)
def revoke_token(token: str, services: ServicesDep) -> None:
    """Revoke a token. Repeating the request changes nothing."""
    with services.database.write() as session:
        tokens.revoke_token(session, token)


owner_router = RuledRouter(tags=["owners"])


@owner_router.post("/studies/{study}/invitations", status_code=201)
def create_invitation(
    study: StudyPath, body: InvitationCreate, services: ServicesDep, response: Response
) -> Invitation:
    """Invite an owner; only this response contains the secret."""
    response.headers.update(_NO_STORE)
    with services.database.write() as session:
        row, credential = owners.invite(
            session,
            study=study,
            owner=body.owner,
            hours=body.valid_hours,
            days=body.valid_days,
            now=services.now(),
        )
    return owners.invitation_message(row, credential.text)


@owner_router.get("/studies/{study}/invitations")
def list_invitations(
    study: StudyPath, services: ServicesDep, paging: PagingDep
) -> Page[Invitation]:
    """List invitations, without their secrets."""
    with services.database.read() as session:
        query = select(InvitationRow).where(InvitationRow.study == study)
        return page_of(session, query, InvitationRow.seq, paging, owners.invitation_message)


@owner_router.delete("/invitations/{invitation}", status_code=204)
def revoke_invitation(invitation: str, services: ServicesDep) -> None:
    """Revoke a pending invitation. Repeating the request changes nothing."""
    with services.database.write() as session:
        row = owners.find_invitation(session, invitation)
        owners.revoke_invitation(row, services.now())


@owner_router.post("/invitations/accept", status_code=201)
def accept_invitation(
    body: InvitationAccept,
    services: ServicesDep,
    request: Request,
    response: Response,
    key: Annotated[
        str | None,
        Header(
            alias=IDEMPOTENCY_HEADER,
            pattern=f"^[!-~]{{{SHORTEST_KEY},{LONGEST_KEY}}}$",
            description="A repeated request with the same key gets the same response.",
        ),
    ] = None,
) -> TokenIssued:
    """Accept an invitation: the owner joins and receives its token."""
    response.headers.update(_NO_STORE)
    with services.database.write() as session:
        row, credential = owners.accept_invitation(
            session, body.secret, services.now(), days=services.settings.tokens.valid_days, key=key
        )
    # For the audit log.
    request.state.caller = Caller(row.id, row.role, row.study, row.name)
    return tokens.issued_message(row, credential)


@owner_router.get("/studies/{study}/owners")
def list_owners(study: StudyPath, services: ServicesDep, paging: PagingDep) -> Page[Owner]:
    """List a study's owners."""
    with services.database.read() as session:
        query = select(OwnerRow).where(OwnerRow.study == study)
        return page_of(session, query, OwnerRow.seq, paging, owner_message)


@owner_router.delete("/studies/{study}/owners/{owner}", status_code=204)
def remove_owner(study: StudyPath, owner: str, services: ServicesDep) -> None:
    """Remove an owner from a study: revoke its tokens and take its releases out of use.

    Its pending invitations end, and unfinished jobs on its releases fail. To remove single records,
    withdraw their reports instead. Repeating the request changes nothing.
    """
    with services.database.write() as session:
        owners.deactivate_owner(session, study, owner, services.now())
        for row in releases_of(session, study, owner):
            fail_jobs_on(session, row.id, gone(row, "taken out of use"), services.now())


plan_router = RuledRouter(tags=["study plans"])


@plan_router.put("/studies/{study}/plan", status_code=201, responses=found_before(StudyPlanView))
def put_study_plan(
    study: StudyPath, body: StudyPlanMessage, services: ServicesDep, response: Response
) -> StudyPlanView:
    """Set the study's plan. It can be replaced only while no release follows it."""
    plan, new = agree(services, study, body)
    say_made(response, new)
    return StudyPlanView.of(study, plan)


@plan_router.get("/studies/{study}/plan")
def read_study_plan(study: StudyPath, services: ServicesDep) -> StudyPlanView:
    """Read the study's plan and the loss of a record by it."""
    with services.database.read() as session:
        plan = agreed_plan(session, study)
    return StudyPlanView.of(study, plan)


@plan_router.delete("/studies/{study}/plan", status_code=204)
def delete_study_plan(study: StudyPath, services: ServicesDep) -> None:
    """Remove the plan while no release follows it. Repeating the request changes nothing."""
    withdraw_agreement(services, study)


privacy_router = RuledRouter(tags=["privacy"])


@privacy_router.get("/studies/{study}/privacy")
def read_privacy(study: StudyPath, services: ServicesDep, caller: CallerDep) -> StudyPrivacy:
    """Read the disclosure of all releases: per column, owner and record."""
    with services.database.read() as session:
        return study_privacy(services, session, study, shown_to_owner=caller.as_owner)


@privacy_router.post("/studies/{study}/privacy")
def forecast_privacy(
    study: StudyPath, body: PrivacyQuestion, services: ServicesDep, caller: CallerDep
) -> PrivacyForecast:
    """Forecast the disclosure by a planned release of an owner, without storing anything.

    An owner may ask only about its own releases; other callers name the owner.
    """
    with services.database.read() as session:
        owner = caller.name if caller.role == OWNER else body.owner
        if owner is None:
            raise OptionError(
                "The request does not name the owner of the planned release.",
                where="owner",
                remedy="Set `owner` to an owner of the study.",
            )
        if caller.role == OWNER and body.owner not in (None, caller.name):
            raise Forbidden(
                "An owner may forecast only its own releases.",
                where="owner",
                remedy="Omit `owner`.",
            )
        if owner not in active_owners(session, study):
            raise no_such("owner")
        kind = KINDS[RANDOMIZED]
        plan = checked_content(services.settings.limits, kind, body.plan)
        refused = None
        try:
            require_followed(session, study, owner, kind, plan)
            require_one_secret(session, study, owner, body.linkage)
        except (StudyPlanNotFollowed, LinkageDiffers) as error:
            refused = error
        disclosures = losses_of_plan(owner, plan, body.draws)
        return forecast(
            services, session, study, plan, disclosures, refused, shown_to_owner=caller.as_owner
        )
