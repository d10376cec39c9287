"""Which version of the protocol a request may name."""

from __future__ import annotations

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from miner_service.http.access.problems import problem_response
from pramana_core.errors import ProtocolUnsupported
from pramana_core.wire.problems import problem_of
from pramana_core.wire.versions import PROTOCOL, PROTOCOL_HEADER


class ProtocolMiddleware:
    """Refuses other versions than the one that is served, and names it in each answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        asked = Headers(scope=scope).getlist(PROTOCOL_HEADER)

        async def send_named(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=message.setdefault("headers", []))
                headers[PROTOCOL_HEADER] = PROTOCOL
            await send(message)

        if len(asked) > 1 or any(named.strip() != PROTOCOL for named in asked):
            error = ProtocolUnsupported(
                f"This miner does not speak the version of the protocol that the request names; it"
                f" speaks {PROTOCOL}.",
                where=PROTOCOL_HEADER,
                remedy=f"Send the header `{PROTOCOL_HEADER}: {PROTOCOL}`, or bring both sides to"
                " one version.",
            )
            # Nothing of the body was read, and nobody waits for it.
            told = problem_of(error, instance=scope["path"])
            refused = problem_response(told, {"Connection": "close"})
            await refused(scope, receive, send_named)
            return
        await self._app(scope, receive, send_named)
