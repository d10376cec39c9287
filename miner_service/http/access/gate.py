"""Lets a request in: its sender's token, rate and rights, then its body, within limits.

Nothing of a body is read for a sender who is not known or may not do what is asked.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from fastapi import Request, Response
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import Message

from miner_service.http.access.pools import Pool, Pools
from miner_service.http.access.shares import Buckets, InFlight, slow_down
from miner_service.services import Services
from pramana_core.errors import LimitExceeded

OPEN_BODY = 4096
"""The largest body, in bytes, of a request without a token: room for a secret."""

UNANNOUNCED_BODY = 1 << 20
"""The largest JSON body, in bytes, of a sender that does not say how long it is (chunked)."""

_SMALL = 64 * 1024
"""Of bodies up to this size no share is taken."""

LEAST_RATE = 16 * 1024
"""Bytes a second that a body must bring on average, after `body_seconds`."""

_MEMORY = 48 << 20
"""The bytes of large JSON bodies of all senders in memory at once."""

_LARGE_AT_ONCE = 2
"""Large JSON bodies that are read at once: their objects take more memory than they."""

_BLOCK = 512 * 1024
"""The bytes of a part that are gathered in memory before they are written."""

_TOO_SLOW = 408

Handler = Callable[[Request], Awaitable[Response]]


class Gate:
    """What requests of all senders share: rates, bodies on their way, and the memory for them."""

    def __init__(self, services: Services, now: Callable[[], float] = time.monotonic) -> None:
        web = services.settings.web
        self.services = services
        self.pools = Pools()
        self.in_flight = InFlight(web.bodies_per_token, web.body_bytes_per_token)
        self._rates = Buckets(web.requests_per_token, now)
        self._memory = InFlight(web.connections, _MEMORY)
        self._large = asyncio.Semaphore(_LARGE_AT_ONCE)

    def take_rate(self, token: str) -> None:
        """Count a request with a token, given by its id. Raises TooManyRequests."""
        seconds = self._rates.take(token)
        if seconds > 0:
            raise slow_down(
                f"More than {self._rates.per_second:g} requests a second came with this token.",
                "token",
                seconds,
                "Wait for as long as Retry-After says, then send it again.",
            )

    async def pass_open(self, request: Request, handler: Handler) -> Response:
        """Answer a request that needs no token, with a small body."""
        return await handler(await self._with_body(request, OPEN_BODY))

    async def pass_json(self, request: Request, handler: Handler, token: str) -> Response:
        """Answer a request with a JSON body, of whoever has a token."""
        limit, length = self.services.settings.limits.json_bytes, announced(request)
        if length is None:
            limit = min(limit, UNANNOUNCED_BODY)
        elif length > limit:
            raise too_long("JSON body", limit)
        elif length <= _SMALL:
            return await handler(await self._with_body(request, limit))
        if length is None and "transfer-encoding" not in request.headers:
            return await handler(request)
        with ExitStack() as stack:
            size = limit if length is None else length
            stack.enter_context(self.in_flight.held(token, size))
            stack.enter_context(self._memory.held("", size))
            whole = await self._with_body(request, limit)
            async with self._large:
                return await handler(whole)

    async def _with_body(self, request: Request, limit: int) -> Request:
        """Return a request whose body is there."""
        body, given = bytearray(), False  # Pieces of a few bytes would take many times their size.
        async for piece in self.chunks(request, limit, "JSON body"):
            body += piece

        async def replayed() -> Message:
            nonlocal given
            if given:
                return await request.receive()
            given = True
            return {"type": "http.request", "body": bytes(body), "more_body": False}

        return Request(request.scope, replayed)

    async def chunks(self, request: Request, limit: int, what: str) -> AsyncIterator[bytes]:
        """Yield a body's bytes. Raises LimitExceeded, HTTPException (408), ClientDisconnect."""
        if (announced(request) or 0) > limit:
            raise too_long(what, limit)
        seconds, received, more = self.services.settings.web.body_seconds, 0, True
        began = time.monotonic()
        while more:
            try:
                async with asyncio.timeout(seconds):
                    message = await request.receive()
            except TimeoutError:
                raise HTTPException(_TOO_SLOW) from None
            if message["type"] == "http.disconnect":
                raise ClientDisconnect
            more, body = message.get("more_body", False), message.get("body", b"")
            received += len(body)
            if received > limit:
                raise too_long(what, limit)
            if more and time.monotonic() - began > seconds + received / LEAST_RATE:
                raise HTTPException(_TOO_SLOW)
            if body:
                yield body


def announced(request: Request) -> int | None:
    """Return the length of a body in bytes, where the sender states it."""
    length = request.headers.get("content-length", "")
    return int(length) if length.isascii() and length.isdigit() else None


def too_long(what: str, limit: int) -> LimitExceeded:
    """Return the error for a body that is longer than its limit in bytes."""
    return LimitExceeded(
        f"The {what} is longer than the {limit} bytes allowed.",
        remedy="Send less at once; a release may have many parts.",
    )


@dataclass
class SpooledBody:
    """What was written of a body: its size in bytes, and its SHA-256."""

    file: BinaryIO | None
    size: int = 0
    digest: Any = field(default_factory=hashlib.sha256)

    def take(self, block: bytearray) -> None:
        """Write what came."""
        if self.file is not None:
            self.file.write(block)
        self.digest.update(block)
        self.size += len(block)


async def spool(chunks: AsyncIterator[bytes], file: BinaryIO | None, pool: Pool) -> SpooledBody:
    """Write chunks to a file, or nowhere, and hash them; they wait on the disk, not in memory."""
    spooled, block = SpooledBody(file), bytearray()
    async for chunk in chunks:
        block += chunk
        if len(block) >= _BLOCK:
            await pool.run(spooled.take, block)
            block = bytearray()
    await pool.run(spooled.take, block)
    return spooled
