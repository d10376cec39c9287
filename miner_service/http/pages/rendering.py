"""How the miner's pages are made of their templates."""

from __future__ import annotations

from typing import Any

from fastapi import Request
from fastapi.responses import Response

from miner_service.http.access.access import Caller
from pramana_core.pages.headers import HEADERS
from pramana_core.pages.rendering import Pages

PAGES = Pages("miner_service.http.pages")


def page(
    request: Request, template: str, *, status: int = 200, title: str, **shown: Any
) -> Response:
    """Return a page.

    Args:
        request: what it answers; it has the visit and, where somebody is signed in, the caller.
        template: a file of `miner_service/http/pages/templates`.
        status: of the answer.
        title: of the page.
        shown: what else the template names.
    """
    state = request.scope.get("state", {})
    caller: Caller | None = state.get("caller")
    written = PAGES.render(template, title=title, who=caller, word=state["visit"].word, **shown)
    return Response(written, status, dict(HEADERS), "text/html")
