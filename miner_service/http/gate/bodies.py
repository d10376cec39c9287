"""The body of a request as it arrives: within its time, and never held beyond its limit."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive, Scope

from miner_service.http.gate.pace import Pace
from miner_service.settings import WebSettings
from pramana_core.errors import LimitExceeded

_TOO_SLOW = 408


class Incoming:
    """One body, or none.

    Attributes:
        announced: its length in bytes, where the sender said it.
        whole: whether nothing of it is left to read.
    """

    def __init__(self, scope: Scope, receive: Receive, web: WebSettings, pace: Pace) -> None:
        headers = Headers(scope=scope)
        length = headers.get("content-length", "")
        self.announced = int(length) if length.isascii() and length.isdigit() else None
        chunked = "transfer-encoding" in headers
        self.whole = not self.announced and not chunked
        self._receive = receive
        self._web = web
        self._pace = pace
        self._received = 0
        self._waited = 0.0

    async def receive(self) -> Message:
        """Receive as any ASGI application does. Raises HTTPException (408): it came too slowly.

        Only the time that is spent on waiting for the sender counts.
        """
        if self.whole:
            return await self._receive()
        loop, web = asyncio.get_running_loop(), self._web
        due = web.body_seconds + self._received / web.body_rate - self._waited
        began = loop.time()
        try:
            async with asyncio.timeout(max(0.0, min(web.body_seconds, due))):
                message = await self._receive()
        except TimeoutError:
            raise HTTPException(_TOO_SLOW) from None
        self._waited += loop.time() - began
        self._received += len(message.get("body", b""))
        self.whole = message["type"] == "http.request" and not message.get("more_body", False)
        return message

    async def chunks(self, limit: int, what: str) -> AsyncIterator[bytes]:
        """Yield the bytes as they come.

        Raises:
            LimitExceeded: there are more than `limit`.
            HTTPException: 408, they came too slowly.
            ClientDisconnect: the connection was closed before the body was whole.
        """
        if self.announced is not None and self.announced > limit:
            raise too_long(what, limit)
        while not self.whole:
            message = await self.receive()
            if message["type"] == "http.disconnect":
                raise ClientDisconnect
            if self._received > limit:
                raise too_long(what, limit)
            if body := message.get("body", b""):
                yield body
            if not self.whole:
                await self._pace.turn()


def too_long(what: str, limit: int) -> LimitExceeded:
    """Return the error for a body that is longer than its limit in bytes."""
    return LimitExceeded(
        f"The {what} is longer than the {limit} bytes allowed.",
        remedy="Send less at once; a release may have many parts.",
    )


def replay(body: bytes, incoming: Incoming) -> Receive:
    """Return a `receive` that gives a body read before, then whatever comes after it."""
    given = False

    async def replayed() -> Message:
        nonlocal given
        if given:
            return await incoming.receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replayed
