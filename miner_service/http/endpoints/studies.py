"""Studies and the tokens of their analysts and gateways."""

from __future__ import annotations

from fastapi import Response
from sqlalchemy import select
from sqlalchemy.orm import Session

from miner_service.http.access.access import RuledRouter
from miner_service.http.access.deps import CallerDep, PagingDep, ServicesDep, StudyPath
from miner_service.http.access.keyed import KeyedDep
from miner_service.http.access.problems import problem_responses
from miner_service.intake.linkage import check_linkage
from miner_service.store import people, tokens
from miner_service.store.database import page_of
from miner_service.store.schema import StudyRow, TokenRow
from pramana_core.wire.base import Page
from pramana_core.wire.privacy import Study, StudyCreate, TokenCreate, TokenInfo, TokenIssued
from pramana_core.wire.releases.linkage import LinkageCheck, LinkageQuestion

router = RuledRouter(tags=["studies"])


@router.post(
    "/studies",
    status_code=201,
    responses={200: {"model": Study, "description": "It was there."}, **problem_responses(409)},
)
def create_study(body: StudyCreate, services: ServicesDep, response: Response) -> Study:
    """Create a study."""
    with services.database.write() as session:
        row, new = people.create_study(session, body, services.now())
    response.status_code = 201 if new else 200
    response.headers["Location"] = f"/v1/studies/{row.name}"
    return people.study_message(row)


@router.get("/studies")
def list_studies(services: ServicesDep, caller: CallerDep, paging: PagingDep) -> Page[Study]:
    """List the studies that the caller takes part in."""
    query = select(StudyRow)
    if caller.role != people.ADMIN:
        query = query.where(StudyRow.name == caller.study)
    with services.database.read() as session:
        return page_of(session, query, StudyRow.seq, paging, people.study_message)


@router.get("/studies/{study}")
def read_study(study: StudyPath, services: ServicesDep) -> Study:
    """Read a study."""
    with services.database.read() as session:
        return people.study_message(people.find_study(session, study))


@router.post("/studies/{study}/linkage")
def compare_linkage(
    study: StudyPath, body: LinkageQuestion, services: ServicesDep, caller: CallerDep
) -> LinkageCheck:
    """Compare an owner's linkage secret, by its fingerprint, with those of the other owners.

    Nothing is stored; that it was asked is in the audit log.
    """
    with services.database.read() as session:
        return check_linkage(session, study, caller.name, body.fingerprint)


@router.post(
    "/studies/{study}/tokens",
    status_code=201,
    response_model=TokenIssued,
    responses=problem_responses(409),
)
def issue_token(
    study: StudyPath, body: TokenCreate, services: ServicesDep, keyed: KeyedDep
) -> Response:
    """Issue a token for an analyst or a gateway; it is shown this once."""

    def issue(session: Session) -> TokenIssued:
        row, credential = tokens.issue_token(
            session,
            role=body.role,
            study=study,
            name=body.name,
            now=services.now(),
            days=body.valid_days or services.settings.tokens.valid_days,
        )
        return tokens.issued_message(row, credential)

    return keyed.answer(services, body, issue)


@router.get("/studies/{study}/tokens")
def list_tokens(study: StudyPath, services: ServicesDep, paging: PagingDep) -> Page[TokenInfo]:
    """List a study's tokens, without what they are."""
    with services.database.read() as session:
        query = select(TokenRow).where(TokenRow.study == study)
        return page_of(session, query, TokenRow.seq, paging, tokens.token_message)


@router.post(
    "/tokens/rotate",
    status_code=201,
    response_model=TokenIssued,
    responses=problem_responses(409),
)
def rotate_token(services: ServicesDep, caller: CallerDep, keyed: KeyedDep) -> Response:
    """Issue the token that takes the place of the one this request is sent with.

    The old one stays good until the new one is used for the first time, and a few minutes longer.
    Rotating again before that ends the new one unused: so it can be done again where the answer
    was lost.
    """

    def rotate(session: Session) -> TokenIssued:
        row, credential = tokens.rotate_token(
            session, caller.token, services.now(), days=services.settings.tokens.valid_days
        )
        return tokens.issued_message(row, credential)

    return keyed.answer(services, None, rotate)


@router.delete("/tokens/{token}", status_code=204, responses=problem_responses(409))
def revoke_token(token: str, services: ServicesDep) -> None:
    """Revoke a token; again is harmless."""
    with services.database.write() as session:
        tokens.revoke_token(session, token)
