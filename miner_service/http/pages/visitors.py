"""Browsers at the door: their session becomes a token, and problems become pages.

Who asks for a page is let in by the same gate as everybody: the token of the session is put where
the gate looks for one. On other addresses than those of pages a cookie counts for nothing.
"""

from __future__ import annotations

import json
import re
from urllib.parse import quote

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from miner_service.http.pages.rendering import PAGES
from miner_service.http.pages.sessions import SESSION, Sessions
from miner_service.services import Services
from pramana_core.pages.forms import ROOT, cookie_header, cookies_in
from pramana_core.pages.headers import HEADERS
from pramana_core.wire.problems import PROBLEM_MEDIA_TYPE

_TWINS = re.compile(
    r"/studies|/studies/[^/]+|/studies/[^/]+/(owners|releases|jobs|privacy)"
    r"|/jobs/[^/]+|/models/[^/]+"
)
"""The addresses that there are as JSON under /v1 and as a page."""

SIGN_IN = f"{ROOT}/sign-in"


class Visitors:
    """The middleware around all pages; what is no page passes, but for who wants one."""

    def __init__(self, app: ASGIApp, *, services: Services) -> None:
        self._app = app
        self._services = services
        self._sessions = Sessions(services.cursors.key)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path = scope["path"]
        if path != ROOT and not path.startswith(f"{ROOT}/"):
            twin = _page_of(path) if _reads(scope) and wants_page(scope) else None
            served = self._app if twin is None else RedirectResponse(twin, 303, _VARY)
            await served(scope, receive, send)
            return
        if _reads(scope) and (told := _json_of(scope)) is not None:
            await RedirectResponse(told, 307, _VARY)(scope, receive, send)
            return
        await self._visited(scope, receive, send)

    async def _visited(self, scope: Scope, receive: Receive, send: Send) -> None:
        now = self._services.now()
        visit = self._sessions.visit(cookies_in(Headers(scope=scope).getlist("cookie")), now)
        scope.setdefault("state", {}).update(visit=visit, sessions=self._sessions)
        kept = [(name, value) for name, value in scope["headers"] if name != b"authorization"]
        if visit.token is not None:
            kept.append((b"authorization", b"Bearer " + visit.token.encode()))
        scope["headers"] = kept
        await self._app(scope, receive, _AsPage(scope, send).send)


class _AsPage:
    """What is answered to a browser: a problem as a page, or as the way to sign in."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self._scope = scope
        self._send = send
        self._problem: Message | None = None
        self._body = b""

    async def send(self, message: Message) -> None:
        """Pass an answer on; that of a problem when it is whole."""
        if message["type"] == "http.response.start":
            kind = MutableHeaders(raw=message["headers"]).get("content-type", "")
            if kind == PROBLEM_MEDIA_TYPE:
                self._problem = message
                return
        if self._problem is None:
            await self._send(message)
            return
        self._body += message.get("body", b"")
        if not message.get("more_body"):
            await self._answer(self._problem["status"], json.loads(self._body))

    async def _answer(self, status: int, problem: dict[str, str]) -> None:
        response: Response
        if status == 401 and _reads(self._scope):
            there = self._scope["path"]
            response = RedirectResponse(f"{SIGN_IN}?then={quote(there)}", 303, HEADERS)
            if self._scope["state"]["visit"].cookie:
                over = cookie_header(SESSION, "", 0, over_tls=self._scope["scheme"] == "https")
                response.headers["Set-Cookie"] = over
        else:
            visit, caller = self._scope["state"]["visit"], self._scope["state"].get("caller")
            written = PAGES.render(
                "problem.html.j2",
                title=problem["title"],
                who=caller,
                word=visit.word,
                problem=problem,
                status=status,
            )
            response = Response(written, status, dict(HEADERS), "text/html")
        await response(self._scope, _nothing, self._send)


async def _nothing() -> Message:
    return {"type": "http.disconnect"}


_VARY = {"Vary": "Accept"}


def wants_page(scope: Scope) -> bool:
    """Whether a sender names HTML among what it takes, as browsers do, and not JSON before it."""
    named = [part.partition(";")[0].strip() for part in _accepted(scope).split(",")]
    html = named.index("text/html") if "text/html" in named else None
    return html is not None and "application/json" not in named[:html]


def _accepted(scope: Scope) -> str:
    return ",".join(Headers(scope=scope).getlist("accept")).lower()


def _reads(scope: Scope) -> bool:
    return scope["method"] in ("GET", "HEAD")


def _page_of(path: str) -> str | None:
    """Return the page of what the API has at an address."""
    if path in ("/", "/v1/dashboard"):
        return f"{ROOT}/studies"
    inner = path.removeprefix("/v1")
    return f"{ROOT}{quote(inner)}" if inner != path and _TWINS.fullmatch(inner) else None


def _json_of(scope: Scope) -> str | None:
    """Return where the JSON of a page is, for whoever asks for that."""
    inner = scope["path"].removeprefix(ROOT)
    wanted = "application/json" in _accepted(scope) and not wants_page(scope)
    return f"/v1{quote(inner)}" if wanted and _TWINS.fullmatch(inner) else None
