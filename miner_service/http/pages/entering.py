"""The way in and out: signing in with a token, signing out, and the files that pages load."""

from __future__ import annotations

import secrets
from contextlib import suppress
from datetime import datetime
from urllib.parse import parse_qs

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from miner_service.http.access.access import Caller, RuledRouter, valid_token
from miner_service.http.access.deps import ServicesDep
from miner_service.http.pages.forms import SentDep
from miner_service.http.pages.rendering import PAGES, page
from miner_service.http.pages.sessions import HOURS, SESSION, VISIT, Visit
from miner_service.services import Services
from miner_service.store.people import MONITOR, no_such
from pramana_core.errors import Unauthenticated
from pramana_core.pages.forms import ROOT, cookie_header

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
    begun = request.state.sessions.begin(token, now)
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
    request.state.sessions.end(request.cookies.get(SESSION, ""), now)
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

    caller: Caller = await request.state.pools.entering.run(look)
    request.state.caller = caller
    return caller


def _form(request: Request, *, then: str, said: str, status: int = 200) -> Response:
    """Return the form, and with it the cookie that its word is for."""
    visit: Visit = request.state.visit
    if not visit.cookie:
        visit = request.state.visit = Visit(None, secrets.token_urlsafe(16), visit.key)
    shown = {"then": _within(then), "said": said, "hours": HOURS}
    answer = page(request, "sign-in.html.j2", title="Sign in", status=status, **shown)
    if visit.token is None:
        over_tls = request.url.scheme == "https"
        answer.headers["Set-Cookie"] = cookie_header(VISIT, visit.cookie, _A_DAY, over_tls=over_tls)
    return answer


def _within(address: str) -> str:
    """Return an address if it is that of a page here; else nothing."""
    plain = address.startswith(f"{ROOT}/") and address.isprintable() and "\\" not in address
    return address if plain and "//" not in address else ""
