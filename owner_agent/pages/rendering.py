"""Request dependencies and templates that several pages use."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, Request, Response

from owner_agent.pages.publications import Publications
from owner_agent.site.site import Site, load_site
from owner_agent.state.environment import Environment
from pramana_core.errors import PramanaError
from pramana_core.pages.forms import HEADERS, SentForm, require_word
from pramana_core.pages.rendering import Pages
from pramana_core.wire.services import problem_of, unforeseen

PAGES = Pages("owner_agent.pages")


@dataclass(frozen=True)
class Agent:
    """The state of the pages: the publications, and the site file, read for each request."""

    site: Path
    publications: Publications
    environment: Environment


_UNFORESEEN = "The page failed with an unforeseen error; the terminal shows its kind."


def rendered(
    template: str, address: str, *, status: int = 200, title: str, **shown: Any
) -> Response:
    """Return a page from a template, with links relative to the page's address."""
    named = {"owner": None, "here": "", "word": "", **shown}
    written = PAGES.render(template, address=address, title=title, **named)
    return Response(written, status, dict(HEADERS), "text/html")


def page(
    request: Request, template: str, *, status: int = 200, title: str, here: str, **shown: Any
) -> Response:
    """Return a page for a reader with access, from a template (see `rendered`)."""
    owner = request.app.state.owner
    word = request.scope["state"]["word"]
    at = request.scope["path"]
    return rendered(
        template, at, status=status, title=title, here=here, owner=owner, word=word, **shown
    )


def problem_page(error: Exception, address: str) -> Response:
    """Return the page that shows an error; the message of an unforeseen error is not shown."""
    if isinstance(error, PramanaError):
        problem = problem_of(error)
    else:
        problem = unforeseen(_UNFORESEEN, remedy=None)
    status, title = problem.status, problem.title
    return rendered("problem.html.j2", address, status=status, title=title, problem=problem)


def get_agent(request: Request) -> Agent:
    """Return the state of the pages."""
    agent: Agent = request.app.state.agent
    return agent


AgentDep = Annotated[Agent, Depends(get_agent)]


def get_site(agent: AgentDep) -> Site:
    """Return the site, read from its current file. Raises ConfigError."""
    return load_site(agent.site)


SiteDep = Annotated[Site, Depends(get_site)]


async def get_sent(request: Request) -> SentForm:
    """Return the form sent with a request. Raises InputError, Forbidden."""
    sent = SentForm.of(await request.body())
    state = request.scope["state"]
    require_word(state["key"], state["cookie"], sent.text("word"))
    return sent


SentDep = Annotated[SentForm, Depends(get_sent)]
