"""The application of the pages, and how it is put beside the agent's."""

from __future__ import annotations

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse
from starlette.exceptions import HTTPException

from owner_agent.http.service import Agent
from owner_agent.pages import peers, publishing, revealing
from owner_agent.pages.door import Door
from owner_agent.pages.rendering import PAGES, problem_page
from owner_agent.site.site import load_site
from pramana_core.errors import InputError, NotFound, PramanaError
from pramana_core.pages.forms import ROOT

_files = APIRouter()


def add_pages(app: FastAPI, url: str) -> str:
    """Serve the pages beside the agent's JSON; return the link that opens them, once.

    Args:
        app: the agent's application.
        url: the address that is listened on, of this machine.

    Raises:
        ConfigError: the site file is wrong.
    """
    agent: Agent = app.state.agent
    pages = FastAPI(title="Pramana owner's pages", openapi_url=None, docs_url=None, redoc_url=None)
    pages.state.agent = agent
    pages.state.owner = load_site(agent.site).owner
    # Without Exception the framework would answer what was unforeseen, and not with our page.
    for kind in (PramanaError, RequestValidationError, HTTPException, Exception):
        pages.add_exception_handler(kind, _handle)
    for router in (_files, revealing.router, publishing.router, peers.router):
        pages.include_router(router)
    door = Door(pages, url)
    app.mount(ROOT, door)
    app.add_api_route("/", _start, include_in_schema=False)
    return door.link


def _start() -> Response:
    return RedirectResponse(f"{ROOT}/", 303)


@_files.get("/static/{name}")
def read_static(name: str) -> Response:
    """Return a file that pages load."""
    found = PAGES.static(name)
    if found is None:
        raise NotFound("There is no such file.", where=name)
    body, media = found
    return Response(body, media_type=media, headers={"Cache-Control": "max-age=3600"})


def _handle(_request: Request, error: Exception) -> Response:
    match error:
        case RequestValidationError():
            return problem_page(InputError("The address is not that of a page.", where="address"))
        case HTTPException():
            return problem_page(NotFound("There is no such page.", where="address"))
        case _:
            return problem_page(error)
