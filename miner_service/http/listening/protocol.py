"""HTTP on one connection, with an end to everything a sender may leave half done.

uvicorn waits for headers for ever, and closes at once after an answer to a body that it did not
read: what the sender is still sending would then destroy the answer on its way.
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.utils import get_remote_addr

from miner_service.http.gate.headers import HEADERS
from miner_service.http.listening.connections import Connections
from miner_service.http.listening.tls import Tls
from miner_service.settings import WebSettings
from shared.errors import NotReady
from shared.wire.problems import (
    PROBLEM_MEDIA_TYPE,
    ProblemDetail,
    invalid_request,
    problem_of,
)

LINGER_SECONDS = 2.0
"""So long a sender is listened to, and nothing of it kept, after its answer."""

_LINGER_BYTES = 1 << 26


def bounded_protocol(web: WebSettings, tls: Tls | None) -> type[H11Protocol]:
    """Return the protocol of a service; its connections are counted together."""
    return type(
        "BoundedProtocol", (Bounded,), {"web": web, "tls": tls, "counted": Connections(web)}
    )


class Bounded(H11Protocol):
    """One connection: counted, within its times, over TLS if there is a certificate."""

    web: WebSettings
    tls: Tls | None
    counted: Connections

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._host: str | None = None
        self._late: asyncio.TimerHandle | None = None
        self._securing: asyncio.Task[None] | None = None
        self._answered: _Lingering | None = None
        self._early = b""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection in, or turn it away."""
        host = (get_remote_addr(transport) or ("", 0))[0]
        if not self.counted.enter(host):
            if self.tls is None:
                transport.write(_answer(_FULL.status, _FULL, ("retry-after", "1")))
            transport.close()
            self.transport = transport
            return
        self._host = host
        if self.tls is None:
            self._begin(transport)
        else:
            transport.pause_reading()
            self.transport = transport
            self._securing = self.loop.create_task(self._secure(transport, self.tls))

    def data_received(self, data: bytes) -> None:
        """Take bytes in: of headers, of a body, or of nothing any more."""
        if self._host is None:
            return
        if self._answered is not None:
            self._answered.dropped(len(data))
            return
        if self.flow is None:  # the first bytes may come with the last of the keys' agreement
            self._early += data
            return
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """Go on to the next request of the connection, which has its own time."""
        super().on_response_complete()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a connection."""
        if self._host is not None:
            self.counted.leave(self._host)
            self._host = None
        self._forget_late()
        if self._securing is not None and not self._securing.done():
            self._securing.cancel()
        if self._answered is not None:
            self._answered.end()
        if self.flow is not None:  # else it never began to speak HTTP
            super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 the same for all
        """Answer what is not HTTP, and close."""
        problem = invalid_request("What was sent is not a request of HTTP/1.1.")
        self.transport.write(_answer(problem.status, problem))
        self.transport.close()

    def _begin(self, transport: asyncio.Transport) -> None:
        super().connection_made(_Patient(transport, self))  # type: ignore[arg-type]
        self._watch()
        if self._early:
            early, self._early = self._early, b""
            self.data_received(early)

    async def _secure(self, transport: asyncio.Transport, tls: Tls) -> None:
        """Agree on the keys, in the time that headers have."""
        try:
            secured = await self.loop.start_tls(
                transport,
                self,
                tls.context(),
                server_side=True,
                ssl_handshake_timeout=self.web.header_seconds,
            )
        except (OSError, ValueError):  # ssl.SSLError is an OSError: whoever it was is gone
            transport.abort()
            self.connection_lost(None)
            return
        if secured is None or self._host is None:
            transport.abort()
            return
        self._begin(secured)

    def _watch(self) -> None:
        """Give the headers of the request that is awaited their time, once."""
        if self.conn.their_state is not h11.IDLE or self.transport.is_closing():
            self._forget_late()
        elif self._late is None:
            self._late = self.loop.call_later(self.web.header_seconds, self._end)

    def _end(self) -> None:
        self._late = None
        if not self.transport.is_closing():
            self.transport.abort()

    def _forget_late(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def linger(self, transport: asyncio.Transport) -> bool:
        """Let the answer reach a sender that is still sending; say whether that takes time."""
        if self._answered is None and self.conn.their_state is h11.SEND_BODY:
            self._answered = _Lingering(self.loop, transport)
        return self._answered is not None


class _Lingering:
    """A connection whose answer is sent; what still comes is dropped for a while."""

    def __init__(self, loop: asyncio.AbstractEventLoop, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._left = _LINGER_BYTES
        self._timer = loop.call_later(LINGER_SECONDS, transport.abort)
        transport.resume_reading()
        if transport.can_write_eof():
            transport.write_eof()

    def dropped(self, size: int) -> None:
        """Count what was dropped."""
        self._left -= size
        if self._left < 0:
            self._transport.abort()

    def end(self) -> None:
        """The other side has closed."""
        self._timer.cancel()


class _Patient:
    """A transport that closes only when its answer had time to arrive."""

    def __init__(self, transport: asyncio.Transport, protocol: Bounded) -> None:
        self._transport = transport
        self._protocol = protocol
        self._closing = False

    def close(self) -> None:
        """Close, at once or when the sender has read its answer."""
        self._closing = True
        if self._transport.is_closing() or not self._protocol.linger(self._transport):
            self._transport.close()

    def is_closing(self) -> bool:
        """Whether nothing is answered any more."""
        return self._closing or self._transport.is_closing()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


_FULL = problem_of(
    NotReady("Too many connections are open.", remedy="Close some, or try again later.")
)


def _answer(status: int, problem: ProblemDetail, *more: tuple[str, str]) -> bytes:
    """Return a whole answer that is followed by the end of the connection."""
    body = problem.model_dump_json(exclude_none=True).encode()
    headers = [
        ("content-type", PROBLEM_MEDIA_TYPE),
        ("content-length", str(len(body))),
        ("connection", "close"),
        *HEADERS.items(),
        *more,
    ]
    lines = [f"HTTP/1.1 {status} {problem.title}", *(f"{name}: {value}" for name, value in headers)]
    return "\r\n".join([*lines, "", ""]).encode() + body
