"""Requests to a miner for one object, for a whole list, or for the state of unfinished work."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote

from pydantic import BaseModel

from owner_agent.release.client import Calls, requested_delay
from pramana.frames.sentences import one_sentence
from pramana_core.wire.base import Message, Page

PAGE = 500
"""The largest number of items on one page of a miner's list."""

AnswerT = TypeVar("AnswerT", bound=BaseModel)
Item = TypeVar("Item", bound=Message)


@dataclass(frozen=True, repr=False)
class MinerConnection:
    """Sends requests to one miner. Tests may replace its clock (in seconds) and its waiting."""

    calls: Calls
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic

    @property
    def url(self) -> str:
        return self.calls.url

    def ask(self, kind: type[AnswerT], method: str, path: str, **options: Any) -> AnswerT:
        """Send a request and return the answer as a `kind`. Raises the miner's error."""
        with one_sentence():
            return self.calls.call(kind, method, path, **options)

    def fetch(self, path: str) -> bytes:
        """Return the bytes of the answer to a GET request. Raises the miner's error."""
        with one_sentence():
            response = self.calls.send("GET", path)
            if not response.is_success:
                self.calls.read(Message, "GET", path, response)
        return response.content

    def look(self, kind: type[AnswerT], path: str) -> tuple[AnswerT, float | None]:
        """Return an answer, and the miner's wait in seconds before the next request, if any."""
        with one_sentence():
            response = self.calls.send("GET", path)
            answer = self.calls.read(kind, "GET", path, response)
        return answer, requested_delay(response.headers)

    def everything(self, kind: type[Item], path: str) -> Iterator[Item]:
        """Yield all items of a list, page by page."""
        paging: dict[str, Any] = {"limit": PAGE}
        page_kind = Page[kind]  # type: ignore[valid-type]
        while True:
            page = self.ask(page_kind, "GET", path, params=paging)
            yield from page.items
            if page.next is None:
                return
            paging["cursor"] = page.next


def study_path(study: str, rest: str = "") -> str:
    return f"/v1/studies/{quote(str(study), safe='')}{rest}"


def job_path(job: str) -> str:
    return f"/v1/jobs/{quote(str(job), safe='')}"


def model_path(model: str) -> str:
    return f"/v1/models/{quote(str(model), safe='')}"
