"""The routes between owners; nothing is read or said before the caller is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, Request, Response

from owner_agent.http.problems import add_handlers
from owner_agent.peer.identity.signatures import Call, Gate
from owner_agent.peer.members.participant import Participant
from owner_agent.peer.protocol.messages import PeerMessage, read
from owner_agent.peer.protocol.steps import MESSAGE_BYTES, PACKAGE_PART, STEPS, Step
from shared.errors import LimitExceeded
from shared.wire.parts import PART_MEDIA_TYPE


@dataclass(frozen=True)
class Doors:
    """What the routes need."""

    participant: Participant
    gate: Gate


@dataclass(frozen=True)
class Called:
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
    app.state.doors = Doors(participant, Gate(participant.known))
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


async def _called(request: Request) -> Called:
    doors: Doors = request.app.state.doors
    now = doors.participant.surroundings.now()
    doors.gate.expected(request.headers, now)
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MESSAGE_BYTES:
            raise LimitExceeded(f"A message of more than {MESSAGE_BYTES} bytes is not read.")
    path = request.scope["raw_path"].decode("ascii")
    call = Call(doors.participant.name, request.method, path, bytes(body))
    caller = doors.gate.caller(request.headers, call, now)
    return Called(caller, request.path_params.get("session", ""), bytes(body), doors.participant)


CalledDependency = Annotated[Called, Depends(_called)]


def _route(step: Step[Any, Any]) -> Callable[..., PeerMessage]:
    """Return the route that lets the owner do a step."""

    def answer(called: CalledDependency) -> PeerMessage:
        told = None if step.request is None else read(step.request, called.body, called.caller)
        made: PeerMessage = called.participant.answer(step, called.caller, called.session, told)
        return made

    return answer


def _package_part(called: CalledDependency, number: int) -> Response:
    """Return one part of what this owner has for the caller."""
    body = called.participant.package_part(called.caller, called.session, number)
    return Response(body, media_type=PART_MEDIA_TYPE)
