"""Rows of studies and of who takes part in them: tokens, invitations, owners."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from miner_service.store.schema import InvitationRow, OwnerRow, StudyRow, TokenRow
from miner_service.store.tokens import Credential, credential_id, matches, new_credential
from shared.errors import Conflict, NotFound
from shared.wire.people import Invitation, Owner, Study, StudyCreate, TokenInfo, TokenIssued

ADMIN = "admin"
ANALYST = "analyst"
OWNER = "owner"
MONITOR = "monitor"
"""The roles of tokens; a monitor may read how the service fares, and nothing of any study."""


def study_message(row: StudyRow) -> Study:
    """Return a study as the outside sees it."""
    return Study(
        name=row.name,
        title=row.title,
        max_epsilon_record=row.max_epsilon_record,
        max_epsilon_column=row.max_epsilon_column,
        created=row.created,
    )


def token_message(row: TokenRow) -> TokenInfo:
    """Return what is known of a token."""
    return TokenInfo.model_validate(
        {
            "id": row.id,
            "role": row.role,
            "study": row.study,
            "name": row.name,
            "created": row.created,
            "revoked": row.revoked,
        }
    )


def invitation_message(row: InvitationRow, secret: str | None = None) -> Invitation:
    """Return an invitation; with its secret only when it is new."""
    return Invitation(
        id=row.id,
        study=row.study,
        owner=row.owner,
        expires=row.expires,
        accepted=row.accepted is not None,
        secret=secret,
    )


def owner_message(row: OwnerRow) -> Owner:
    """Return an owner as the outside sees it."""
    return Owner(name=row.name, joined=row.joined, active=row.active)


def issued_message(row: TokenRow, credential: Credential) -> TokenIssued:
    """Return a new token with its secret."""
    return TokenIssued.model_validate(
        {
            "id": row.id,
            "role": row.role,
            "study": row.study,
            "name": row.name,
            "token": credential.text,
        }
    )


def find_study(session: Session, name: str) -> StudyRow:
    """Return a study. Raises NotFound."""
    row = session.scalar(select(StudyRow).where(StudyRow.name == name))
    if row is None:
        raise no_such("study")
    return row


def no_such(what: str) -> NotFound:
    """Return the one error for what is absent and for what the caller may not see."""
    return NotFound(
        f"There is no such {what}, or none that this token may see.",
        where=what,
        remedy="Look at the address and at which study the token is for.",
    )


def create_study(session: Session, body: StudyCreate, now: datetime) -> tuple[StudyRow, bool]:
    """Create a study, or find the same one made before; say which. Raises Conflict."""
    row = session.scalar(select(StudyRow).where(StudyRow.name == body.name))
    if row is None:
        row = StudyRow(**body.model_dump(), created=now)
        session.add(row)
        session.flush()
        return row, True
    made = study_message(row).model_dump(exclude={"created"})
    if made != body.model_dump():
        raise Conflict(
            f"A study {body.name} exists with another title or budget.",
            where="name",
            remedy="Choose another name, or send the title and the budget it was made with.",
        )
    return row, False


def change_budget(session: Session, wanted: StudyCreate) -> None:
    """Give a study the budget of a message. Raises NotFound."""
    row = find_study(session, wanted.name)
    row.max_epsilon_record = wanted.max_epsilon_record
    row.max_epsilon_column = wanted.max_epsilon_column


def issue_token(
    session: Session, *, role: str, study: str | None, name: str, now: datetime
) -> tuple[TokenRow, Credential]:
    """Store a new token's hash and return it with its secret."""
    credential = new_credential("t")
    row = TokenRow(
        id=credential.id,
        hash=credential.hash,
        role=role,
        study=study,
        name=name,
        created=now,
        revoked=False,
    )
    session.add(row)
    session.flush()
    return row, credential


def find_token(session: Session, text: str) -> TokenRow | None:
    """Return the row of a token that is right and not revoked."""
    row = session.scalar(select(TokenRow).where(TokenRow.id == credential_id(text)))
    if row is None or not matches(text, row.hash) or row.revoked:
        return None
    return row


def admin_token_exists(session: Session) -> bool:
    """Whether an admin token was issued and not revoked."""
    query = select(TokenRow.id).where(TokenRow.role == ADMIN, TokenRow.revoked.is_(False))
    return session.scalar(query) is not None


def rotate_admin_token(session: Session, now: datetime) -> Credential:
    """Revoke the admin tokens there are and issue a new one."""
    session.execute(update(TokenRow).where(TokenRow.role == ADMIN).values(revoked=True))
    return issue_token(session, role=ADMIN, study=None, name=ADMIN, now=now)[1]


