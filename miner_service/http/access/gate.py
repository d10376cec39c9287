"""Lets a request in: its sender's rate, then its token and what that may use, then its body.

Nothing of a body is read for somebody who is not known or may not do what is asked for, or where
no endpoint would take it.

Also here:

* Which endpoint a request is for, found before anything of it is read.
* Endpoints that the gate answers itself: those that are asked for most, without a framework.
* The body of a request as it arrives: within its time, and never held beyond its limit; bodies
  take turns, and bytes that arrive slowly wait on the disk, not in memory.
* What every answer tells a browser: take it as what it says it is, keep it not, run nothing.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import tempfile
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from fastapi.routing import iter_route_contexts
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import BaseRoute, compile_path
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from miner_service.http.access.access import Admission, Caller, Look, Rule, enter, rule_of
from miner_service.http.access.access import Scope as Access
from miner_service.http.access.problems import failure_response, problem_of_failure
from miner_service.http.access.shares import BodyMemory, InFlight, Now, Pool, Pools, Rates
from miner_service.services import Services
from miner_service.settings import WebSettings
from miner_service.store.segments import storing
from pramana_core.errors import LimitExceeded, PramanaError
from pramana_core.pages.forms import EVERY_ANSWER

AT_ONCE = 3
"""So many go on in each turn of the loop: pieces of bodies take it longer than all else."""


class FairQueue:
    """Lets few go on in each turn of the loop, in the order in which they came.

    Nobody holds anything while it waits for its sender: a slow one keeps nobody up. What waits
    here is not read from its connection meanwhile.
    """

    def __init__(self, at_once: int = AT_ONCE) -> None:
        self._at_once = at_once
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._turning = False

    async def turn(self) -> None:
        """Wait for a turn."""
        loop = asyncio.get_running_loop()
        mine: asyncio.Future[None] = loop.create_future()
        self._waiting.append(mine)
        if not self._turning:
            self._turning = True
            loop.call_soon(self._next)
        await mine

    def _next(self) -> None:
        going = 0
        while self._waiting and going < self._at_once:
            one = self._waiting.popleft()
            if not one.done():  # else whoever waited was cancelled
                one.set_result(None)
                going += 1
        self._turning = bool(self._waiting)
        if self._turning:
            asyncio.get_running_loop().call_soon(self._next)


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


# Which endpoint a request is for, found before anything of it is read.


@dataclass(frozen=True)
class Address:
    """An endpoint, by its name, with the paths and methods it takes."""

    name: str
    pattern: re.Pattern[str]
    methods: frozenset[str]
    endpoint: Callable[..., Any]

    def parameters(self, scope: Scope) -> dict[str, str]:
        """Return the parameters in the path of a request that is for this endpoint."""
        found = self.pattern.match(scope["path"])
        return {} if found is None else found.groupdict()


@dataclass(frozen=True)
class AllEndpoints:
    """All endpoints of a service."""

    every: Sequence[Address]

    @classmethod
    def of(cls, routes: Iterable[BaseRoute]) -> AllEndpoints:
        """Return the endpoints of an application's routes."""
        return cls(
            [
                Address(
                    str(route.name),
                    compile_path(str(route.path))[0],
                    frozenset(route.methods or ()),
                    route.endpoint,
                )
                for route in iter_route_contexts(list(routes))
                if route.endpoint is not None
            ]
        )

    def find(self, scope: Scope) -> Address | None:
        """Return the endpoint that a request is for; None: it will be answered 404 or 405."""
        path, method = scope["path"], scope["method"]
        for address in self.every:
            if method in address.methods and address.pattern.match(path):
                return address
        return None


# Endpoints that the gate answers itself: those that are asked for most, without a framework.


class Direct(Protocol):
    """An endpoint that has a rule as all others, and a route that describes it.

    It reads the body itself. What is in the state of a request is there for it, too.
    """

    def look(
        self, services: Services, scope: Scope, parameters: Mapping[str, str], body: Incoming
    ) -> Look | None:
        """Return what to look for with the sender's token; None leaves a request to its route."""

    async def answer(self, services: Services, scope: Scope, found: object) -> Response:
        """Answer a request that was let in, with what was found."""


OPEN_BODY = 4096
"""The largest body, in bytes, of a request without a token: room for a secret."""

UNANNOUNCED_BODY = 1 << 20
"""The largest JSON body, in bytes, of a sender that does not say how long it is (chunked)."""

_SMALL = 64 * 1024
"""Bodies up to this size are held in memory; no share is taken of them."""

_MEMORY = 48 << 20
"""So many bytes of parts are in memory at once; the others wait on the disk."""

_LARGE_AT_ONCE = 2
"""So many large JSON bodies are in memory at once; the others wait on the disk."""


