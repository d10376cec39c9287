"""Work in threads that can be abandoned, and short sections that signals cannot interrupt."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

Result = TypeVar("Result")


def started(work: Callable[[], Result]) -> Future[Result]:
    """Start work in a daemon thread, which may be abandoned when the process ends."""
    future: Future[Result] = Future()

    def run() -> None:
        try:
            made = work()
        except BaseException as error:  # noqa: BLE001 - raised again when the result is read
            future.set_exception(error)
        else:
            future.set_result(made)

    threading.Thread(target=run, daemon=True).start()
    return future


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Delay Ctrl-C and SIGTERM during short work that must not be interrupted."""
    with _handled(signal.SIG_IGN, signal.SIGINT, signal.SIGTERM):
        yield


@contextmanager
def stopped_like_interrupted() -> Iterator[None]:
    """Make SIGTERM end a command in the same way as Ctrl-C, so that other owners are informed."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    with _handled(interrupt, signal.SIGTERM):
        yield


@contextmanager
def _handled(handler: signal._HANDLER, *signals: signal.Signals) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number in signals}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
