"""Callbacks by which long work reports progress and can be stopped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Progress(Protocol):
    """A callback for the steps done and their total. It may raise an exception to stop the work."""

    def __call__(self, done: int, total: int, /) -> None:
        """Receive the progress."""


class StagedProgress(Protocol):
    """A callback for work in named stages, each with its own count of steps."""

    def __call__(self, stage: str, done: int, total: int, /) -> None:
        """Receive the progress."""


Tick = Callable[[], None]
"""A callback that long work calls frequently; it may raise an exception to stop the work."""


OnShare = Callable[[float], None]
"""A callback that takes the finished share of the work; it may raise to stop the work."""


class Repeating:
    """A progress callback that can repeat its last report, which can stop a step midway."""

    def __init__(self, report: Progress):
        self._report = report
        self._last = (0, 1)

    def __call__(self, done: int, total: int, /) -> None:
        """Report the progress."""
        self._last = done, total
        self._report(done, total)

    def again(self) -> None:
        """Repeat the last report."""
        self._report(*self._last)


def no_cancel() -> None:
    """Do nothing: a callback for work that nobody stops."""


def unwatched(done: int, total: int, /) -> None:
    """Do nothing: a progress callback for work that nobody watches."""


def part_of(on_step: Progress, start: int, length: int) -> Progress:
    """Return a callback that reports a stage as a share of the whole, in hundredths.

    If a stage's own progress decreases, the reported share does not.
    """
    furthest = start

    def step(done: int, total: int) -> None:
        nonlocal furthest
        furthest = max(furthest, start + length * done // max(total, 1))
        on_step(furthest, 100)

    return step