def revoke_token(session: Session, identifier: str) -> None:
    """Revoke a token of a study; again is harmless. Raises NotFound, Conflict."""
    row = session.scalar(select(TokenRow).where(TokenRow.id == identifier))
    if row is None:
        raise no_such("token")
    if row.role == ADMIN:
        raise Conflict(
            "The admin token cannot be revoked through itself.",
            where="token",
            remedy="Issue a new one with `miner-service admin-token --rotate`.",
        )
    row.revoked = True


def invite(
    session: Session, *, study: str, owner: str, hours: int, now: datetime
) -> tuple[InvitationRow, Credential]:
    """Invite an owner into a study. Raises Conflict if it is an active owner already."""
    _require_absent(session, study, owner)
    credential = new_credential("i")
    row = InvitationRow(
        id=credential.id,
        hash=credential.hash,
        study=study,
        owner=owner,
        created=now,
        expires=now + timedelta(hours=hours),
        accepted=None,
    )
    session.add(row)
    session.flush()
    return row, credential


def accept_invitation(session: Session, secret: str, now: datetime) -> tuple[TokenRow, Credential]:
    """Make the invited an owner of the study and issue its token.

    Raises:
        NotFound: unknown or expired; the answer does not say which.
        Conflict: taken up before, or the owner joined by another invitation.
    """
    query = select(InvitationRow).where(InvitationRow.id == credential_id(secret))
    row = session.scalar(query)
    if row is None or not matches(secret, row.hash) or row.expires <= now:
        raise NotFound(
            "The invitation is unknown or has expired.",
            where="secret",
            remedy="Ask the analyst for a new one.",
        )
    if row.accepted is not None:
        raise Conflict(
            "The invitation was taken up before.",
            where="secret",
            remedy="Use the token given then. If it was lost, or it was not you who took it up,"
            " ask the analyst to remove the owner and to invite again.",
        )
    _require_absent(session, row.study, row.owner)
    row.accepted = now
    _end_invitations(session, row.study, row.owner, now)
    _join(session, row.study, row.owner, now)
    return issue_token(session, role=OWNER, study=row.study, name=row.owner, now=now)


def find_invitation(session: Session, identifier: str) -> InvitationRow:
    """Return an invitation. Raises NotFound."""
    row = session.scalar(select(InvitationRow).where(InvitationRow.id == identifier))
    if row is None:
        raise no_such("invitation")
    return row


def revoke_invitation(row: InvitationRow, now: datetime) -> None:
    """End an invitation that was not taken up; again is harmless. Raises Conflict."""
    if row.accepted is not None:
        raise Conflict(
            "The invitation was taken up before.",
            where="invitation",
            remedy="Remove the owner if it was not the invited who took it up.",
        )
    _end(row, now)


def deactivate_owner(session: Session, study: str, owner: str, now: datetime) -> None:
    """Take an owner out of a study; again is harmless. Raises NotFound.

    Its tokens are revoked and invitations that it has not taken up end: it can come back only
    by one issued later.
    """
    row = _owner(session, study, owner)
    if row is None:
        raise no_such("owner")
    row.active = False
    session.execute(
        update(TokenRow)
        .where(TokenRow.study == study, TokenRow.role == OWNER, TokenRow.name == owner)
        .values(revoked=True)
    )
    _end_invitations(session, study, owner, now)


def awaited_owners(session: Session, study: str, now: datetime) -> set[str]:
    """Return the names of a study's active owners and of those whose invitation still holds."""
    joined = select(OwnerRow.name).where(OwnerRow.study == study, OwnerRow.active.is_(True))
    invited = select(InvitationRow.owner).where(
        InvitationRow.study == study,
        InvitationRow.accepted.is_(None),
        InvitationRow.expires > now,
    )
    return {*session.scalars(joined), *session.scalars(invited)}


def _end_invitations(session: Session, study: str, owner: str, now: datetime) -> None:
    """End an owner's invitations that were not taken up."""
    query = select(InvitationRow).where(
        InvitationRow.study == study,
        InvitationRow.owner == owner,
        InvitationRow.accepted.is_(None),
    )
    for row in session.scalars(query):
        _end(row, now)


def _end(row: InvitationRow, now: datetime) -> None:
    """Let an invitation expire, and forget its secret: no clock set back makes it good again."""
    row.expires = min(row.expires, now)
    row.hash = ""


def _owner(session: Session, study: str, name: str) -> OwnerRow | None:
    return session.scalar(select(OwnerRow).where(OwnerRow.study == study, OwnerRow.name == name))


def _require_absent(session: Session, study: str, owner: str) -> None:
    row = _owner(session, study, owner)
    if row is not None and row.active:
        raise Conflict(
            f"{owner} is already an owner of study {study}.",
            where="owner",
            remedy="Remove the owner first if its token was lost.",
        )


def _join(session: Session, study: str, owner: str, now: datetime) -> None:
    row = _owner(session, study, owner)
    if row is None:
        session.add(OwnerRow(study=study, name=owner, joined=now, active=True))
    else:
        row.active = True
