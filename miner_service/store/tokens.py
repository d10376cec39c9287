"""Rows of bearer tokens: issued, used, rotated, revoked, expired.

A token that was rotated stays good until the new one is used for the first time, and a little
longer: so an answer that is lost locks nobody out, and requests on their way still arrive.

Also here:

* Owners on their way in and out of a study: invited, joined, removed.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy import bindparam, or_, select, update
from sqlalchemy.orm import Session

from miner_service.store.people import (
    ADMIN,
    MONITOR,
    OWNER,
    Credential,
    credential_id,
    derived_credential,
    matches,
    new_credential,
    no_such,
)
from miner_service.store.schema import InvitationRow, OwnerRow, ReportPlanRow, TokenRow
from pramana_core.errors import Conflict, NotFound
from pramana_core.wire.privacy import Invitation, TokenEnding, TokenInfo, TokenIssued

_SHOWN = 100


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
            "expires": row.expires,
            "last_used": row.last_used,
        }
    )


def issued_message(row: TokenRow, credential: Credential) -> TokenIssued:
    """Return a new token with its secret."""
    return TokenIssued.model_validate(
        {
            "id": row.id,
            "role": row.role,
            "study": row.study,
            "name": row.name,
            "token": credential.text,
            "expires": row.expires,
        }
    )


def issue_token(
    session: Session,
    *,
    role: str,
    study: str | None,
    name: str,
    now: datetime,
    days: int | None = None,
    replaces: str | None = None,
    credential: Credential | None = None,
) -> tuple[TokenRow, Credential]:
    """Store a new token's hash and return it with its secret.

    It is valid for `days`, or, if that is None, until it is revoked. Without a `credential` the
    secret is random.
    """
    credential = credential or new_credential("t")
    row = TokenRow(
        id=credential.id,
        hash=credential.hash,
        role=role,
        study=study,
        name=name,
        created=now,
        revoked=False,
        expires=None if days is None else now + timedelta(days=days),
        days=days,
        replaces=replaces,
    )
    session.add(row)
    session.flush()
    return row, credential


class KnownToken(NamedTuple):
    """What is asked of a token with every request."""

    id: str
    role: str
    study: str | None
    name: str
    expires: datetime | None
    last_used: datetime | None


_token = TokenRow.__table__.c
_KNOWN = select(*(_token[name] for name in KnownToken._fields), _token.hash).where(
    _token.id == bindparam("claimed"), _token.revoked.is_(False)
)


def find_token(session: Session, text: str) -> KnownToken | None:
    """Return a token that is right and not revoked; it may have expired."""
    row = session.execute(_KNOWN, {"claimed": credential_id(text)}).first()
    if row is None or not matches(text, row.hash):
        return None
    return KnownToken(*row[:-1])


def find_valid_token(session: Session, identifier: str) -> KnownToken | None:
    """Return a token by its id, if it is not revoked; it may have expired."""
    row = session.execute(_KNOWN, {"claimed": identifier}).first()
    return None if row is None else KnownToken(*row[:-1])


def note_use(session: Session, identifier: str, now: datetime, *, overlap: float) -> None:
    """Note that a token is used; at the first time, the one it replaces ends in `overlap` s."""
    row = session.scalar(select(TokenRow).where(TokenRow.id == identifier))
    if row is None or row.revoked:  # in the moment before
        return
    if row.last_used is None and row.replaces is not None:
        end = now + timedelta(seconds=overlap)
        later = or_(TokenRow.expires.is_(None), TokenRow.expires > end)
        session.execute(
            update(TokenRow).where(TokenRow.id == row.replaces, later).values(expires=end)
        )
    row.last_used = now


def rotate_token(
    session: Session, identifier: str, now: datetime, *, days: int
) -> tuple[TokenRow, Credential]:
    """Issue the token that takes the place of one, good for as long as that one was.

    `days` is for a token of which that is not known. Tokens that it was rotated into before and
    that nobody used end.

    Raises:
        NotFound: there is no such token.
        Conflict: the token that replaces it is in use.
    """
    row = _find(session, identifier)
    after = TokenRow.replaces == identifier
    if session.scalar(select(TokenRow.id).where(after, TokenRow.last_used.is_not(None))):
        raise Conflict(
            "The token was rotated before, and the new one is in use.",
            where="token",
            remedy="Rotate the new one. If you do not have it, ask whoever runs the study to revoke"
            " it.",
        )
    session.execute(update(TokenRow).where(after).values(revoked=True))
    return issue_token(
        session,
        role=row.role,
        study=row.study,
        name=row.name,
        now=now,
        days=row.days or days,
        replaces=row.id,
    )


def admin_token_exists(session: Session) -> bool:
    """Whether an admin token was issued and not revoked."""
    query = select(TokenRow.id).where(TokenRow.role == ADMIN, TokenRow.revoked.is_(False))
    return session.scalar(query.limit(1)) is not None


def rotate_admin_token(session: Session, now: datetime, *, days: int | None = None) -> Credential:
    """Revoke the admin tokens there are and issue a new one, as `issue_token` does."""
    session.execute(update(TokenRow).where(TokenRow.role == ADMIN).values(revoked=True))
    return issue_token(session, role=ADMIN, study=None, name=ADMIN, now=now, days=days)[1]


def renew_monitor_token(session: Session, name: str, now: datetime, *, days: int) -> Credential:
    """Revoke the monitor's tokens of a name and issue a new one."""
    query = update(TokenRow).where(TokenRow.role == MONITOR, TokenRow.name == name)
    session.execute(query.values(revoked=True))
    return issue_token(session, role=MONITOR, study=None, name=name, now=now, days=days)[1]


