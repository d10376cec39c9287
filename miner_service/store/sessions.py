"""Browser sessions. A random cookie represents a token and becomes invalid with that token."""

from __future__ import annotations

import hashlib
import secrets
from datetime import datetime, timedelta

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from miner_service.store.schema import SessionRow
from miner_service.store.tokens import KnownToken, find_valid_token

HOURS = 8
"""The maximum length of a session, in hours."""

IDLE = timedelta(minutes=30)
"""A session ends after this time without a request."""

_NOTED = timedelta(minutes=1)
"""Minimum time between two updates of a session's last use."""

_SESSIONS_OF_A_TOKEN = 20


def begin_session(session: Session, token: str, now: datetime) -> str:
    """Begin a session for the token with this id; return the session's cookie."""
    cookie, of_token = secrets.token_urlsafe(32), SessionRow.token == token
    session.execute(delete(SessionRow).where(SessionRow.seen <= now - IDLE))
    newest = select(SessionRow.key).where(of_token).order_by(SessionRow.seen.desc())
    older = session.scalars(newest.offset(_SESSIONS_OF_A_TOKEN - 1)).all()
    session.execute(delete(SessionRow).where(SessionRow.key.in_(older)))
    session.add(SessionRow(key=_key(cookie), token=token, began=now, seen=now))
    return cookie


def end_session(session: Session, cookie: str) -> None:
    """End a session. Repeating the call changes nothing."""
    session.execute(delete(SessionRow).where(SessionRow.key == _key(cookie)))


def token_of_session(session: Session, cookie: str, now: datetime) -> KnownToken | None:
    """Return the token of a live session, or None; the token may have expired."""
    row = session.get(SessionRow, _key(cookie))
    if row is None or now >= min(row.seen + IDLE, row.began + timedelta(hours=HOURS)):
        return None
    return find_valid_token(session, row.token)


def note_session(session: Session, cookie: str, now: datetime) -> None:
    """Store the time of a session's use."""
    session.execute(update(SessionRow).where(SessionRow.key == _key(cookie)).values(seen=now))


def must_be_noted(session: Session, cookie: str, now: datetime) -> bool:
    """Return whether the stored time of a session's last use is old enough to be updated."""
    row = session.get(SessionRow, _key(cookie))
    return row is not None and now - row.seen > _NOTED


def _key(cookie: str) -> str:
    return hashlib.sha256(cookie.encode("utf-8", "surrogatepass")).hexdigest()
