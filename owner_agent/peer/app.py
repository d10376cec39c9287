"""The routes between owners; nothing is read or said before the caller is known.

Also here:

* Serves an owner to its peers over TLS that only known owners get through.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import uvicorn
from fastapi import APIRouter, Depends, FastAPI, Request, Response
from uvicorn.protocols.http.h11_impl import H11Protocol

from owner_agent.http import add_handlers
from owner_agent.peer.participant import Participant
from owner_agent.peer.protocol.identity import caller_of, restrict_to_peers
from owner_agent.peer.protocol.messages import PeerMessage, read
from owner_agent.peer.protocol.steps import MESSAGE_BYTES, PACKAGE_PART, STEPS, Step
from owner_agent.state.environment import WaitingTimes
from owner_agent.state.private_files import write_replacing
from pramana_core.errors import LimitExceeded, OptionError, PeerUnreachable
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


# Serves an owner to its peers over TLS that only known owners get through.


class _PeerProtocol(H11Protocol):
    """HTTP that says, in ASGI's extension for TLS, under which certificate a caller came."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection, whose handshake is over."""
        super().connection_made(transport)
        der = transport.get_extra_info("ssl_object").getpeercert(binary_form=True)
        tls = {"client_cert_chain": [ssl.DER_cert_to_PEM_cert(der)]}
        served = self.app

        async def identified(scope: Any, receive: Any, send: Any) -> None:
            await served({**scope, "extensions": {"tls": tls}}, receive, send)

        self.app = identified


class PeerServer(uvicorn.Server):
    """The server of one owner; it says when it accepts calls, and ends sessions that are over."""

    def __init__(self, participant: Participant, ready_file: Path | None = None):
        config = uvicorn.Config(
            create_peer_app(participant),
            http=_PeerProtocol,
            log_level="warning",
            ws="none",
            access_log=False,
            lifespan="off",
            ssl_certfile=str(participant.identity.files[0]),
            ssl_keyfile=str(participant.identity.files[1]),
            ssl_cert_reqs=ssl.CERT_REQUIRED,
            timeout_graceful_shutdown=5,
        )
        config.load()
        assert config.ssl is not None  # noqa: S101 - the configuration names a certificate
        restrict_to_peers(config.ssl, participant.known)
        super().__init__(config)
        self.accepting = threading.Event()
        self._participant = participant
        self._ready_file = ready_file

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and say so."""
        await super().startup(sockets)
        if not self.started:
            return
        self.accepting.set()
        if self._ready_file is not None:
            host, port = (sockets or [])[0].getsockname()[:2]
            ready = json.dumps({"url": f"https://{host}:{port}", "pid": os.getpid()})
            write_replacing(self._ready_file, ready.encode())

    def serve_until_stopped(self) -> None:
        """Serve on the site file's address until told to stop. Raises OptionError."""
        with self._listening() as socket_:
            self.run(sockets=[socket_])

    @contextmanager
    def beside(self) -> Iterator[None]:
        """Serve in another thread while the caller does something else. Raises OptionError."""
        start = self._participant.environment.patience.start
        with self._listening() as socket_:
            thread = threading.Thread(target=self.run, kwargs={"sockets": [socket_]}, daemon=True)
            thread.start()
            try:
                self.accepting.wait(start)
                yield
            finally:
                self.should_exit = True
                thread.join(start)

    @contextmanager
    def _listening(self) -> Iterator[socket.socket]:
        """Listen on the site file's address, and look after sessions meanwhile."""
        address = self._participant.site.peer.address
        with _bound(*address) as listening, _sweeping(self._participant):
            yield listening


@contextmanager
def _sweeping(participant: Participant) -> Iterator[None]:
    stop = threading.Event()

    def sweep() -> None:
        while not stop.wait(participant.environment.patience.sweep):
            participant.sweep()

    thread = threading.Thread(target=sweep, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@contextmanager
def _bound(host: str, port: int) -> Iterator[socket.socket]:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Said to be TCP, so that asyncio lets small answers go at once (TCP_NODELAY).
    with socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind((host, port))
        except (OSError, OverflowError) as error:
            raise OptionError(
                f"The agent cannot listen on {host} port {port}: {error}.",
                where="peer.listen",
                remedy="Stop what uses the port, or choose another one and tell the other owners.",
            ) from None
        yield listening