def revoke_token(session: Session, identifier: str) -> None:
    """Revoke a token, and those it was rotated into that nobody used; again is harmless.

    Raises:
        NotFound: there is no such token.
        Conflict: it is the admin's.
    """
    row = _find(session, identifier)
    if row.role == ADMIN:
        raise Conflict(
            "The admin token cannot be revoked through itself.",
            where="token",
            remedy="Issue a new one with `miner-service admin-token --rotate`.",
        )
    row.revoked = True
    session.execute(
        update(TokenRow)
        .where(TokenRow.replaces == identifier, TokenRow.last_used.is_(None))
        .values(revoked=True)
    )


def tokens_ending(
    session: Session, now: datetime, *, days: int, study: str | None, owner: str | None
) -> list[TokenEnding]:
    """Return the tokens that end within some days and have no successor, the first to end first.

    Of all studies (`study` None) with those of no study, or of one; of one, those of an owner.
    """
    replaced = select(TokenRow.replaces).where(
        TokenRow.replaces.is_not(None), TokenRow.last_used.is_not(None)
    )
    query = select(TokenRow).where(
        TokenRow.revoked.is_(False),
        TokenRow.expires > now,
        TokenRow.expires <= now + timedelta(days=days),
        TokenRow.id.not_in(replaced),
    )
    if study is not None:
        query = query.where(TokenRow.study == study)
    if owner is not None:
        query = query.where(TokenRow.role == OWNER, TokenRow.name == owner)
    return [
        TokenEnding.model_validate(
            {"study": row.study, "role": row.role, "name": row.name, "expires": row.expires}
        )
        for row in session.scalars(query.order_by(TokenRow.expires, TokenRow.seq).limit(_SHOWN))
    ]


def _find(session: Session, identifier: str) -> TokenRow:
    row = session.scalar(select(TokenRow).where(TokenRow.id == identifier))
    if row is None:
        raise no_such("token")
    return row


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


