"""HTTP on one connection, with an end to everything a sender may leave half done.

uvicorn waits for headers for ever and takes any number of them, and closes at once after an answer
to a body that it did not read: what the sender is still sending would then destroy the answer on
its way. The parser is one in C (httptools): bodies pass it without being searched or copied again.
What two readers could take differently is refused, by it or by `_require_plain`.

Also here:

* How many connections are open, in all and from one address.
* TLS in the service itself: certificates that are read again when their files change.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import httptools
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.utils import get_remote_addr

from miner_service.http.access.shares import network_of
from miner_service.settings import WebSettings
from pramana_core.errors import AmbiguousRequest, KeyFileError, NotReady, OptionError
from pramana_core.opening import require_private_key
from pramana_core.pages.forms import EVERY_ANSWER
from pramana_core.wire.services import (
    PROBLEM_MEDIA_TYPE,
    ProblemDetail,
    invalid_request,
    problem_of,
)

log = logging.getLogger(__name__)

Stamp = tuple[tuple[int, ...], ...]


class Tls:
    """The certificate of the service, and who signs those of its clients.

    Raises:
        OptionError: the files cannot be read, or do not fit together.
        KeyFileError: others may read the private key.
    """

    def __init__(self, web: WebSettings) -> None:
        self._web = web
        self._stamp = self._look()
        self._context = self._read()

    def context(self) -> ssl.SSLContext:
        """Return what the next connection is to be met with.

        Files that changed are read again. If they cannot be, what was read before stays in use.
        """
        stamp = self._look()
        if stamp != self._stamp:
            self._stamp = stamp
            self.reload()
        return self._context

    def reload(self) -> None:
        """Read the files again, whether they seem to have changed or not."""
        try:
            self._context = self._read()
        except (OptionError, KeyFileError) as error:
            log.warning("%s The certificate that was read before stays in use.", error.message)

    def _look(self) -> Stamp:
        return tuple(_stamp(path) for path in _files(self._web))

    def _read(self) -> ssl.SSLContext:
        web = self._web
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.options |= ssl.OP_NO_RENEGOTIATION
        try:
            require_private_key(web.private_key or web.certificate or Path())
            # A key behind a passphrase is refused: nobody is there to be asked for it.
            context.load_cert_chain(web.certificate or "", web.private_key, password=lambda: "")
            if web.client_authority is not None:
                context.load_verify_locations(web.client_authority)
                context.verify_mode = ssl.CERT_REQUIRED
        except (OSError, ValueError) as error:
            reason = getattr(error, "reason", None) or getattr(error, "strerror", None)
            raise OptionError(
                f"The files of TLS ({', '.join(str(path) for path in _files(web))}) cannot be used:"
                f" {_WORDS.get(str(reason), reason or type(error).__name__)}.",
                where="certificate",
                remedy="Give PEM files that this process may read: a certificate with its chain,"
                " the private key of it without a passphrase, and the authority of the clients.",
            ) from error
        return context


_WORDS = {
    "KEY_VALUES_MISMATCH": "the private key is not that of the certificate",
    "NO_CERTIFICATE_OR_CRL_FOUND": "there is no certificate in the authority's file",
}
"""What OpenSSL calls its commonest refusals, in words."""


def open_tls(web: WebSettings) -> Tls | None:
    """Return the certificates of a service; None if it speaks plain HTTP. Raises OptionError."""
    return Tls(web) if web.certificate is not None else None


def _files(web: WebSettings) -> list[Path]:
    every = (web.certificate, web.private_key, web.client_authority)
    return [path for path in every if path is not None]


def _stamp(path: Path) -> tuple[int, ...]:
    try:
        state = path.stat()
    except OSError:
        return (0, 0, 0)
    return (state.st_mtime_ns, state.st_size, state.st_ino, state.st_mode)


# How many connections are open, in all and from one address.


@dataclass
class Connections:
    """The connections of one service."""

    web: WebSettings
    _open: dict[str, int] = field(default_factory=dict)
    _total: int = 0

    def enter(self, host: str) -> bool:
        """Count a connection; say whether there was room for it. One without is not counted."""
        host = network_of(host)
        held = self._open.get(host, 0)
        if self._total >= self.web.connections or held >= self.web.connections_per_address:
            return False
        self._open[host] = held + 1
        self._total += 1
        return True

    def leave(self, host: str) -> None:
        """Count one that entered no more."""
        host = network_of(host)
        self._total -= 1
        self._open[host] -= 1
        if not self._open[host]:
            del self._open[host]


LINGER_SECONDS = 2.0
"""So long a sender is listened to, and nothing of it kept, after its answer."""

_LINGER_BYTES = 1 << 26
_ENDLESS_BYTES = 1 << 20
"""Of a body that did not say how long it is."""

_HEAD_BYTES = 1 << 16
"""So long the headers of a request may be, and what is between two pieces of its body."""

_HELD_BYTES = 1 << 16
"""So long a piece of an answer may be that is sent with the one before it, or after."""

_PIPELINED = 8
"""So many requests may come before the one before them is answered."""


def bounded_protocol(web: WebSettings, tls: Tls | None) -> type[HttpToolsProtocol]:
    """Return the protocol of a service; its connections are counted together."""
    return type(
        "BoundedProtocol",
        (BoundedConnection,),
        {"web": web, "tls": tls, "counted": Connections(web)},
    )


class BoundedConnection(HttpToolsProtocol):
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
        self._at: Literal["head", "body", "end"] = "head"
        """What is awaited: headers, a body, or nothing before the request is answered."""
        self._unfinished = 0
        self._went_on = False

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
        if self.transport.is_closing():  # its last answer is given
            return
        self._unset_keepalive_if_required()
        self._went_on = False
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            # Answered as if it had not asked; what follows may be of another protocol.
            self.cycle.keep_alive = False
        except httptools.HttpParserError as error:
            self._refuse(str(error))
        else:
            self._unfinished = 0 if self._went_on else self._unfinished + len(data)
            if self._unfinished > _HEAD_BYTES:
                self._refuse("the headers are too long")
        self._watch()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; what follows a body is none of its request."""
        if self._at != "body":
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Begin a request. Raises ValueError where it is not plain, or one too many."""
        if len(self.pipeline) >= _PIPELINED:
            raise ValueError("too many requests at once")
        _require_plain(self.parser.get_http_version(), self.url, self.headers)
        super().on_headers_complete()
        self._at, self._went_on = "body", True

    def on_chunk_header(self) -> None:
        """Note that a piece of the body begins."""
        self._went_on = True

    def on_body(self, body: bytes) -> None:
        """Hand over a piece of a body; it is copied only where the one before was not taken."""
        self._went_on, cycle = True, self.cycle
        if cycle.response_complete:
            return
        if not cycle.body:
            cycle.body = body  # type: ignore[assignment]  # taken as `bytes`, which copies none
        else:
            if isinstance(cycle.body, bytes):
                cycle.body = bytearray(cycle.body)
            cycle.body += body
        if len(cycle.body) > HIGH_WATER_LIMIT:
            self.flow.pause_reading()
        cycle.message_event.set()

    def on_message_complete(self) -> None:
        """Note that a request is whole."""
        super().on_message_complete()
        self._at, self._went_on = "end", True

    def on_response_complete(self) -> None:
        """Go on to the next request of the connection, which has its own time."""
        super().on_response_complete()
        if self._at == "end" and self.cycle.response_complete:
            self._at = "head"
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

    def _refuse(self, why: str) -> None:
        """Answer what is not HTTP, and close; where an answer is on its way, only that is given."""
        at, self._at = self._at, "end"
        if at == "head" or self.cycle.response_complete:
            self._answer_refused(why)
        elif at == "end" and not self.pipeline:
            self.cycle.keep_alive = False
            self.transport.pause_reading()
        elif self.pipeline or self.cycle.response_started:
            self.transport.abort()
        else:
            self._answer_refused(why)

    def _answer_refused(self, why: str) -> None:
        twice = all(name in why for name in ("Content-Length", "Transfer-Encoding"))
        problem = _AMBIGUOUS if twice else _NO_REQUEST
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
        if self._at != "head" or self.transport.is_closing():
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
        if self._answered is None and self._at == "body":
            endless = any(name == b"transfer-encoding" for name, _ in self.headers)
            most = _ENDLESS_BYTES if endless else _LINGER_BYTES
            self._answered = _Lingering(self.loop, transport, most)
        return self._answered is not None


def _require_plain(version: str, target: bytes, headers: Sequence[tuple[bytes, bytes]]) -> None:
    """Check what the parser leaves open. Raises ValueError: it could be taken in two ways."""
    size = len(target) + sum(len(name) + len(value) for name, value in headers)
    hosts = sum(name == b"host" for name, _ in headers)
    coded = [value.lower() for name, value in headers if name == b"transfer-encoding"]
    if (
        version not in ("1.0", "1.1")
        or size > _HEAD_BYTES
        or hosts > 1
        or (version == "1.1" and not hosts)
        or (coded and (coded != [b"chunked"] or version == "1.0"))
    ):
        raise ValueError("the headers are not those of a plain request")


class _Lingering:
    """A connection whose answer is sent; what still comes is dropped for a while."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, transport: asyncio.Transport, most_bytes: int
    ) -> None:
        self._transport = transport
        self._left = most_bytes
        self._timer = loop.call_later(LINGER_SECONDS, transport.abort)
        transport.resume_reading()
        try:
            if transport.can_write_eof():
                transport.write_eof()
        except OSError:  # the sender has reset the connection
            transport.abort()

    def dropped(self, size: int) -> None:
        """Count what was dropped."""
        self._left -= size
        if self._left < 0:
            self._transport.abort()

    def end(self) -> None:
        """The other side has closed."""
        self._timer.cancel()


