"""The routes between owners; nothing is read or said before the caller is known."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, Request, Response
from fastapi.concurrency import run_in_threadpool

from owner_agent.http.problems import add_handlers
from owner_agent.peer.identity.signatures import Gate
from owner_agent.peer.members.participant import Participant
from owner_agent.peer.protocol.messages import PeerMessage, read
from owner_agent.peer.protocol.steps import MESSAGE_BYTES, PACKAGE_PART, STEPS, Step
from owner_agent.state.surroundings import Patience
from pramana_core.errors import LimitExceeded, PeerUnreachable
from pramana_core.wire.parts import PART_MEDIA_TYPE


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
    app.state.doors = Doors(participant, Gate.of(participant.known, participant.site.state))
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
    name, around = doors.participant.name, doors.participant.surroundings
    path = request.scope["raw_path"].decode("ascii")
    announced = await run_in_threadpool(
        doors.gate.announced, request.headers, name, request.method, path, around.now()
    )
    body = await _body(request, around.patience)
    caller = await run_in_threadpool(doors.gate.let_in, announced, body, around.now())
    return Called(caller, request.path_params.get("session", ""), body, doors.participant)


async def _body(request: Request, patience: Patience) -> bytes:
    """Read a body up to the length that was announced for it.

    Raises:
        LimitExceeded: it is longer than that, or than messages may be.
        PeerUnreachable: it did not come in time.
    """
    announced = request.headers.get("Content-Length", "0")
    length = int(announced) if announced.isascii() and announced.isdigit() else 0
    if length > MESSAGE_BYTES:
        raise LimitExceeded(f"A message of more than {MESSAGE_BYTES} bytes is not read.")
    body = bytearray()
    chunks = request.stream()
    try:
        async with asyncio.timeout(patience.work):
            while True:
                chunk = await asyncio.wait_for(anext(chunks), patience.quick)
                body += chunk
                if len(body) > length:
                    raise LimitExceeded(f"The message is longer than the {length} bytes announced.")
    except StopAsyncIteration:
        return bytes(body)
    except TimeoutError:
        raise PeerUnreachable(
            "The message did not come in time.", remedy="Send it again."
        ) from None


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
