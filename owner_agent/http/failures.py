"""What an unforeseen error leaves at the terminal: its kind and its place.

What such an error says may quote a record, and a server or a thread that ends by it would print
that, with all the errors before it.
"""

from __future__ import annotations

import traceback
from pathlib import Path

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pramana_core.terminal import console


def tell_failure(what: str, error: Exception) -> None:
    """Print that something failed, by which kind of error, and where that was raised."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    words = f"{what} failed: {type(error).__name__}."
    words += f" It was raised at {Path(place.filename).name}, line {place.lineno}."
    console(stderr=True).print(words, markup=False, soft_wrap=True)


class ToldByKind:
    """The middleware around the whole agent: no error goes on to the server, which would log it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except Exception as error:
            if scope["type"] != "http":
                raise
            tell_failure("A request", error)
            if not started:
                await PlainTextResponse("Internal Server Error", 500)(scope, receive, watched)
