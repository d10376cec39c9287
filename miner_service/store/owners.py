"""The owners of a study: inviting, joining and removing them."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from miner_service.store.credentials import (
    Credential,
    credential_id,
    derived_credential,
    matches,
    new_credential,
)
from miner_service.store.people import OWNER, no_such
from miner_service.store.schema import InvitationRow, OwnerRow, ReportPlanRow, TokenRow
from miner_service.store.tokens import find_token, issue_token, revoke_tokens, token_row
from pramana_core.errors import Conflict, NotFound
from pramana_core.wire.privacy import Invitation


def invitation_message(row: InvitationRow, secret: str | None = None) -> Invitation:
    """Return an invitation as API message; `secret` is given only for a new one."""
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
    """Invite an owner into a study; the owner's token will be valid for `days`. Raises Conflict."""
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
    """Make the invited owner a member of the study, and issue a token, valid for `days` by default.

    The token is derived from the secret and the request's `key`, so a repeated request returns the
    same token. Raises NotFound, Conflict.
    """
    query = select(InvitationRow).where(InvitationRow.id == credential_id(secret))
    row = session.scalar(query)
    if row is None or not matches(secret, row.hash) or row.expires <= now:
        raise NotFound(
            "The invitation is unknown or has expired.",
            where="secret",
            remedy="Ask the operator of the miner for a new invitation.",
        )
    credential = None if key is None else derived_credential("t", secret, key)
    if row.accepted is not None:
        known = None if credential is None else find_token(session, credential.text)
        if credential is not None and known is not None:
            return token_row(session, known.id), credential
        raise Conflict(
            "The invitation was already accepted.",
            where="secret",
            remedy="Use the token issued then. If the token was lost, or somebody else accepted the"
            " invitation, ask the operator to remove the owner and to invite again.",
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
    """Return the invitation with this id. Raises NotFound."""
    row = session.scalar(select(InvitationRow).where(InvitationRow.id == identifier))
    if row is None:
        raise no_such("invitation")
    return row


def revoke_invitation(row: InvitationRow, now: datetime) -> None:
    """End a pending invitation; repeating this is harmless. Raises Conflict if it was accepted."""
    if row.accepted is not None:
        raise Conflict(
            "The invitation was already accepted.",
            where="invitation",
            remedy="If the wrong person accepted it, remove the owner.",
        )
    _end(row, now)


def deactivate_owner(session: Session, study: str, owner: str, now: datetime) -> None:
    """Remove an owner, joined or only invited, from a study. Raises NotFound, Conflict."""
    row, invited = _owner(session, study, owner), _end_invitations(session, study, owner, now)
    if row is None:
        if not invited:
            raise no_such("owner")
        return
    reports = _reports_of(session, study, owner)
    if reports is not None and reports.state != "withdrawn":
        raise Conflict(
            f"{owner} names the single-record reports of {study}, which are {reports.state}.",
            where="owner",
            remedy=f"Withdraw the reports (DELETE /v1/studies/{study}/reports).",
        )
    row.active = False
    revoke_tokens(session, OWNER, study, owner)


def _end_invitations(session: Session, study: str, owner: str, now: datetime) -> bool:
    """End an owner's open invitations. Return whether there were any, ended now or before."""
    query = select(InvitationRow).where(
        InvitationRow.study == study,
        InvitationRow.owner == owner,
        InvitationRow.accepted.is_(None),
    )
    rows = session.scalars(query).all()
    for row in rows:
        _end(row, now)
    return bool(rows)


def _end(row: InvitationRow, now: datetime) -> None:
    """Make an invitation expire, and erase its secret so that no change of the clock revives it."""
    row.expires = min(row.expires, now)
    row.hash = ""


def _owner(session: Session, study: str, name: str) -> OwnerRow | None:
    return session.scalar(select(OwnerRow).where(OwnerRow.study == study, OwnerRow.name == name))


def _reports_of(session: Session, study: str, owner: str) -> ReportPlanRow | None:
    row = session.get(ReportPlanRow, study)
    return row if row is not None and row.owner == owner else None


def _require_absent(session: Session, study: str, owner: str) -> None:
    if _reports_of(session, study, owner) is not None:
        raise Conflict(
            f"{owner} is already the name for the single-record reports of study {study}.",
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
    """Add an owner to a study, or restore an owner who was removed."""
    row = _owner(session, study, owner)
    if row is None:
        session.add(OwnerRow(study=study, name=owner, joined=now, active=True))
    else:
        row.active = True
