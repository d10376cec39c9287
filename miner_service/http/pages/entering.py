"""Signing in with a token, signing out, and static files."""

from __future__ import annotations

import hmac
import json
import secrets
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import parse_qs, quote

from fastapi import Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from miner_service.http.access.access import SESSION, Caller, valid_token
from miner_service.http.access.deps import ServicesDep
from miner_service.http.access.routing import RuledRouter
from miner_service.http.pages.rendering import PAGES, SentDep, page
from miner_service.services import Services
from miner_service.store.people import MONITOR, no_such
from miner_service.store.sessions import HOURS, IDLE, begin_session, end_session
from pramana_core.errors import Unauthenticated
from pramana_core.pages.forms import (
    HEADERS,
    ROOT,
    cookie_header,
    cookies_in,
    form_word,
    require_word,
)
from pramana_core.pages.rendering import relative
from pramana_core.wire.privacy import AccessFile
from pramana_core.wire.services import PROBLEM_MEDIA_TYPE

SESSION_COOKIE, VISIT_COOKIE = "pramana_session", "pramana_visit"
"""The cookies after and before signing in."""

_PURPOSE = b"pramana/session/1"
_HOME = f"{ROOT}/studies"
SIGN_IN = f"{ROOT}/sign-in"
_A_DAY = 24 * 3600


@dataclass(frozen=True)
class Visit:
    """A browser's cookie, and the word derived from it that every form must contain.

    The word protects against forged forms from other sites.
    """

    cookie: str
    signed_in: bool
    key: bytes

    @property
    def word(self) -> str:
        """The word that every form of this visit contains."""
        return form_word(self.key, self.cookie)

    def require(self, word: str) -> None:
        """Check the word of a submitted form. Raises Forbidden if it belongs to another visit."""
        require_word(self.key, self.cookie, word)


router = RuledRouter(prefix=ROOT, include_in_schema=False)


@router.get("")
async def show_start() -> Response:
    """Redirect to the studies."""
    return RedirectResponse(_HOME, 303)


@router.get("/sign-in")
async def show_sign_in(request: Request) -> Response:
    """Show the form for signing in."""
    then = parse_qs(request.url.query).get("then", [""])[0]
    return _form(request, then=then, notice="" if not then else "Sign in to go on.")


@router.post("/sign-in")
async def sign_in(request: Request, services: ServicesDep, sent: SentDep) -> Response:
    """Begin a session with a token, or with an access file. Redirect to the file's study."""
    try:
        token, study = _token_and_study(sent.text("token"))
        caller = await _name_caller(request, services, f"Bearer {token}")
    except Unauthenticated as error:
        request.state.problem, request.state.reason = error.code, error.message
        return _form(request, then=sent.text("then"), notice=error.message, status=401)

    def begin() -> str:
        with services.database.write() as session:
            return begin_session(session, caller.token, services.now())

    home = f"{ROOT}/operator" if caller.role == MONITOR else f"{_HOME}{study}"
    answer = RedirectResponse(_own_address(sent.text("then")) or home, 303)
    begun, over_tls = await run_in_threadpool(begin), request.url.scheme == "https"
    for name, value, seconds in ((SESSION_COOKIE, begun, HOURS * 3600), (VISIT_COOKIE, "", 0)):
        header = cookie_header(name, value, seconds, over_tls=over_tls)
        answer.headers.append("Set-Cookie", header)
    return answer


@router.post("/sign-out")
async def sign_out(request: Request, services: ServicesDep, _sent: SentDep) -> Response:
    """End the session of the request's cookie."""
    visit: Visit = request.state.visit

    def end() -> None:
        with services.database.write() as session:
            end_session(session, visit.cookie)

    if visit.signed_in:
        with suppress(Unauthenticated):  # an expired token identifies nobody
            await _name_caller(request, services, f"{SESSION} {visit.cookie}")
        await run_in_threadpool(end)
    answer = RedirectResponse(SIGN_IN, 303)
    over = cookie_header(SESSION_COOKIE, "", 0, over_tls=request.url.scheme == "https")
    answer.headers["Set-Cookie"] = over
    return answer


@router.get("/static/{name}")
async def read_static(name: str) -> Response:
    """Return a static file."""
    found = PAGES.static(name)
    if found is None:
        raise no_such("file")
    body, media = found
    return Response(body, media_type=media, headers={"Cache-Control": "max-age=3600"})


