"""Request bodies, never held beyond their limit.

JSON bodies are read whole before the application sees them, up to their limit. The body of a part
is left to its route, which reads it with `read_limited`.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from miner_service.http.access.problems import problem_response
from shared.errors import LimitExceeded
from shared.wire.problems import problem_of

_PART_PATH = re.compile(r"/v1/releases/[^/]+/parts/[^/]+")


class JsonLimitMiddleware:
    """Refuses a JSON body above its limit with a 413, without reading on."""

    def __init__(self, app: ASGIApp, *, limit: int) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http" or _is_part(scope):
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        try:
            body = await read_limited(request, self._limit, "JSON body")
        except LimitExceeded as error:
            document = problem_of(error, instance=scope["path"])
            response = problem_response(document, {"Connection": "close"})
            await response(scope, receive, send)
            return
        except ClientDisconnect:
            return
        await self._app(scope, _replay(body, receive), send)


async def read_limited(request: Request, limit: int, what: str) -> bytes:
    """Read a body of at most `limit` bytes.

    Raises:
        LimitExceeded: it is longer; no more than `limit` bytes were kept.
        ClientDisconnect: the connection was closed before the body was whole.
    """
    announced = request.headers.get("content-length", "")
    if announced.isdigit() and int(announced) > limit:
        raise _too_long(what, limit)
    body = bytearray()
    async for chunk in _chunks(request):
        if len(body) + len(chunk) > limit:
            raise _too_long(what, limit)
        body += chunk
    return bytes(body)


async def _chunks(request: Request) -> AsyncIterator[bytes]:
    while True:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        yield message.get("body", b"")
        if not message.get("more_body", False):
            return


def _too_long(what: str, limit: int) -> LimitExceeded:
    return LimitExceeded(
        f"The {what} is longer than the {limit} bytes allowed.",
        remedy="Send less at once; a release may have many parts.",
    )


def _is_part(scope: Scope) -> bool:
    return scope["method"] == "PUT" and _PART_PATH.fullmatch(scope["path"]) is not None


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives the body read before, then whatever comes after it."""
    given = False

    async def replayed() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replayed
