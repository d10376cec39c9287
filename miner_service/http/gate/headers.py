"""What every answer tells a browser: take it as what it says it is, keep it not, run nothing."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADERS: Mapping[str, str] = {
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    # A picture that is opened by itself may be styled; nothing may be run or loaded.
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline';"
    " frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
}
OVER_TLS: Mapping[str, str] = {"Strict-Transport-Security": "max-age=31536000"}


class SecurityHeaders:
    """Adds the headers to every answer that does not say them itself."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                over_tls = OVER_TLS if scope["scheme"] == "https" else {}
                for name, value in {**HEADERS, **over_tls}.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, send_with)
