"""How long work says how far it is, and how it is stopped: by what it calls after each step."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Called with how much of the work is done, and of how much; it may raise to stop the work."""

    def __call__(self, done: float, total: float, /) -> None:
        """Take note."""


class StagedProgress(Protocol):
    """The same for work in several stages, each of which has a name and a total of its own."""

    def __call__(self, stage: str, done: float, total: float, /) -> None:
        """Take note."""


def unwatched(done: float, total: float, /) -> None:
    """Report progress to nobody."""


def within(progress: Progress, start: float, end: float) -> Progress:
    """Return the progress of a part of the work, which is the whole's from `start` to `end`.

    The whole is told shares: its total is 1.
    """
    return lambda done, total: progress(start + (end - start) * done / total, 1.0)