def _token_and_study(text: str) -> tuple[str, str]:
    """Return a token, and the path of its study if the text is an access file."""
    if not text.startswith("{"):
        return text, ""
    try:
        file = AccessFile.model_validate_json(text)
    except ValueError:
        raise Unauthenticated(
            "This is not an access file. Use an invitation with `owner-agent join`.", where="token"
        ) from None
    return file.token, f"/{file.study}"


async def _name_caller(request: Request, services: Services, header: str) -> Caller:
    """Return a token's holder, and set it for the audit log. Raises Unauthenticated."""

    def look() -> Caller:
        with services.database.read() as session:
            row = valid_token(session, header, services.now())
        return Caller(row.id, row.role, row.study, row.name)

    caller: Caller = await request.app.state.gate.pools.entering.run(look)
    request.state.caller = caller
    return caller


def _form(request: Request, *, then: str, notice: str, status: int = 200) -> Response:
    visit: Visit = request.state.visit
    if not visit.cookie:
        visit = Visit(secrets.token_urlsafe(16), signed_in=False, key=visit.key)
        request.state.visit = visit
    minutes = round(IDLE.total_seconds() / 60)
    shown = {"then": _own_address(then), "notice": notice, "hours": HOURS, "minutes": minutes}
    answer = page(request, "sign-in.html.j2", title="Sign in", status=status, **shown)
    if not visit.signed_in:
        over_tls = request.url.scheme == "https"
        cookie = cookie_header(VISIT_COOKIE, visit.cookie, _A_DAY, over_tls=over_tls)
        answer.headers["Set-Cookie"] = cookie
    return answer


def _own_address(address: str) -> str:
    """Return an address if it is a page of this service, otherwise ""."""
    plain = address.startswith(f"{ROOT}/") and address.isprintable() and "\\" not in address
    return address if plain and "//" not in address else ""


class Visitors:
    """Middleware of pages: moves the cookie of a session into the `Authorization` header."""

    def __init__(self, app: ASGIApp, *, services: Services) -> None:
        self._app = app
        self._key = hmac.digest(services.key, _PURPOSE, "sha512")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        path = scope["path"] if scope["type"] == "http" else ""
        if path == "/" and _reads(scope):
            await RedirectResponse(relative(_HOME, path), 303)(scope, receive, send)
        elif path == ROOT or path.startswith(f"{ROOT}/"):
            cookies = cookies_in(Headers(scope=scope).getlist("cookie"))
            session = cookies.get(SESSION_COOKIE, "")
            cookie = session or cookies.get(VISIT_COOKIE, "")
            visit = Visit(cookie, signed_in=bool(session), key=self._key)
            scope.setdefault("state", {})["visit"] = visit
            kept = [(name, value) for name, value in scope["headers"] if name != b"authorization"]
            if session:
                kept.append((b"authorization", f"{SESSION} {session}".encode("latin-1", "replace")))
            scope["headers"] = kept
            await self._app(scope, receive, _AsPage(scope, send).send)
        else:
            await self._app(scope, receive, send)


class _AsPage:
    """Converts problem responses into pages, or into redirects for signing in."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self._scope = scope
        self._send = send
        self._problem: Message | None = None
        self._body = b""

    async def send(self, message: Message) -> None:
        """Pass on a response. A problem document is collected first until it is complete."""
        if message["type"] == "http.response.start":
            kind = MutableHeaders(raw=message["headers"]).get("content-type", "")
            if kind == PROBLEM_MEDIA_TYPE:
                self._problem = message
                return
            # A proxy may add a prefix to all addresses.
            headers = MutableHeaders(raw=message["headers"])
            if (there := headers.get("location", "")).startswith("/"):
                headers["location"] = relative(there, self._scope["path"])
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
            way_in = relative(f"{SIGN_IN}?then={quote(there)}", there)
            response = RedirectResponse(way_in, 303, HEADERS)
        else:
            visit, caller = self._scope["state"]["visit"], self._scope["state"].get("caller")
            written = PAGES.render(
                "problem.html.j2",
                address=self._scope["path"],
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


def _reads(scope: Scope) -> bool:
    return scope["method"] in ("GET", "HEAD")
