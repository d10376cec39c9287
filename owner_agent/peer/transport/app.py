"""The routes between owners; nothing is read or said before the caller is known."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Depends, FastAPI, Request, Response

from owner_agent.http.problems import add_handlers
from owner_agent.peer.identity.signatures import Call, Gate
from owner_agent.peer.members.participant import Participant
from owner_agent.peer.protocol.messages import (
    Ending,
    Proposal,
    Signed,
    Statements,
    Status,
    read,
)
from owner_agent.peer.transport.remote import MESSAGE_BYTES
from shared.errors import LimitExceeded
from shared.wire.parts import PART_MEDIA_TYPE


@dataclass(frozen=True)
class Doors:
    """What the routes need."""

    participant: Participant
    gate: Gate


@dataclass(frozen=True)
class Called:
    """An authenticated request: who, and what."""

    caller: str
    body: bytes
    participant: Participant


def create_peer_app(participant: Participant) -> FastAPI:
    """Return the application that serves an owner to its peers."""
    app = FastAPI(title="Pramana peer", docs_url=None, redoc_url=None, openapi_url=None)
    app.state.doors = Doors(participant, Gate(participant.known))
    add_handlers(app)
    app.include_router(_routes)
    return app


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
    return Called(doors.gate.caller(request.headers, call, now), bytes(body), doors.participant)


CalledDependency = Annotated[Called, Depends(_called)]

_routes = APIRouter(prefix="/v1/sessions")


@_routes.post("", status_code=HTTPStatus.CREATED)
def propose(called: CalledDependency) -> Signed:
    """Take part in a session; the answer is this owner's offer."""
    proposal = read(Proposal, called.body, called.caller)
    return called.participant.propose(called.caller, proposal)


@_routes.put("/{session}/offers")
def offers(called: CalledDependency, session: str) -> Signed:
    """Learn what all have; the answer is what this owner would send."""
    told = read(Statements, called.body, called.caller)
    return called.participant.offers(called.caller, session, told)


@_routes.put("/{session}/announcements")
def announcements(called: CalledDependency, session: str) -> Status:
    """Check what all would send."""
    told = read(Statements, called.body, called.caller)
    return called.participant.announcements(called.caller, session, told)


@_routes.post("/{session}/begin", status_code=HTTPStatus.ACCEPTED)
def begin(called: CalledDependency, session: str) -> Status:
    """Start to fetch and to learn."""
    return called.participant.begin(called.caller, session)


@_routes.get("/{session}/parts/{number}")
def package_part(called: CalledDependency, session: str, number: int) -> Response:
    """Return one part of what this owner has for the caller."""
    body = called.participant.package_part(called.caller, session, number)
    return Response(body, media_type=PART_MEDIA_TYPE)


@_routes.get("/{session}")
def status(called: CalledDependency, session: str) -> Status:
    """Return how far this owner is."""
    return called.participant.status(called.caller, session)


@_routes.put("/{session}/network")
def network(called: CalledDependency, session: str) -> Signed:
    """Join what all have learned; the answer is the signed digest of the result."""
    told = read(Statements, called.body, called.caller)
    return called.participant.parts(called.caller, session, told)


@_routes.put("/{session}/result")
def result(called: CalledDependency, session: str) -> Status:
    """Write the result that all have agreed to."""
    agreed = read(Statements, called.body, called.caller)
    return called.participant.commit(called.caller, session, agreed)


@_routes.put("/{session}/end")
def end(called: CalledDependency, session: str) -> Status:
    """End the session without a result."""
    ending = read(Ending, called.body, called.caller)
    return called.participant.end(called.caller, session, ending)
