"""Forms as they are sent: their fields, and the word that says that a page of ours made them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated
from urllib.parse import parse_qs

from fastapi import Depends, Request

from pramana_core.errors import InputError

_FIELDS = 20_000


@dataclass(frozen=True)
class Sent:
    """The fields of a form that was sent."""

    fields: dict[str, list[str]]

    def text(self, name: str) -> str:
        """Return a field without blanks around it; empty where it was not sent."""
        return next(iter(self.fields.get(name, [])), "").strip()

    def every(self, name: str) -> list[str]:
        """Return what was chosen of a field."""
        return [one for one in self.fields.get(name, []) if one]


async def get_sent(request: Request) -> Sent:
    """Return the form that a request brings.

    Raises:
        InputError: it is no form.
        Forbidden: it was not made by a page of the session that sends it.
    """
    body = await request.body()
    try:
        sent = Sent(parse_qs(body.decode("ascii"), keep_blank_values=True, max_num_fields=_FIELDS))
    except ValueError as error:
        raise InputError("What was sent is not a form.", where="form") from error
    request.state.visit.require(sent.text("word"))
    return sent


SentDep = Annotated[Sent, Depends(get_sent)]
