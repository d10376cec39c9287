"""Which version of the protocol a request is asked and answered in."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from pydantic import TypeAdapter
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from miner_service.http.access.problems import problem_response
from pramana_core.errors import ProtocolUnsupported
from pramana_core.wire.problems import problem_of
from pramana_core.wire.versions import CURRENT, FIRST, PROTOCOL_HEADER, SERVED, grew, written

_OFFERED = " and ".join(map(str, SERVED))


class ProtocolMiddleware:
    """Refuses versions that are not served, and names in each answer the one it is in."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        asked = Headers(scope=scope).getlist(PROTOCOL_HEADER)
        version = _version(asked)
        scope.setdefault("state", {})["protocol"] = version or CURRENT

        async def send_named(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=message.setdefault("headers", []))
                headers[PROTOCOL_HEADER] = str(version or CURRENT)
            await send(message)

        if version is None:
            error = ProtocolUnsupported(
                f"This miner does not speak the version of the protocol that the request names; it"
                f" speaks {_OFFERED}.",
                where=PROTOCOL_HEADER,
                remedy=f"Send the header `{PROTOCOL_HEADER}: {CURRENT}`, or bring both sides to"
                " one version.",
            )
            # Nothing of the body was read, and nobody waits for it.
            told = problem_of(error, instance=scope["path"])
            refused = problem_response(told, {"Connection": "close"})
            await refused(scope, receive, send_named)
            return
        await self._app(scope, receive, send_named)


class VersionedRoute(APIRoute):
    """A route that answers in the version its request was asked in."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what answers a request."""
        answer = super().get_route_handler()
        kind = self.response_model
        if kind is None or not grew(kind):
            return answer
        adapter: TypeAdapter[Any] = TypeAdapter(kind)

        async def answered(request: Request) -> Response:
            response = await answer(request)
            version = protocol_of(request)
            if version == CURRENT or response.media_type != "application/json":
                return response
            message = adapter.validate_json(bytes(response.body))
            body = json.dumps(
                written(message, version), ensure_ascii=False, separators=(",", ":")
            ).encode()
            response.body = body
            response.headers["content-length"] = str(len(body))
            return response

        return answered


def protocol_of(request: Request) -> int:
    """Return the version of the protocol that a request speaks."""
    version: int = getattr(request.state, "protocol", FIRST)
    return version


def _version(asked: list[str]) -> int | None:
    """Return the version that a header names; none is the first; None if it is not served."""
    if not asked:
        return FIRST
    known = {str(version): version for version in SERVED}
    return known.get(asked[0].strip()) if len(asked) == 1 else None
