"""Answers kept for requests that may come again, told apart by the key that each carried.

An answer may hold a secret, so it is sealed under a key derived from what only the sender has: the
token (or the secret of an invitation) and the key of the request. What is stored tells nothing.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import datetime, timedelta

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from miner_service.store.schema import AnswerRow
from pramana_core.errors import Conflict

KEPT = timedelta(hours=24)
"""For so long the same request is answered in the same way."""

_NONCE = 12


@dataclass(frozen=True)
class Answer:
    """The status and the body of an answer."""

    status: int
    body: bytes


@dataclass(frozen=True)
class Sender:
    """Who sent a request and under which key: `secret` is what only the sender has."""

    secret: str
    key: str

    def derived(self, purpose: str) -> bytes:
        """Return 32 bytes for a purpose, from which neither the secret nor the key can be told."""
        secret, key = (text.encode("utf-8", "surrogatepass") for text in (self.secret, self.key))
        material = len(secret).to_bytes(8, "big") + secret + key
        info = f"pramana answer: {purpose}".encode()
        return HKDF(hashes.SHA256(), length=32, salt=None, info=info).derive(material)

    @property
    def row(self) -> str:
        """By what the answer is found."""
        return self.derived("name").hex()


def known_answer(session: Session, sender: Sender, request: str, now: datetime) -> Answer | None:
    """Return what was answered to a request; None if it is new.

    Args:
        session: of the transaction that would otherwise do what is asked.
        sender: who asks, and under which key.
        request: the SHA-256 of what is asked.
        now: the time; what has expired by then is removed.

    Raises:
        Conflict: the key was used for another request.
    """
    session.execute(delete(AnswerRow).where(AnswerRow.expires <= now))
    row = session.scalar(select(AnswerRow).where(AnswerRow.key == sender.row))
    if row is None:
        return None
    if row.request != request:
        raise Conflict(
            "This Idempotency-Key was sent before with another request; nothing was done.",
            where="Idempotency-Key",
            remedy="Send a new key with each new request, and the same one only to repeat it.",
        )
    sealed = AESGCM(sender.derived("seal"))
    body = sealed.decrypt(row.answer[:_NONCE], row.answer[_NONCE:], _bound(row.status, request))
    return Answer(row.status, body)


def keep_answer(
    session: Session, sender: Sender, request: str, answer: Answer, now: datetime
) -> None:
    """Keep an answer, in the transaction that did what was asked."""
    nonce = os.urandom(_NONCE)
    sealed = AESGCM(sender.derived("seal"))
    held = sealed.encrypt(nonce, answer.body, _bound(answer.status, request))
    session.add(
        AnswerRow(
            key=sender.row,
            request=request,
            status=answer.status,
            answer=nonce + held,
            expires=now + KEPT,
        )
    )


def _bound(status: int, request: str) -> bytes:
    """Return what a sealed answer is bound to."""
    return f"{status} {request}".encode()
