"""Requests that may be sent again without harm because they carry a key of their own.

Where what is created has no name by which a repetition is known, as tokens and invitations have
none, `Idempotency-Key` is it: what is done and the answer to it are one transaction, and the same
request under the same key is answered with the same bytes, without being done again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Header, Request, Response
from sqlalchemy.orm import Session

from miner_service.services import Services
from miner_service.store.holders.answers import Answer, Sender, keep_answer, known_answer
from pramana_core.errors import OptionError
from pramana_core.wire.base import Message
from pramana_core.wire.versions import IDEMPOTENCY_HEADER, LONGEST_KEY

REPLAY_HEADER = "Idempotent-Replay"


@dataclass(frozen=True)
class Keyed:
    """A request with the key it carries, if any; `secret` is the sender's token."""

    address: str
    secret: str
    key: str | None

    def answer(
        self,
        services: Services,
        asked: Message | None,
        act: Callable[[Session], Message],
        *,
        status: int = 201,
        secret: str | None = None,
    ) -> Response:
        """Do what is asked, or answer as it was answered before.

        Args:
            services: of the miner.
            asked: the body of the request.
            act: does it, in a transaction.
            status: of the answer.
            secret: what only the sender has, where that is no token.

        Raises:
            Conflict: the key was sent with another request.
        """
        with services.database.write() as session:
            if self.key is None:
                return _response(Answer(status, _body(act(session))))
            sender = Sender(self.secret if secret is None else secret, self.key)
            request, now = self._digest(asked), services.now()
            known = known_answer(session, sender, request, now)
            if known is not None:
                return _response(known, replayed=True)
            made = Answer(status, _body(act(session)))
            keep_answer(session, sender, request, made, now)
        return _response(made)

    def _digest(self, asked: Message | None) -> str:
        body = b"" if asked is None else _body(asked)
        return hashlib.sha256(self.address.encode() + b"\n" + body).hexdigest()


def get_keyed(
    request: Request,
    key: Annotated[
        str | None,
        Header(
            alias=IDEMPOTENCY_HEADER,
            description="The same request under the same key, within 24 hours, is done once.",
        ),
    ] = None,
) -> Keyed:
    """Return a request with its key. Raises OptionError: that is no key."""
    plain = key is None or all("!" <= letter <= "~" for letter in key)
    if not plain or (key is not None and not 1 <= len(key) <= LONGEST_KEY):
        raise OptionError(
            f"{IDEMPOTENCY_HEADER} must have 1 to {LONGEST_KEY} visible ASCII characters.",
            where=IDEMPOTENCY_HEADER,
            remedy="Make one at random, such as a UUID.",
        )
    address = f"{request.method} {request.url.path}"
    return Keyed(address, request.headers.get("authorization", ""), key)


KeyedDep = Annotated[Keyed, Depends(get_keyed)]


def _body(message: Message) -> bytes:
    return message.model_dump_json().encode()


def _response(answer: Answer, *, replayed: bool = False) -> Response:
    headers = {REPLAY_HEADER: "true"} if replayed else {}
    # What holds a secret is kept by nobody on the way.
    headers["Cache-Control"] = "no-store"
    return Response(answer.body, answer.status, headers, "application/json")
