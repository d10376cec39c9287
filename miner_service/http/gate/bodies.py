"""The body of a request as it arrives: within its time, and never held beyond its limit.

Also here:

* Bytes that arrive slowly wait on the disk, not in memory.
* What every answer tells a browser: take it as what it says it is, keep it not, run nothing.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from miner_service.http.gate.pace import FairQueue
from miner_service.http.gate.shares import Pool
from miner_service.settings import WebSettings
from pramana_core.errors import LimitExceeded
from pramana_core.pages.headers import EVERY_ANSWER

_TOO_SLOW = 408


class Incoming:
    """One body, or none.

    Attributes:
        announced: its length in bytes, where the sender said it.
        whole: whether nothing of it is left to read.
    """

    def __init__(self, scope: Scope, receive: Receive, web: WebSettings, pace: FairQueue) -> None:
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


# Bytes that arrive slowly wait on the disk, not in memory.

BLOCK = 512 * 1024
"""So many bytes of a body are gathered in memory before they are written."""


@dataclass
class SpooledBody:
    """What was written so far.

    Attributes:
        size: in bytes.
        digest: SHA-256.
    """

    file: BinaryIO | None
    size: int = 0
    digest: Any = field(default_factory=hashlib.sha256)

    def take(self, block: list[bytes]) -> None:
        """Write the pieces of a block, as they came."""
        for piece in block:
            if self.file is not None:
                _write(self.file, piece)
            self.digest.update(piece)
            self.size += len(piece)


async def spool(chunks: AsyncIterator[bytes], file: BinaryIO | None, pool: Pool) -> SpooledBody:
    """Write chunks to a file, or nowhere, and hash them; one block is written as the next comes."""
    spooled = SpooledBody(file)
    block: list[bytes] = []
    gathered = 0
    writing: asyncio.Future[None] | None = None
    try:
        async for chunk in chunks:
            block.append(chunk)
            gathered += len(chunk)
            if gathered >= BLOCK:
                if writing is not None:
                    await writing
                writing = pool.submit(spooled.take, block)
                block, gathered = [], 0
    finally:
        # The file is the caller's again when this ends, however it ends.
        if writing is not None:
            await asyncio.wait([writing])
    if writing is not None:
        await writing
    if block:
        await pool.run(spooled.take, block)
    return spooled


async def gather(chunks: AsyncIterator[bytes], size: int) -> memoryview:
    """Return all chunks, `size` bytes at most, in one piece.

    It takes no memory before its bytes come, and no more than they, however small the chunks are.
    """
    whole, came = memoryview(bytearray(size)), 0
    async for chunk in chunks:
        whole[came : came + len(chunk)] = chunk
        came += len(chunk)
    return whole[:came]


def _write(file: BinaryIO, piece: bytes) -> None:
    """Write all of a piece, also to a file without a buffer, which may take less at once."""
    view = memoryview(piece)
    while view:
        view = view[file.write(view) :]


OVER_TLS: Mapping[str, str] = {"Strict-Transport-Security": "max-age=31536000"}


class SecurityHeaders:
    """Adds the headers to every answer that does not say them itself."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                over_tls = OVER_TLS if scope["scheme"] == "https" else {}
                for name, value in {**EVERY_ANSWER, **over_tls}.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, send_with)
