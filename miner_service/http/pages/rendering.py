"""Common code of pages: forms, lists, and sentences on releases.

Each form contains the secret word of its visit, which forms from other sites lack (CSRF).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel, ValidationError

from miner_service.http.access.access import Caller
from miner_service.store.paging import Paging
from pramana_core.errors import InputError
from pramana_core.pages.forms import HEADERS, SentForm
from pramana_core.pages.rendering import Pages
from pramana_core.pages.words import named, plan_words
from pramana_core.rounding import rounded_up
from pramana_core.wire.releases import Release

PAGES = Pages("miner_service.http.pages")


def page(
    request: Request, template: str, *, status: int = 200, title: str, **shown: Any
) -> Response:
    """Return a page from a template, with its title, the caller and the values in `shown`."""
    state = request.scope.get("state", {})
    caller: Caller | None = state.get("caller")
    known = {"title": title, "who": caller, "word": state["visit"].word}
    written = PAGES.render(template, address=request.scope["path"], **known, **shown)
    return Response(written, status, dict(HEADERS), "text/html")


async def get_sent(request: Request) -> SentForm:
    """Return the submitted form of a request. Raises InputError, Forbidden."""
    sent = SentForm.of(await request.body())
    request.state.visit.require(sent.text("word"))
    return sent


SentDep = Annotated[SentForm, Depends(get_sent)]

Read = TypeVar("Read", bound=BaseModel)


def read_message(message: type[Read], fields: Any, leave_out: int = 0) -> Read:
    """Return the message that a form describes. Raises InputError."""
    try:
        return message.model_validate(fields)
    except ValidationError as error:
        wrong = error.errors()[0]
        where = ".".join(map(str, wrong["loc"][leave_out:])) or "form"
        why = _NAME if wrong["type"] == "string_pattern_mismatch" else wrong["msg"]
        raise InputError(
            f"{where.replace('_', ' ')}: {why}.", where=where, remedy="Correct this field."
        ) from error


_NAME = "use only letters, digits and . _ -, at most 64"

SHOWN = 50
"""Rows per page."""


async def get_newest(cursor: Annotated[str | None, Query(max_length=64)] = None) -> Paging:
    """Return the requested page of a list, newest first."""
    return newest(SHOWN, cursor)


def newest(limit: int, cursor: str | None = None) -> Paging:
    """Return the paging for the newest rows of a list."""
    return Paging(limit, cursor, newest=True)


NewestDep = Annotated[Paging, Depends(get_newest)]


def release_words(release: Release) -> list[str]:
    """Return sentences on the content and protection of a release."""
    return list(_words(_ReleaseContent(release.kind, release.content_digest, release.content)))


@dataclass(frozen=True)
class _ReleaseContent:
    """A release's content, compared by its digest so that it can be the key of a cache."""

    kind: str
    digest: str
    content: Any = field(compare=False, repr=False)


@lru_cache(maxsize=1024)
def _words(release: _ReleaseContent) -> tuple[str, ...]:
    content = release.content
    if release.kind == "masked-records":
        masked = [column.name for column in content.columns if column.role == "masked"]
        unmasked = [column.name for column in content.columns if column.role == "told"]
        unchanged = f"{named(unmasked)}: released unchanged." if unmasked else ""
        first = f"{named(masked)}: masked by {content.method}."
        return tuple(one for one in (first, unchanged, *content.protection) if one)
    if release.kind == "knowledge-model":
        if content.tree is None:
            return ("A withdrawn knowledge model.",)
        noise = "" if content.epsilon is None else f", epsilon {rounded_up(content.epsilon)}"
        return (f"A decision tree with {content.counts} counts{noise}.", *content.protection)
    return tuple(plan_words(content.to_plan()))
