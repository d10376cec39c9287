"""The application of the pages, and its access control by a single-use link that sets a cookie.

A request must name the host that the pages are served at; others are rejected.
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
"""Paths open to everybody on this machine."""

_SECRET_BYTES = 32
_FORM_BYTES = 1 << 16


class Door:
    """Access control: middleware around all pages."""

    def __init__(self, app: ASGIApp, url: str) -> None:
        """Store the application of the pages, and the address at which it is served."""
        self._app = app
        self._url = url
        port = urlsplit(url).port
        self._hosts = {urlsplit(url).netloc, f"localhost:{port}"}
        # Browsers share cookies between ports: two owners on one machine need two names.
        self._cookie_name = f"pramana_owner_{port}"
        self._cookie = secrets.token_urlsafe(_SECRET_BYTES)
        self._key = secrets.token_bytes(_SECRET_BYTES)
        self._link: str | None = secrets.token_urlsafe(_SECRET_BYTES)
        self._opening = threading.Lock()

    @property
    def link(self) -> str:
        """The single-use address that gives a browser access to the pages."""
        return f"{self._url}{ENTER}?key={self._link}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request if it has access."""
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
        except Exception as error:  # noqa: BLE001 - its message may quote a record
            report_failure("A page", error)
            # A second answer would fail, and the server would log this error with the second one.
            if not started:
                await problem_page(error, scope["path"])(scope, receive, guarded)

    def _answer(self, scope: Scope) -> Response | None:
        """Return the answer to the single-use link or to a request without access, else None."""
        headers, path = Headers(scope=scope), scope["path"]
        if path in _OPEN:
            return None
        if headers.get("host", "") not in self._hosts:
            raise Forbidden(
                "These pages are available on this machine only, at the address that"
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
        key = parse_qs(Request(scope).url.query).get("key", [""])[0]
        with self._opening:
            fits = self._link is not None and hmac.compare_digest(key.encode(), self._link.encode())
            if not fits and not known:
                raise _closed()
            if fits:
                self._link = None
        # An own page redirects: browsers send a strict cookie only on navigation within a site.
        answer = rendered("entered.html.j2", scope["path"], title="Open")
        answer.headers["Set-Cookie"] = cookie_header(self._cookie_name, self._cookie)
        return answer


def _require_readable(headers: Headers, method: str) -> None:
    length = headers.get("content-length", "0" if method in ("GET", "HEAD") else "")
    # The server reads a chunked body whatever the stated length.
    if not length or "transfer-encoding" in headers:
        raise LimitExceeded(
            "The request does not state the length of its form, which was not read.",
            where="form",
            remedy="Send the form from the page, or with a Content-Length and without chunked "
            "encoding.",
        )
    if not length.isdecimal() or int(length) > _FORM_BYTES:
        raise LimitExceeded("The form is too long and was not read.", where="form")


def _closed() -> Unauthenticated:
    return Unauthenticated(
        "These pages open with the link that `owner-agent serve` printed, once, in one browser.",
        remedy="To get another link, stop that command with Ctrl-C and start it again. If this "
        "interrupts a publication, publish again to continue.",
    )


_files = APIRouter()


def create_app(site: Path, environment: Environment, url: str) -> Door:
    """Return the application with the pages of a site file. Raises ConfigError."""
    pages = FastAPI(title="Pramana owner's pages", openapi_url=None, docs_url=None, redoc_url=None)
    pages.state.agent = Agent(site, Publications(site, environment), environment)
    pages.state.owner = load_site(site).owner
    # Without Exception the framework would answer unforeseen errors without our page.
    for kind in (PramanaError, RequestValidationError, HTTPException, Exception):
        pages.add_exception_handler(kind, _handle)
    for router in (_files, revealing.router, publishing.router):
        pages.include_router(router, prefix=ROOT)
    pages.add_api_route("/", lambda: RedirectResponse(f".{ROOT}/", 303))
    pages.add_api_route("/healthz", lambda: {"status": "ok"})
    return Door(pages, url)


@_files.get("/static/{name}")
def read_static(name: str) -> Response:
    """Return a static file of the pages."""
    found = PAGES.static(name)
    if found is None:
        raise NotFound("The file does not exist.", where=name)
    body, media = found
    return Response(body, media_type=media, headers={"Cache-Control": "max-age=3600"})


def _handle(request: Request, error: Exception) -> Response:
    match error:
        case RequestValidationError():
            error = InputError("The address is not valid for any page.", where="address")
        case HTTPException():
            error = NotFound("The page does not exist.", where="address")
    return problem_page(error, request.scope["path"])
