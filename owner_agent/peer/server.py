"""An owner's server for its peers: TLS, and only for callers with known certificates."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import ssl
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol

from owner_agent.http import add_handlers
from owner_agent.peer.participant import Participant
from owner_agent.peer.protocol.identity import caller_of, restrict_to_peers
from owner_agent.peer.protocol.messages import read
from owner_agent.peer.protocol.steps import MESSAGE_BYTES, PACKAGE_PART, STEPS, Step
from owner_agent.state.private_files import write_replacing
from pramana_core.errors import LimitExceeded, OptionError, PeerUnreachable
from pramana_core.wire.parts import PART_MEDIA_TYPE

_Endpoint = Callable[[Request], Awaitable[Response]]


def create_peer_app(participant: Participant) -> Starlette:
    """Return the application with which an owner answers its peers."""
    routes = [Route(step.path, _step(participant, step), methods=[step.method]) for step in STEPS]
    part = PACKAGE_PART.replace("{number}", "{number:int}")
    app = Starlette(routes=[*routes, Route(part, _package_part(participant))])
    add_handlers(app)
    return app


def _step(participant: Participant, step: Step[Any, Any]) -> _Endpoint:
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
    async def endpoint(request: Request) -> Response:
        path = request.path_params
        caller = _caller(participant, request)
        part = participant.package_part
        body = await run_in_threadpool(part, caller, path["session"], path["number"])
        return Response(body, media_type=PART_MEDIA_TYPE)

    return endpoint


def _caller(participant: Participant, request: Request) -> str:
    tls = request.scope.get("extensions", {}).get("tls", {})
    return caller_of(next(iter(tls.get("client_cert_chain", ())), None), participant.known)


async def _body(request: Request, seconds: float) -> bytes:
    body = bytearray()
    try:
        async with asyncio.timeout(seconds):
            async for chunk in request.stream():
                body += chunk
                if len(body) > MESSAGE_BYTES:
                    raise LimitExceeded(
                        f"The message is longer than {MESSAGE_BYTES} bytes and was not read."
                    )
    except TimeoutError:
        raise PeerUnreachable(
            "The message did not arrive in time.", remedy="Send it again."
        ) from None
    return bytes(body)


class _PeerProtocol(H11Protocol):
    """HTTP with the caller's certificate in the TLS extension of ASGI."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Store the caller's certificate when a connection opens."""
        super().connection_made(transport)
        der = transport.get_extra_info("ssl_object").getpeercert(binary_form=True)
        tls = {"client_cert_chain": [ssl.DER_cert_to_PEM_cert(der)]}
        served = self.app

        async def identified(scope: Any, receive: Any, send: Any) -> None:
            await served({**scope, "extensions": {"tls": tls}}, receive, send)

        self.app = identified


class PeerServer(uvicorn.Server):
    """The server of one owner. It also ends sessions whose time limit has passed."""

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
        """Start the server, and write the ready file."""
        await super().startup(sockets)
        if not self.started:
            return
        self.accepting.set()
        if self._ready_file is not None:
            host, port = (sockets or [])[0].getsockname()[:2]
            ready = json.dumps({"url": f"https://{host}:{port}", "pid": os.getpid()})
            write_replacing(self._ready_file, ready.encode())

    def serve_until_stopped(self) -> None:
        """Serve at the address in the site file until stopped. Raises OptionError."""
        with self._listening() as socket_:
            self.run(sockets=[socket_])

    @contextmanager
    def in_background(self) -> Iterator[None]:
        """Serve in another thread while the context is open. Raises OptionError."""
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
        """Listen at the address in the site file, and end overdue sessions in the meantime."""
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
    # Declared as TCP, so that asyncio sends small answers immediately (TCP_NODELAY).
    with socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind((host, port))
        except (OSError, OverflowError) as error:
            raise OptionError(
                f"The agent cannot listen on {host} port {port}: {error}.",
                where="peer.listen",
                remedy="Free the port, or choose another port and give the new address to the "
                "other owners.",
            ) from None
        yield listening
