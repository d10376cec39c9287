"""The headers, the metrics and the log line of every response."""

from __future__ import annotations

import logging
import secrets
import time

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from miner_service.http.access.figures import Figures
from miner_service.http.access.problems import address_of, failure_response
from miner_service.store.credentials import without_secrets
from pramana_core.errors import ProtocolUnsupported
from pramana_core.pages.forms import EVERY_ANSWER
from pramana_core.wire.services import PROTOCOL, PROTOCOL_HEADER

log = logging.getLogger("miner_service.http.access")

REQUEST_HEADER = "Request-Id"
"""The response header with the id that identifies the request in the log and the audit log."""

_LEVELS = {
    401: logging.WARNING,
    500: logging.ERROR,
    503: logging.WARNING,
    507: logging.WARNING,
}
_LONGEST_PATH = 200
_OVER_TLS = {"Strict-Transport-Security": "max-age=31536000"}


class AnswerHeaders:
    """Adds headers to responses, counts and logs them, and rejects other protocol versions."""

    def __init__(self, app: ASGIApp, *, figures: Figures) -> None:
        self._app = app
        self._figures = figures

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        began, request = time.perf_counter(), f"q-{secrets.token_hex(8)}"
        scope.setdefault("state", {})["request_id"] = request

        async def send_with(message: Message) -> None:
            if message["type"] == "http.response.start":
                seconds = time.perf_counter() - began
                self._figures.count(scope, int(message["status"]), seconds)
                _log(scope, int(message["status"]), seconds)
                headers = MutableHeaders(raw=message.setdefault("headers", []))
                headers[REQUEST_HEADER] = request
                headers[PROTOCOL_HEADER] = PROTOCOL
                over_tls = _OVER_TLS if scope["scheme"] == "https" else {}
                for name, value in {**EVERY_ANSWER, **over_tls}.items():
                    headers.setdefault(name, value)
            await send(message)

        named = Headers(scope=scope).getlist(PROTOCOL_HEADER)
        if len(named) > 1 or any(version.strip() != PROTOCOL for version in named):
            error = ProtocolUnsupported(
                f"The miner supports only version {PROTOCOL} of the protocol.",
                where=PROTOCOL_HEADER,
                remedy=f"Send the header `{PROTOCOL_HEADER}: {PROTOCOL}`, or install the same"
                " version on both sides.",
            )
            await failure_response(error, scope)(scope, receive, send_with)
            return
        await self._app(scope, receive, send_with)


def _log(scope: Scope, status: int, seconds: float) -> None:
    state, route = scope["state"], getattr(scope.get("endpoint"), "__name__", None)
    caller = state.get("caller")
    fields = {
        "method": scope["method"],
        "route": route,
        "path": None if route else without_secrets(scope["path"])[:_LONGEST_PATH],
        "status": status,
        "seconds": round(seconds, 4),
        "role": caller.role if caller else None,
        "caller": caller.name if caller else None,
        # A name that does not exist may be anything, even a token.
        "study": caller.study or (scope["path_params"].get("study") if status < 400 else None)
        if caller
        else None,
        "address": address_of(scope),
        "request": state["request_id"],
        "code": state.get("problem"),
        "reason": state.get("reason") if status in _LEVELS else None,
    }
    shown = {name: value for name, value in fields.items() if value is not None}
    log.log(_LEVELS.get(status, logging.INFO), "request", extra=shown)
