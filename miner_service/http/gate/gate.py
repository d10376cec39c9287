"""Lets a request in: its sender's rate, then its token and what that may use, then its body.

Nothing of a body is read for somebody who is not known or may not do what is asked for, or where
no endpoint would take it.

Also here:

* Which endpoint a request is for, found before anything of it is read.
* Endpoints that the gate answers itself: those that are asked for most, without a framework.
"""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

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
from miner_service.http.gate.bodies import Incoming, gather, replay, spool, too_long
from miner_service.http.gate.pace import FairQueue
from miner_service.http.gate.shares import BodyMemory, InFlight, Now, Pools, Rates
from miner_service.services import Services
from miner_service.store.files.durable import storing
from pramana_core.errors import PramanaError

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
