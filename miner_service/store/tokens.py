"""Rows of bearer tokens: issuing, using and revoking them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy import bindparam, select, update
from sqlalchemy.orm import Session

from miner_service.store.credentials import Credential, credential_id, matches, new_credential
from miner_service.store.people import ADMIN, MONITOR, OWNER, no_such
from miner_service.store.schema import TokenRow
from pramana_core.errors import Conflict
from pramana_core.wire.privacy import TokenEnding, TokenInfo, TokenIssued

_SHOWN = 100


def token_message(row: TokenRow) -> TokenInfo:
    """Return a token as an API message, without its secret."""
    return TokenInfo.model_validate(row, from_attributes=True)


def issued_message(row: TokenRow, credential: Credential) -> TokenIssued:
    """Return a new token as API message, with its secret."""
    named = {name: getattr(row, name) for name in ("id", "role", "study", "name", "expires")}
    return TokenIssued.model_validate({**named, "token": credential.text})


def issue_token(
    session: Session,
    *,
    role: str,
    study: str | None,
    name: str,
    now: datetime,
    days: int | None = None,
    credential: Credential | None = None,
) -> tuple[TokenRow, Credential]:
    """Store a new token's hash; return its row and credential. `days` None means no expiry."""
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
    )
    session.add(row)
    session.flush()
    return row, credential


class KnownToken(NamedTuple):
    """The fields of a token that every request checks."""

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
    """Return the token in a text, or None if it is unknown or revoked. It may have expired."""
    row = session.execute(_KNOWN, {"claimed": credential_id(text)}).first()
    if row is None or not matches(text, row.hash):
        return None
    return KnownToken(*row[:-1])


def find_valid_token(session: Session, identifier: str) -> KnownToken | None:
    """Return the token with an id, or None if it is unknown or revoked. It may have expired."""
    row = session.execute(_KNOWN, {"claimed": identifier}).first()
    return None if row is None else KnownToken(*row[:-1])


def note_use(session: Session, identifier: str, now: datetime) -> None:
    """Store the time of a token's use."""
    used = update(TokenRow).where(TokenRow.id == identifier)
    session.execute(used.values(last_used=now))


def admin_token_exists(session: Session) -> bool:
    """Return whether an admin token exists that is not revoked."""
    query = select(TokenRow.id).where(TokenRow.role == ADMIN, TokenRow.revoked.is_(False))
    return session.scalar(query.limit(1)) is not None


def rotate_admin_token(session: Session, now: datetime, *, days: int | None = None) -> Credential:
    """Revoke all admin tokens and issue a new one, as `issue_token` does."""
    session.execute(update(TokenRow).where(TokenRow.role == ADMIN).values(revoked=True))
    return issue_token(session, role=ADMIN, study=None, name=ADMIN, now=now, days=days)[1]


def renew_monitor_token(session: Session, name: str, now: datetime, *, days: int) -> Credential:
    """Revoke the monitor tokens with a name and issue a new one."""
    revoke_tokens(session, MONITOR, None, name)
    return issue_token(session, role=MONITOR, study=None, name=name, now=now, days=days)[1]


def revoke_tokens(session: Session, role: str, study: str | None, name: str) -> int:
    """Revoke a holder's tokens. Return how many were not revoked before."""
    query = update(TokenRow).where(
        TokenRow.role == role,
        TokenRow.study == study,
        TokenRow.name == name,
        TokenRow.revoked.is_(False),
    )
    return len(session.scalars(query.values(revoked=True).returning(TokenRow.id)).all())


def holders_of(session: Session, role: str, study: str) -> Sequence[str]:
    """Return the names with a role in a study whose tokens are not revoked."""
    query = select(TokenRow.name).where(
        TokenRow.role == role, TokenRow.study == study, TokenRow.revoked.is_(False)
    )
    return session.scalars(query.distinct()).all()


def revoke_token(session: Session, identifier: str) -> None:
    """Revoke a token; repeating this is harmless. Raises NotFound; Conflict for an admin token."""
    row = token_row(session, identifier)
    if row.role == ADMIN:
        raise Conflict(
            "The admin token cannot revoke itself.",
            where="token",
            remedy="Issue a new one with `miner-service admin-token --rotate`.",
        )
    row.revoked = True


def tokens_ending(
    session: Session, now: datetime, *, days: int, study: str | None, owner: str | None
) -> list[TokenEnding]:
    """Return tokens that expire within `days`: of all studies, one study, or one of its owners."""
    query = select(TokenRow).where(
        TokenRow.revoked.is_(False),
        TokenRow.expires > now,
        TokenRow.expires <= now + timedelta(days=days),
    )
    if study is not None:
        query = query.where(TokenRow.study == study)
    if owner is not None:
        query = query.where(TokenRow.role == OWNER, TokenRow.name == owner)
    rows = session.scalars(query.order_by(TokenRow.expires, TokenRow.seq).limit(_SHOWN))
    return [TokenEnding.model_validate(row, from_attributes=True) for row in rows]


def token_row(session: Session, identifier: str) -> TokenRow:
    """Return the token with this id. Raises NotFound."""
    row = session.scalar(select(TokenRow).where(TokenRow.id == identifier))
    if row is None:
        raise no_such("token")
    return row
