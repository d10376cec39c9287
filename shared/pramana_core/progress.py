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


Tick = Callable[[], None]
"""Called often in the midst of long work; may raise to stop it."""


OnShare = Callable[[float], None]
"""Called with the share of a piece of work that is done; may raise to stop."""


class Repeating:
    """Progress that can repeat its last step, so that work within a step may be stopped."""

    def __init__(self, report: Progress):
        self._report = report
        self._last = (0, 1)

    def __call__(self, done: int, total: int, /) -> None:
        """Take note."""
        self._last = done, total
        self._report(done, total)

    def again(self) -> None:
        """Repeat what was told last."""
        self._report(*self._last)


def no_cancel() -> None:
    """Be called in the midst of work that nobody stops."""


def unwatched(done: int, total: int, /) -> None:
    """Report progress to nobody."""


def part_of(on_step: Progress, start: int, length: int) -> Progress:
    """Report a stage as its share of the whole, in hundredths; a search may step back."""
    furthest = start

    def step(done: int, total: int) -> None:
        nonlocal furthest
        furthest = max(furthest, start + length * done // max(total, 1))
        on_step(furthest, 100)

    return step