def invite(
    session: Session, *, study: str, owner: str, hours: int, days: int | None, now: datetime
) -> tuple[InvitationRow, Credential]:
    """Invite an owner into a study; its token will be good for `days`.

    Raises:
        Conflict: it is an active owner already, or the name of holders of single records.
    """
    _require_absent(session, study, owner)
    credential = new_credential("i")
    row = InvitationRow(
        id=credential.id,
        hash=credential.hash,
        study=study,
        owner=owner,
        created=now,
        expires=now + timedelta(hours=hours),
        days=days,
        accepted=None,
    )
    session.add(row)
    session.flush()
    return row, credential


def accept_invitation(
    session: Session, secret: str, now: datetime, *, days: int, key: str | None = None
) -> tuple[TokenRow, Credential]:
    """Make the invited an owner of the study and issue its token.

    It is valid for the days in the invitation, or for `days`. The token follows from the secret and
    the request's `key`: repeated under the same key the same token is returned.

    Raises:
        NotFound: unknown or expired; the answer does not say which.
        Conflict: accepted before, or the owner joined by another invitation.
    """
    query = select(InvitationRow).where(InvitationRow.id == credential_id(secret))
    row = session.scalar(query)
    if row is None or not matches(secret, row.hash) or row.expires <= now:
        raise NotFound(
            "The invitation is unknown or has expired.",
            where="secret",
            remedy="Ask the analyst for a new one.",
        )
    credential = None if key is None else derived_credential("t", secret, key)
    if row.accepted is not None:
        known = None if credential is None else find_token(session, credential.text)
        if credential is not None and known is not None:
            return _find(session, known.id), credential
        raise Conflict(
            "The invitation was accepted before.",
            where="secret",
            remedy="Use the token given then. If it was lost, or somebody else accepted it, ask the"
            " analyst to remove the owner and to invite again.",
        )
    _require_absent(session, row.study, row.owner)
    row.accepted = now
    _end_invitations(session, row.study, row.owner, now)
    join(session, row.study, row.owner, now)
    return issue_token(
        session,
        role=OWNER,
        study=row.study,
        name=row.owner,
        now=now,
        days=row.days or days,
        credential=credential,
    )


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
    """Take an owner out of a study; again is harmless.

    Its tokens are revoked and invitations that it has not taken up end: it can come back only
    by one issued later.

    Raises:
        NotFound: there was no such owner.
        Conflict: it stands for holders of single records, whose reports are not withdrawn.
    """
    row = _owner(session, study, owner)
    if row is None:
        raise no_such("owner")
    reports = _reports_of(session, study, owner)
    if reports is not None and reports.state != "withdrawn":
        raise Conflict(
            f"{owner} stands for the holders of single records of study {study}, whose reports are"
            f" {reports.state}.",
            where="owner",
            remedy=f"Withdraw the reports (DELETE /v1/studies/{study}/reports).",
        )
    row.active = False
    session.execute(
        update(TokenRow)
        .where(TokenRow.study == study, TokenRow.role == OWNER, TokenRow.name == owner)
        .values(revoked=True)
    )
    _end_invitations(session, study, owner, now)


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


def _reports_of(session: Session, study: str, owner: str) -> ReportPlanRow | None:
    """Return the plan of single records that was published under an owner's name, if one was."""
    row = session.get(ReportPlanRow, study)
    return row if row is not None and row.owner == owner else None


def _require_absent(session: Session, study: str, owner: str) -> None:
    if _reports_of(session, study, owner) is not None:
        raise Conflict(
            f"{owner} is the name of the holders of single records of study {study}.",
            where="owner",
            remedy="Choose another name for the owner.",
        )
    row = _owner(session, study, owner)
    if row is not None and row.active:
        raise Conflict(
            f"{owner} is already an owner of study {study}.",
            where="owner",
            remedy="Remove the owner first if its token was lost.",
        )


def join(session: Session, study: str, owner: str, now: datetime) -> None:
    """Make somebody an owner of a study, or one again."""
    row = _owner(session, study, owner)
    if row is None:
        session.add(OwnerRow(study=study, name=owner, joined=now, active=True))
    else:
        row.active = True
