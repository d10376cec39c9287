"""The routes between owners; nothing is read before the caller is known."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from owner_agent.http import add_handlers
from owner_agent.peer.participant import Participant
from owner_agent.peer.protocol.identity import caller_of
from owner_agent.peer.protocol.messages import read
from owner_agent.peer.protocol.steps import MESSAGE_BYTES, PACKAGE_PART, STEPS, Step
from pramana_core.errors import LimitExceeded, PeerUnreachable
from pramana_core.wire.parts import PART_MEDIA_TYPE

_Endpoint = Callable[[Request], Awaitable[Response]]


def create_peer_app(participant: Participant) -> Starlette:
    """Return the application that serves an owner to its peers."""
    routes = [Route(step.path, _step(participant, step), methods=[step.method]) for step in STEPS]
    part = PACKAGE_PART.replace("{number}", "{number:int}")
    app = Starlette(routes=[*routes, Route(part, _package_part(participant))])
    add_handlers(app)
    return app


def _step(participant: Participant, step: Step[Any, Any]) -> _Endpoint:
    """Return the route that lets the owner do a step."""

    async def endpoint(request: Request) -> Response:
        caller = _caller(participant, request)
        body = await _body(request, participant.environment.patience.work)
        session = request.path_params.get("session", "")

        def answer() -> bytes:
            message = None if step.request is None else read(step.request, body, caller)
            answered = participant.answer(step, caller, session, message)
            return bytes(answered.model_dump_json().encode())

        content = await run_in_threadpool(answer)
        return Response(content, step.status, media_type="application/json")

    return endpoint


def _package_part(participant: Participant) -> _Endpoint:
    """Return the route that gives the caller one part of its columns."""

    async def endpoint(request: Request) -> Response:
        path = request.path_params
        caller = _caller(participant, request)
        part = participant.package_part
        body = await run_in_threadpool(part, caller, path["session"], path["number"])
        return Response(body, media_type=PART_MEDIA_TYPE)

    return endpoint


def _caller(participant: Participant, request: Request) -> str:
    """Return the owner whose certificate the connection has. Raises Unauthenticated."""
    tls = request.scope.get("extensions", {}).get("tls", {})
    return caller_of(next(iter(tls.get("client_cert_chain", ())), None), participant.known)


async def _body(request: Request, seconds: float) -> bytes:
    """Read a body. Raises LimitExceeded, PeerUnreachable."""
    body = bytearray()
    try:
        async with asyncio.timeout(seconds):
            async for chunk in request.stream():
                body += chunk
                if len(body) > MESSAGE_BYTES:
                    raise LimitExceeded(
                        f"A message of more than {MESSAGE_BYTES} bytes is not read."
                    )
    except TimeoutError:
        raise PeerUnreachable(
            "The message did not come in time.", remedy="Send it again."
        ) from None
    return bytes(body)
