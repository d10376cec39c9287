"""The headers of every response, and its count in the figures."""

from __future__ import annotations

import time

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from miner_service.http.access.figures import Figures
from miner_service.http.access.problems import failure_response
from pramana_core.errors import ProtocolUnsupported
from pramana_core.pages.forms import EVERY_ANSWER
from pramana_core.wire.services import PROTOCOL, PROTOCOL_HEADER

_OVER_TLS = {"Strict-Transport-Security": "max-age=31536000"}


class AnswerHeaders:
    """Adds headers to every response, counts it, and rejects other versions of the protocol."""

    def __init__(self, app: ASGIApp, *, figures: Figures) -> None:
        self._app = app
        self._figures = figures

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        began = time.perf_counter()

        async def send_with(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._figures.count(scope, int(message["status"]), time.perf_counter() - began)
                headers = MutableHeaders(raw=message.setdefault("headers", []))
                headers[PROTOCOL_HEADER] = PROTOCOL
                over_tls = _OVER_TLS if scope["scheme"] == "https" else {}
                for name, value in {**EVERY_ANSWER, **over_tls}.items():
                    headers.setdefault(name, value)
            await send(message)

        named = Headers(scope=scope).getlist(PROTOCOL_HEADER)
        if len(named) > 1 or any(version.strip() != PROTOCOL for version in named):
            error = ProtocolUnsupported(
                "This miner does not support the request's version of the protocol, only"
                f" {PROTOCOL}.",
                where=PROTOCOL_HEADER,
                remedy=f"Send the header `{PROTOCOL_HEADER}: {PROTOCOL}`, or install the same"
                " version on both sides.",
            )
            await failure_response(error, scope["path"])(scope, receive, send_with)
            return
        await self._app(scope, receive, send_with)