class Gate:
    """The middleware around all endpoints.

    What it finds out is in the request's state: `caller`, the `body` as it comes in, `pools`, the
    bodies `in_flight` and the `memory` for them.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        services: Services,
        addresses: AllEndpoints,
        direct: Mapping[str, Direct],
        pools: Pools,
        now: Now,
    ) -> None:
        web = services.settings.web
        self._app = app
        self._services = services
        self._addresses = addresses
        self._direct = direct
        self._pools = pools
        self._rates = Rates(web, now)
        self._in_flight = InFlight(web.bodies_per_token, web.body_bytes_per_token)
        self._memory = BodyMemory(_MEMORY)
        self._pace = FairQueue()
        self._large = asyncio.Semaphore(_LARGE_AT_ONCE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body = Incoming(scope, receive, self._services.settings.web, self._pace)
        send = _closing(body, send)
        try:
            await self._enter(scope, body, send)
        except ClientDisconnect:
            return
        except (PramanaError, HTTPException) as error:
            # The figures count it.
            scope.setdefault("state", {})["problem"] = problem_of_failure(error).code
            await failure_response(error, scope["path"])(scope, receive, send)

    async def _enter(self, scope: Scope, body: Incoming, send: Send) -> None:
        self._rates.take_address((scope.get("client") or ("", 0))[0])
        address = self._addresses.find(scope)
        if address is None:
            # The application says what there is instead, or shows the document of its interface.
            await self._app(scope, body.receive, send)
            return
        scope["endpoint"] = address.endpoint  # the audit log reads it
        state = scope.setdefault("state", {})
        state.update(body=body, pools=self._pools, in_flight=self._in_flight, memory=self._memory)
        rule = rule_of(address.name)
        if rule.scope is Access.OPEN:
            small = await _read(body, OPEN_BODY)
            await self._app(scope, replay(small, body), send)
            return
        parameters = address.parameters(scope)
        direct = self._direct.get(address.name)
        look = direct.look(self._services, scope, parameters, body) if direct else None
        if direct is not None:
            await self._pace.turn()
        entered = await self._identify(scope, rule, parameters, look)
        if direct is None:
            await self._pass_json(scope, body, send, entered.caller)
        elif look is None:
            await self._app(scope, body.receive, send)
        else:
            await self._answer(direct, scope, entered.found, body, send)

    async def _identify(
        self, scope: Scope, rule: Rule, parameters: Mapping[str, str], look: Look | None
    ) -> Admission:
        """Return who sent a request that is let in, and what was found with its token."""
        header = Headers(scope=scope).get("authorization")
        entered = await self._pools.entering.run(
            enter, self._services, header, rule, parameters, look
        )
        # Endpoints and the audit log read it.
        scope["state"].update(caller=entered.caller, entered=rule)
        self._rates.take_token(entered.caller.token)
        if entered.refused is not None:
            raise entered.refused
        return entered

    async def _answer(
        self, direct: Direct, scope: Scope, found: object, body: Incoming, send: Send
    ) -> None:
        try:
            answer = await direct.answer(self._services, scope, found)
        except ClientDisconnect as error:
            scope["state"]["problem"] = problem_of_failure(error).code
            answer = failure_response(error, scope["path"])
        await self._pace.turn()
        await answer(scope, body.receive, send)

    async def _pass_json(self, scope: Scope, body: Incoming, send: Send, caller: Caller) -> None:
        limit = self._services.settings.limits.json_bytes
        if body.announced is None:
            limit = min(limit, UNANNOUNCED_BODY)
        if body.whole or (body.announced is not None and body.announced <= _SMALL):
            small = await _read(body, min(limit, _SMALL))
            await self._app(scope, replay(small, body), send)
            return
        if body.announced is not None and body.announced > limit:
            raise too_long("JSON body", limit)
        with ExitStack() as stack:
            stack.enter_context(self._in_flight.held(caller.token, body.announced or limit))
            folder: Path = self._services.settings.data_dir
            # It has no name: it is gone when it is closed, however that comes about.
            with storing("The request"):
                file = stack.enter_context(tempfile.TemporaryFile(dir=folder, buffering=0))
                await spool(body.chunks(limit, "JSON body"), file, self._pools.writing)
            await self._large.acquire()
            release = stack.enter_context(_Once(self._large.release))
            file.seek(0)
            large = await self._pools.writing.run(file.read)

            async def send_then_release(message: Message) -> None:
                release()  # what was sent has been taken in
                await send(message)

            await self._app(scope, replay(large, body), send_then_release)


class _Once(ExitStack):
    """Something to be done once: when it is called, or else at the end."""

    def __init__(self, act: object) -> None:
        super().__init__()
        self.callback(act)  # type: ignore[arg-type]

    def __call__(self) -> None:
        self.close()


async def _read(body: Incoming, limit: int) -> bytes:
    most = limit if body.announced is None else min(limit, body.announced)
    return bytes(await gather(body.chunks(limit, "JSON body"), 0 if body.whole else most))


def _closing(body: Incoming, send: Send) -> Send:
    """Return a `send` that ends the connection after an answer to a body that was not read."""

    async def send_and_close(message: Message) -> None:
        if message["type"] == "http.response.start" and not body.whole:
            MutableHeaders(scope=message)["Connection"] = "close"
        await send(message)

    return send_and_close
