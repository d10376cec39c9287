"""Connections of clients: uvicorn's own, with bounds before a request is whole."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MOST_HEADERS = 64 << 10
"""Bytes that may come without completing headers, or bringing a piece of a body."""

HEADER_SECONDS = 10.0
"""How long the headers of a request may take, from the connection or from their first byte."""


class BoundedConnection(HttpToolsProtocol):
    """A connection that is closed where headers are long or slow, or connections are too many."""

    _timer: asyncio.TimerHandle | None = None
    _useless = 0
    _advanced = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection, unless there are as many as there may be."""
        super().connection_made(transport)
        if self.limit_concurrency is not None and len(self.connections) > self.limit_concurrency:
            transport.abort()
            return
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a connection."""
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read what came; close the connection where it brings a request no further."""
        self._advanced = False
        super().data_received(data)
        self._useless = 0 if self._advanced else self._useless + len(data)
        if self._useless > MOST_HEADERS:
            self.transport.abort()

    def on_message_begin(self) -> None:
        """Begin to wait for headers."""
        super().on_message_begin()
        self._start_timer()

    def on_headers_complete(self) -> None:
        """Begin a request whose headers are there."""
        self._stop_timer()
        self._advanced = True
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a piece of a body."""
        self._advanced = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        """End a request."""
        self._advanced = True
        super().on_message_complete()

    def _start_timer(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(HEADER_SECONDS, self.transport.abort)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
