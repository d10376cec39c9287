"""Client connections: uvicorn's protocol, with limits that apply before a request is complete."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MOST_HEADERS = 64 << 10
"""The maximum number of bytes received without complete headers or a further piece of a body."""

HEADER_SECONDS = 10.0
"""The maximum time for a request's headers, in seconds, from the connection or their first byte."""


class BoundedConnection(HttpToolsProtocol):
    """Closes connections with long or slow headers, and connections beyond the maximum count."""

    _timer: asyncio.TimerHandle | None = None
    _useless = 0
    _advanced = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept a connection, unless the maximum is reached."""
        super().connection_made(transport)
        if self.limit_concurrency is not None and len(self.connections) > self.limit_concurrency:
            transport.abort()
            return
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer of a closed connection."""
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Process received data; close the connection if a request makes no progress."""
        self._advanced = False
        super().data_received(data)
        self._useless = 0 if self._advanced else self._useless + len(data)
        if self._useless > MOST_HEADERS:
            self.transport.abort()

    def on_message_begin(self) -> None:
        """Start the timer for headers."""
        super().on_message_begin()
        self._start_timer()

    def on_headers_complete(self) -> None:
        """Stop the timer for headers."""
        self._stop_timer()
        self._advanced = True
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Count a piece of a body as progress."""
        self._advanced = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Count the end of a request as progress."""
        self._advanced = True
        super().on_message_complete()

    def _start_timer(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(HEADER_SECONDS, self.transport.abort)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
