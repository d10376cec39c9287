"""The line to a miner: what is read over it, whole lists of it, and how to wait for more."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote

from owner_agent.release.calls import Calls
from shared.wire.base import Message, Page

PAGE = 500
"""The most items that a miner puts on one page."""

Item = TypeVar("Item", bound=Message)


@dataclass(frozen=True, repr=False)
class Line:
    """The requests to one miner, with a clock in seconds and a way to wait, both replaceable."""

    calls: Calls
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic

    @property
    def url(self) -> str:
        """The miner's address."""
        return self.calls.url

    def everything(self, kind: type[Item], path: str) -> Iterator[Item]:
        """Yield all items of a list, page by page."""
        asked: dict[str, Any] = {"limit": PAGE}
        page_kind = Page[kind]  # type: ignore[valid-type]
        while True:
            page = self.calls.call(page_kind, "GET", path, params=asked)
            yield from page.items
            if page.next is None:
                return
            asked["cursor"] = page.next


def study_path(study: str, rest: str = "") -> str:
    """Return the path of a study, or of what is under it."""
    return f"/v1/studies/{quote(study, safe='')}{rest}"


def job_path(job: str) -> str:
    """Return the path of a job."""
    return f"/v1/jobs/{quote(job, safe='')}"


def model_path(model: str) -> str:
    """Return the path of a model."""
    return f"/v1/models/{quote(model, safe='')}"
