"""The routes between owners; nothing is read before the caller is known."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, Request, Response

from owner_agent.http import add_handlers
from owner_agent.peer.participant import Participant
from owner_agent.peer.protocol.identity import caller_of
from owner_agent.peer.protocol.messages import PeerMessage, read
from owner_agent.peer.protocol.steps import MESSAGE_BYTES, PACKAGE_PART, STEPS, Step
from owner_agent.state.environment import WaitingTimes
from pramana_core.errors import LimitExceeded, PeerUnreachable
from pramana_core.wire.parts import PART_MEDIA_TYPE


@dataclass(frozen=True)
class AuthenticatedRequest:
    """An authenticated request: who, about which session ("" where none is named), and what."""

    caller: str
    session: str
    body: bytes
    participant: Participant


def create_peer_app(participant: Participant) -> FastAPI:
    """Return the application that serves an owner to its peers."""
    app = FastAPI(
        title="Pramana peer",
        routes=_router().routes,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
    )
    app.state.participant = participant
    add_handlers(app)
    return app


@cache
def _router() -> APIRouter:
    """Return the routes; making them takes long, and they are the same for every owner."""
    router = APIRouter()
    for step in STEPS:
        router.add_api_route(
            step.path,
            _route(step),
            methods=[step.method],
            response_model=step.answer,
            status_code=step.status,
        )
    router.add_api_route(PACKAGE_PART, _package_part, response_model=None)
    return router


async def _called(request: Request) -> AuthenticatedRequest:
    participant: Participant = request.app.state.participant
    tls = request.scope.get("extensions", {}).get("tls", {})
    caller = caller_of(next(iter(tls.get("client_cert_chain", ())), None), participant.known)
    body = await _body(request, participant.environment.patience)
    return AuthenticatedRequest(caller, request.path_params.get("session", ""), body, participant)


async def _body(request: Request, patience: WaitingTimes) -> bytes:
    """Read a body. Raises LimitExceeded, PeerUnreachable."""
    body = bytearray()
    try:
        async with asyncio.timeout(patience.work):
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


CalledDependency = Annotated[AuthenticatedRequest, Depends(_called)]


def _route(step: Step[Any, Any]) -> Callable[..., PeerMessage]:
    """Return the route that lets the owner do a step."""

    def answer(called: CalledDependency) -> PeerMessage:
        message = None if step.request is None else read(step.request, called.body, called.caller)
        made: PeerMessage = called.participant.answer(step, called.caller, called.session, message)
        return made

    return answer


def _package_part(called: CalledDependency, number: int) -> Response:
    """Return one part of what this owner has for the caller."""
    body = called.participant.package_part(called.caller, called.session, number)
    return Response(body, media_type=PART_MEDIA_TYPE)
