"""The way in and out: signing in with a token, signing out, and the files that pages load.

Also here:

* Who is signed in: a sealed cookie that stands for a token, and a row of the session.
* Browsers at the door: their session becomes a token, and problems become pages.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import parse_qs, quote

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV
from fastapi import Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse
from sqlalchemy import delete, select, update
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from miner_service.http.access.access import Caller, RuledRouter, valid_token
from miner_service.http.access.deps import ServicesDep
from miner_service.http.pages.rendering import PAGES, SentDep, page
from miner_service.services import Services
from miner_service.store.people import MONITOR, no_such
from miner_service.store.schema import SessionRow
from pramana_core.errors import NotReady, Unauthenticated
from pramana_core.pages.forms import (
    HEADERS,
    ROOT,
    cookie_header,
    cookies_in,
    form_word,
    require_word,
)
from pramana_core.pages.rendering import relative
from pramana_core.wire.services import PROBLEM_MEDIA_TYPE

HOURS = 8
"""The longest time that somebody stays signed in."""

IDLE = timedelta(minutes=30)
"""A session ends after this time without a request."""

_NOTED = timedelta(minutes=1)
"""How often the use of a session is written down at most."""

_SESSIONS_OF_A_TOKEN = 20
_NONCE = 32

SESSION, VISIT = "pramana_session", "pramana_visit"
"""The cookie of who is signed in, and that of who is about to be."""

_PURPOSE = b"pramana/session/1"


# Who is signed in: a sealed cookie that stands for a token, and a row of the session.
#
# The cookie holds the token, sealed under the service's key. A token that is revoked or expires
# ends it at once, for the token is checked with every request. Forms carry a word that only
# whoever has read a page of the same session can know.
@dataclass(frozen=True)
class Visit:
    """What a browser brought: the token of its session, if it has one, and its cookie."""

    token: str | None
    cookie: str
    key: bytes

    @property
    def word(self) -> str:
        """What every form of this visit carries."""
        return form_word(self.key, self.cookie)

    def require(self, word: str) -> None:
        """Check the word of a form. Raises Forbidden: the form is not of this visit."""
        require_word(self.key, self.cookie, word)


class Sessions:
    """Begins and ends sessions: each is a row, so that what ended stays ended after a restart."""

    def __init__(self, services: Services) -> None:
        self.key = hmac.digest(services.key, _PURPOSE, "sha512")
        self._database = services.database

    def begin(self, token: str, now: datetime) -> str:
        """Return the cookie of a new session of a token."""
        payload = f"{secrets.token_hex(_NONCE // 2)}{token}".encode()
        cookie = urlsafe_b64encode(AESSIV(self.key).encrypt(payload, [_PURPOSE])).decode()
        of_token = SessionRow.token == _id_of(token)
        newest = select(SessionRow.key).where(of_token).order_by(SessionRow.seen.desc())
        with self._database.write() as session:
            session.execute(delete(SessionRow).where(SessionRow.seen <= now - IDLE))
            older = session.scalars(newest.offset(_SESSIONS_OF_A_TOKEN - 1)).all()
            session.execute(delete(SessionRow).where(SessionRow.key.in_(older)))
            begun = {"token": _id_of(token), "began": now, "seen": now}
            session.add(SessionRow(key=_hash(cookie), **begun))
        return cookie

    def end(self, cookie: str) -> None:
        """End a session, whoever still has its cookie."""
        with self._database.write() as session:
            session.execute(delete(SessionRow).where(SessionRow.key == _hash(cookie)))

    def token_in(self, cookie: str, now: datetime) -> str | None:
        """Return the token of a session that has not ended; None of anything else."""
        try:
            sealed = urlsafe_b64decode(cookie.encode("ascii"))
            payload = AESSIV(self.key).decrypt(sealed, [_PURPOSE])
        except (UnicodeError, ValueError, InvalidTag):
            return None
        token = payload.decode()[_NONCE:]
        try:
            with self._database.read() as session:
                row = session.get(SessionRow, _hash(cookie))
        except NotReady:
            return None  # whether it has ended cannot be known
        if row is None or now >= min(row.seen + IDLE, row.began + timedelta(hours=HOURS)):
            return None
        if now - row.seen > _NOTED:
            used = update(SessionRow).where(SessionRow.key == row.key).values(seen=now)
            # Where it cannot be noted, the session counts from its last note.
            with suppress(NotReady), self._database.write() as session:
                session.execute(used)
        return token


def _hash(cookie: str) -> str:
    return hashlib.sha256(cookie.encode()).hexdigest()


def _id_of(token: str) -> str:
    return token.partition(".")[0]


router = RuledRouter(prefix=ROOT, include_in_schema=False)

_HOME = f"{ROOT}/studies"
_A_DAY = 24 * 3600


@router.get("")
async def show_start() -> Response:
    """Lead to the studies."""
    return RedirectResponse(_HOME, 303)


@router.get("/sign-in")
async def show_sign_in(request: Request) -> Response:
    """Show the form that asks for a token."""
    then = parse_qs(request.url.query).get("then", [""])[0]
    return _form(request, then=then, said="" if not then else "Sign in to go on.")


@router.post("/sign-in")
async def sign_in(request: Request, services: ServicesDep, sent: SentDep) -> Response:
    """Begin a session with a token; the cookie ends by itself."""
    token, now = sent.text("token"), services.now()

    try:
        caller = await _name_caller(request, services, token, now)
    except Unauthenticated as error:
        return _form(request, then=sent.text("then"), said=error.message, status=401)
    home = f"{ROOT}/operator" if caller.role == MONITOR else _HOME
    answer = RedirectResponse(_within(sent.text("then")) or home, 303)
    begun = await run_in_threadpool(request.state.sessions.begin, token, now)
    over_tls = request.url.scheme == "https"
    answer.headers.append(
        "Set-Cookie", cookie_header(SESSION, begun, HOURS * 3600, over_tls=over_tls)
    )
    answer.headers.append("Set-Cookie", cookie_header(VISIT, "", 0, over_tls=over_tls))
    return answer


@router.post("/sign-out")
async def sign_out(request: Request, services: ServicesDep, _sent: SentDep) -> Response:
    """End the session, whoever has its cookie."""
    now = services.now()
    if request.state.visit.token is not None:
        with suppress(Unauthenticated):  # a token that is good no more names nobody
            await _name_caller(request, services, request.state.visit.token, now)
        await run_in_threadpool(request.state.sessions.end, request.state.visit.cookie)
    answer = RedirectResponse(f"{ROOT}/sign-in", 303)
    over = cookie_header(SESSION, "", 0, over_tls=request.url.scheme == "https")
    answer.headers["Set-Cookie"] = over
    return answer


@router.get("/static/{name}")
async def read_static(name: str) -> Response:
    """Return a file that pages load."""
    found = PAGES.static(name)
    if found is None:
        raise no_such("file")
    body, media = found
    return Response(body, media_type=media, headers={"Cache-Control": "max-age=3600"})


async def _name_caller(request: Request, services: Services, token: str, now: datetime) -> Caller:
    """Return who has a token, and let the audit log read it. Raises Unauthenticated."""

    def look() -> Caller:
        with services.database.read() as session:
            row = valid_token(session, token, now)
        return Caller(row.id, row.role, row.study, row.name)

    caller: Caller = await request.app.state.gate.pools.entering.run(look)
    request.state.caller = caller
    return caller


def _form(request: Request, *, then: str, said: str, status: int = 200) -> Response:
    """Return the form, and with it the cookie that its word is for."""
    visit: Visit = request.state.visit
    if not visit.cookie:
        visit = request.state.visit = Visit(None, secrets.token_urlsafe(16), visit.key)
    minutes = round(IDLE.total_seconds() / 60)
    shown = {"then": _within(then), "said": said, "hours": HOURS, "minutes": minutes}
    answer = page(request, "sign-in.html.j2", title="Sign in", status=status, **shown)
    if visit.token is None:
        over_tls = request.url.scheme == "https"
        answer.headers["Set-Cookie"] = cookie_header(VISIT, visit.cookie, _A_DAY, over_tls=over_tls)
    return answer


def _within(address: str) -> str:
    """Return an address if it is that of a page here; else nothing."""
    plain = address.startswith(f"{ROOT}/") and address.isprintable() and "\\" not in address
    return address if plain and "//" not in address else ""


_TWINS = re.compile(
    r"/studies|/studies/[^/]+|/studies/[^/]+/(owners|releases|jobs|privacy)"
    r"|/jobs/[^/]+|/models/[^/]+"
)
"""The addresses that there are as JSON under /v1 and as a page."""

SIGN_IN = f"{ROOT}/sign-in"


# Browsers at the door: their session becomes a token, and problems become pages.
#
# Who asks for a page is let in by the same gate as everybody: the token of the session is put where
# the gate looks for one. On other addresses than those of pages a cookie counts for nothing.
class Visitors:
    """The middleware around all pages; what is no page passes, but for who wants one."""

    def __init__(self, app: ASGIApp, *, services: Services) -> None:
        self._app = app
        self._services = services
        self._sessions = Sessions(services)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path = scope["path"]
        if path != ROOT and not path.startswith(f"{ROOT}/"):
            twin = _page_of(path) if _reads(scope) and wants_page(scope) else None
            if twin is None:
                await self._app(scope, receive, send)
            else:
                await RedirectResponse(relative(twin, path), 303, _VARY)(scope, receive, send)
            return
        if _reads(scope) and (document := _json_of(scope)) is not None:
            there = relative(document, path)
            await RedirectResponse(there, 307, _VARY)(scope, receive, send)
            return
        await self._visited(scope, receive, send)

    async def _visited(self, scope: Scope, receive: Receive, send: Send) -> None:
        cookies = cookies_in(Headers(scope=scope).getlist("cookie"))
        cookie, token = cookies.get(SESSION, ""), None
        if cookie:
            now = self._services.now()
            token = await run_in_threadpool(self._sessions.token_in, cookie, now)
        visit = Visit(token, cookie if token else cookies.get(VISIT, ""), self._sessions.key)
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
            _make_relative(message, self._scope["path"])
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


def _make_relative(message: Message, at: str) -> None:
    """Let an answer lead on relative to its page: there may be a prefix before all addresses."""
    headers = MutableHeaders(raw=message["headers"])
    there = headers.get("location", "")
    if there.startswith("/"):
        headers["location"] = relative(there, at)


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
