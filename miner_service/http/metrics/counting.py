"""Counts each request when its answer starts."""

from __future__ import annotations

import time
from http import HTTPStatus

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from miner_service.http.metrics.figures import Figures

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"})
NO_ROUTE = "none"


class CountingMiddleware:
    """Counts requests and what came with them; without figures it only passes them on."""

    def __init__(self, app: ASGIApp, *, figures: Figures | None) -> None:
        self._app = app
        self._figures = figures

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        figures = self._figures
        if scope["type"] != "http" or figures is None:
            await self._app(scope, receive, send)
            return
        began, got = time.perf_counter(), 0

        async def receive_counting() -> Message:
            nonlocal got
            message = await receive()
            got += len(message.get("body", b""))
            return message

        async def send_counting(message: Message) -> None:
            if message["type"] == "http.response.start":
                _count(figures, scope, int(message["status"]), time.perf_counter() - began, got)
            await send(message)

        await self._app(scope, receive_counting, send_counting)


def _count(figures: Figures, scope: Scope, status: int, seconds: float, got: int) -> None:
    # The name of a function: nothing that a client chose is ever a label.
    route = getattr(scope.get("endpoint"), "__name__", NO_ROUTE)
    method = scope["method"] if scope["method"] in _METHODS else "other"
    requests, took = figures.of_request(route, method, status)
    requests.inc()
    took.observe(seconds)
    code = scope.get("state", {}).get("problem")
    if code is not None:
        figures.problems.labels(code).inc()
    if route == "put_part" and status == HTTPStatus.CREATED:
        figures.parts.inc()
        figures.part_bytes.inc(got)
