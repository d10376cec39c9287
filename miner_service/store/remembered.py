"""What is worked out of a release's content, remembered: a tree or a plan is long to read."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from miner_service.store.schema import ReleaseRow

FoundT = TypeVar("FoundT")


class Remembered(Generic[FoundT]):
    """What follows from the identity of releases' contents alone; the last `most` are known.

    Of a content whose JSON is longer than `longest` characters nothing is kept.

    A content that was deleted when its release was withdrawn keeps its identity, so that nothing
    may be asked for here that is not the same afterwards.
    """

    def __init__(
        self,
        find: Callable[[ReleaseRow], FoundT],
        most: int = 256,
        longest: int | None = None,
    ) -> None:
        self._find = find
        self._most = most
        self._longest = longest
        self._known: dict[tuple[str, str], FoundT] = {}
        self._changing = threading.Lock()

    def known(self, kind: str, content_digest: str) -> FoundT | None:
        """Return what was found of a content before, if it was and is not forgotten."""
        return self._known.get((kind, content_digest))

    def of(self, row: ReleaseRow) -> FoundT:
        """Return what is found of a release's content."""
        key = (row.kind, row.content_digest)
        if key in self._known:
            return self._known[key]
        found = self._find(row)
        if self._longest is not None and len(row.content) > self._longest:
            return found
        with self._changing:
            if len(self._known) >= self._most:
                del self._known[next(iter(self._known))]
            self._known[key] = found
        return found