class _Patient:
    """A transport that closes only when its answer had time to arrive.

    The head of an answer leaves with the beginning of its body: each piece that is sent lets
    threads have the interpreter, and the loop then waits for them.
    """

    def __init__(self, transport: asyncio.Transport, protocol: BoundedConnection) -> None:
        self._transport = transport
        self._protocol = protocol
        self._closing = False
        self._held = b""

    def write(self, data: bytes) -> None:
        """Write: a small piece with the next one, or at the end of this turn of the loop."""
        small = len(data) <= _HELD_BYTES
        if small and not self._held:
            self._held = data
            self._protocol.loop.call_soon(self._write)
            return
        if small:
            data, self._held = self._held + data, b""
        self._write()
        self._transport.write(data)

    def _write(self) -> None:
        if self._held:
            data, self._held = self._held, b""
            self._transport.write(data)

    def close(self) -> None:
        """Close, at once or when the sender has read its answer."""
        self._write()
        self._closing = True
        if self._transport.is_closing() or not self._protocol.linger(self._transport):
            self._transport.close()

    def is_closing(self) -> bool:
        """Whether nothing is answered any more."""
        return self._closing or self._transport.is_closing()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


_NO_REQUEST = invalid_request("What was sent is not a request of HTTP/1.1.")
_AMBIGUOUS = problem_of(
    AmbiguousRequest(
        "The request has a Content-Length and a Transfer-Encoding; nothing was done.",
        remedy="Send one of them; who passes requests on should not add the other.",
    )
)
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
        *EVERY_ANSWER.items(),
        *more,
    ]
    lines = [f"HTTP/1.1 {status} {problem.title}", *(f"{name}: {value}" for name, value in headers)]
    return "\r\n".join([*lines, "", ""]).encode() + body
