"""Admission of a request: its token, the rate limit and its permissions, and then its body.

The body of an unknown sender or of a forbidden request is not read.
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
"""Maximum number of bytes of the body of a request without a token, such as one with a secret."""

UNANNOUNCED_BODY = 1 << 20
"""The maximum number of bytes of a JSON body whose length is not stated (a chunked request)."""

_SMALL = 64 * 1024
"""Bodies of up to this many bytes do not count against the limits on concurrent bodies."""

LEAST_RATE = 16 * 1024
"""Minimum average rate of a body, in bytes per second, after `body_seconds`."""

_MEMORY = 48 << 20
"""The maximum number of bytes of memory for the large JSON bodies of all senders together."""

_LARGE_AT_ONCE = 2
"""Maximum number of large JSON bodies parsed at once, because parsed bodies need more memory."""

_BLOCK = 512 * 1024
"""Size, in bytes, of the buffer for writing a part."""

_TOO_SLOW = 408

Handler = Callable[[Request], Awaitable[Response]]


class Gate:
    """The state that all requests share: rates, concurrent bodies, and the memory for bodies."""

    def __init__(self, services: Services, now: Callable[[], float] = time.monotonic) -> None:
        web = services.settings.web
        self.services = services
        self.pools = Pools()
        self.in_flight = InFlight(web.bodies_per_token, web.body_bytes_per_token)
        self._rates = Buckets(web.requests_per_token, now)
        self._memory = InFlight(web.connections, _MEMORY)
        self._large = asyncio.Semaphore(_LARGE_AT_ONCE)

    def take_rate(self, token: str) -> None:
        """Count a request of a token, given by its id. Raises TooManyRequests."""
        seconds = self._rates.take(token)
        if seconds > 0:
            raise slow_down(
                f"This token sent more than {self._rates.per_second:g} requests per second.",
                "token",
                seconds,
                "Wait for the time in Retry-After, then send the request again.",
            )

    async def pass_open(self, request: Request, handler: Handler) -> Response:
        """Handle a request that needs no token, with a small body."""
        return await handler(await self._read_body(request, OPEN_BODY))

    async def pass_json(self, request: Request, handler: Handler, token: str) -> Response:
        """Handle a request with a token and a JSON body."""
        limit, length = self.services.settings.limits.json_bytes, announced(request)
        if length is None:
            limit = min(limit, UNANNOUNCED_BODY)
        elif length > limit:
            raise too_long("JSON body", limit)
        elif length <= _SMALL:
            return await handler(await self._read_body(request, limit))
        if length is None and "transfer-encoding" not in request.headers:
            return await handler(request)
        with ExitStack() as stack:
            size = limit if length is None else length
            stack.enter_context(self.in_flight.in_transfer(token, size))
            stack.enter_context(self._memory.in_transfer("", size))
            whole = await self._read_body(request, limit)
            async with self._large:
                return await handler(whole)

    async def _read_body(self, request: Request, limit: int) -> Request:
        body, given = bytearray(), False  # A list of tiny pieces would need more memory.
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
    """Return the stated length of a body in bytes, or None."""
    length = request.headers.get("content-length", "")
    return int(length) if length.isascii() and length.isdigit() else None


def too_long(what: str, limit: int) -> LimitExceeded:
    """Return the error for a body longer than its limit in bytes."""
    return LimitExceeded(
        f"The {what} is longer than the allowed {limit} bytes.",
        remedy="Send less at once; a release may have many parts.",
    )


@dataclass
class SpooledBody:
    """What has been written of a body: its size in bytes and its SHA-256."""

    file: BinaryIO | None
    size: int = 0
    digest: Any = field(default_factory=hashlib.sha256)

    def take(self, block: bytearray) -> None:
        """Write and hash a block."""
        if self.file is not None:
            self.file.write(block)
        self.digest.update(block)
        self.size += len(block)


async def spool(chunks: AsyncIterator[bytes], file: BinaryIO | None, pool: Pool) -> SpooledBody:
    """Hash chunks and write them to a file (if given) through a buffer of fixed size."""
    spooled, block = SpooledBody(file), bytearray()
    async for chunk in chunks:
        block += chunk
        if len(block) >= _BLOCK:
            await pool.run(spooled.take, block)
            block = bytearray()
    await pool.run(spooled.take, block)
    return spooled
