"""How long work says how far it is, and how it is stopped: by what it calls after each step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Progress(Protocol):
    """Called with how many steps are done, and of how many; it may raise to stop the work."""

    def __call__(self, done: int, total: int, /) -> None:
        """Take note."""


class StagedProgress(Protocol):
    """The same for work in several stages, each of which has a name and steps of its own."""

    def __call__(self, stage: str, done: int, total: int, /) -> None:
        """Take note."""


OnShare = Callable[[float], None]
"""Called with the share of a piece of work that is done; may raise to stop."""


def unwatched(done: int, total: int, /) -> None:
    """Report progress to nobody."""
