"""The application of the pages, and its door: a link that works once becomes a cookie.

A request for another host than the one that is served is refused.
"""

from __future__ import annotations

import hmac
import secrets
import threading
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from owner_agent.http import report_failure
from owner_agent.pages import publishing, revealing
from owner_agent.pages.publications import Publications
from owner_agent.pages.rendering import PAGES, Agent, problem_page, rendered
from owner_agent.site.site import load_site
from owner_agent.state.environment import Environment
from pramana_core.errors import (
    Forbidden,
    InputError,
    LimitExceeded,
    NotFound,
    PramanaError,
    Unauthenticated,
)
from pramana_core.pages.forms import EVERY_ANSWER, ROOT, cookie_header, cookies_in, form_word

ENTER = f"{ROOT}/enter"
_STATIC = f"{ROOT}/static/"
_OPEN = ("/", "/healthz")
"""What anybody on this machine may ask for."""

_SECRET_BYTES = 32
_FORM_BYTES = 1 << 16


class Door:
    """The middleware around all pages."""

    def __init__(self, app: ASGIApp, url: str) -> None:
        """Take the pages, and the address that is listened on."""
        self._app = app
        self._url = url
        port = urlsplit(url).port
        self._hosts = {urlsplit(url).netloc, f"localhost:{port}"}
        # Cookies are of all ports of a host: two owners on one machine have one each.
        self._cookie_name = f"pramana_owner_{port}"
        self._cookie = secrets.token_urlsafe(_SECRET_BYTES)
        self._key = secrets.token_bytes(_SECRET_BYTES)
        self._link: str | None = secrets.token_urlsafe(_SECRET_BYTES)
        self._opening = threading.Lock()

    @property
    def link(self) -> str:
        """The address that opens the pages, once."""
        return f"{self._url}{ENTER}?key={self._link}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        started = False

        async def guarded(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(raw=message["headers"])
                for name, value in EVERY_ANSWER.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            answer = self._answer(scope)
        except PramanaError as error:
            answer = problem_page(error, scope["path"])
        if answer is not None:
            await answer(scope, receive, guarded)
            return
        try:
            await self._app(scope, receive, guarded)
        except Exception as error:  # noqa: BLE001 - what it says may quote a record
            report_failure("A page", error)
            # A second answer would fail, and the server would log this error with that one.
            if not started:
                await problem_page(error, scope["path"])(scope, receive, guarded)

    def _answer(self, scope: Scope) -> Response | None:
        """Return what is said at the door; None where the request may pass."""
        headers, path = Headers(scope=scope), scope["path"]
        if path in _OPEN:
            return None
        if headers.get("host", "") not in self._hosts:
            raise Forbidden(
                "These pages are served to this machine alone, under the address that"
                " `owner-agent serve` printed.",
                where="Host",
                remedy="Open that address.",
            )
        given = cookies_in(headers.getlist("cookie")).get(self._cookie_name, "")
        known = hmac.compare_digest(given.encode(), self._cookie.encode())
        if path == ENTER and scope["method"] == "GET":
            return self._opened(scope, known=known)
        if path.startswith(_STATIC):
            return None
        if not known:
            raise _closed()
        _require_readable(headers, scope["method"])
        scope.setdefault("state", {}).update(key=self._key, cookie=self._cookie)
        scope["state"]["word"] = form_word(self._key, self._cookie)
        return None

    def _opened(self, scope: Scope, *, known: bool) -> Response:
        """Take the link, which is then used up, and give the cookie for it."""
        key = parse_qs(Request(scope).url.query).get("key", [""])[0]
        with self._opening:
            fits = self._link is not None and hmac.compare_digest(key.encode(), self._link.encode())
            if not fits and not known:
                raise _closed()
            if fits:
                self._link = None
        # A page of ours leads on: a browser sends a strict cookie only where our own site leads.
        answer = rendered("entered.html.j2", scope["path"], title="Open")
        answer.headers["Set-Cookie"] = cookie_header(self._cookie_name, self._cookie)
        return answer


def _require_readable(headers: Headers, method: str) -> None:
    """Check that a request says how long it is, and that this is no more than a form may be."""
    length = headers.get("content-length", "0" if method in ("GET", "HEAD") else "")
    # The server reads a body in chunks whatever length is said beside it.
    if not length or "transfer-encoding" in headers:
        raise LimitExceeded(
            "A form that does not say how long it is is not read.",
            where="form",
            remedy="Send it from the page, or with a Content-Length and in one piece.",
        )
    if not length.isdecimal() or int(length) > _FORM_BYTES:
        raise LimitExceeded("A form of that length is not read.", where="form")


def _closed() -> Unauthenticated:
    return Unauthenticated(
        "These pages open by the link that `owner-agent serve` printed, and it works once, in one"
        " browser.",
        remedy="Stop that command with Ctrl-C and start it again: it prints another link. What was"
        " being published goes on where it was.",
    )


_files = APIRouter()


def create_app(site: Path, environment: Environment, url: str) -> Door:
    """Return the pages of a site file, served at an address. Raises ConfigError."""
    pages = FastAPI(title="Pramana owner's pages", openapi_url=None, docs_url=None, redoc_url=None)
    pages.state.agent = Agent(site, Publications(site, environment), environment)
    pages.state.owner = load_site(site).owner
    # Without Exception the framework would answer what was unforeseen, and not with our page.
    for kind in (PramanaError, RequestValidationError, HTTPException, Exception):
        pages.add_exception_handler(kind, _handle)
    for router in (_files, revealing.router, publishing.router):
        pages.include_router(router, prefix=ROOT)
    pages.add_api_route("/", lambda: RedirectResponse(f".{ROOT}/", 303))
    pages.add_api_route("/healthz", lambda: {"status": "ok"})
    return Door(pages, url)


@_files.get("/static/{name}")
def read_static(name: str) -> Response:
    """Return a file that pages load."""
    found = PAGES.static(name)
    if found is None:
        raise NotFound("There is no such file.", where=name)
    body, media = found
    return Response(body, media_type=media, headers={"Cache-Control": "max-age=3600"})


def _handle(request: Request, error: Exception) -> Response:
    match error:
        case RequestValidationError():
            error = InputError("The address is not that of a page.", where="address")
        case HTTPException():
            error = NotFound("There is no such page.", where="address")
    return problem_page(error, request.scope["path"])
