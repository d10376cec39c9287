"""How the owner's pages are made of templates, and what a page says where something failed."""

from __future__ import annotations

from typing import Any

from fastapi import Request, Response

from pramana_core.errors import PramanaError
from pramana_core.pages.headers import HEADERS
from pramana_core.pages.rendering import Pages
from pramana_core.wire.problems import problem_of, unforeseen

PAGES = Pages("owner_agent.pages")

_UNFORESEEN = "The page failed with an unforeseen error; its kind stands at the terminal."


def rendered(template: str, *, status: int = 200, title: str, **shown: Any) -> Response:
    """Return a page.

    Args:
        template: a file of `owner_agent/pages/templates`.
        status: of the answer.
        title: of the page.
        shown: what else the template names; `here` is the tab it stands under.
    """
    named = {"owner": None, "here": "", "word": "", **shown}
    written = PAGES.render(template, title=title, **named)
    return Response(written, status, dict(HEADERS), "text/html")


def page(
    request: Request, template: str, *, status: int = 200, title: str, here: str, **shown: Any
) -> Response:
    """Return a page for who has come in; see `rendered`."""
    owner = request.app.state.owner
    word = request.scope["state"]["word"]
    return rendered(
        template, status=status, title=title, here=here, owner=owner, word=word, **shown
    )


def problem_page(error: Exception) -> Response:
    """Return the page that says what was wrong; of an unforeseen error, not what it says."""
    if isinstance(error, PramanaError):
        told = problem_of(error)
    else:
        told = unforeseen(_UNFORESEEN, remedy=None)
    return rendered("problem.html.j2", status=told.status, title=told.title, problem=told)
