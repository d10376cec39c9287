"""The form that a request brings, if a page of the session that sends it made it."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from pramana_core.pages.forms import Sent


async def get_sent(request: Request) -> Sent:
    """Return the form that a request brings.

    Raises:
        InputError: it is no form.
        Forbidden: it was not made by a page of the session that sends it.
    """
    sent = Sent.of(await request.body())
    request.state.visit.require(sent.text("word"))
    return sent


SentDep = Annotated[Sent, Depends(get_sent)]
