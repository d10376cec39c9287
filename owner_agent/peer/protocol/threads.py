"""Work in threads that nobody has to wait for, and moments when signals must wait."""

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
    """Start work in a daemon thread: whoever gives up on it can leave, also the process."""
    future: Future[Result] = Future()

    def run() -> None:
        try:
            made = work()
        except BaseException as error:  # noqa: BLE001 - raised again by whoever asks for the result
            future.set_exception(error)
        else:
            future.set_result(made)

    threading.Thread(target=run, daemon=True).start()
    return future


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Let neither Ctrl-C nor SIGTERM stop what cannot be undone; all in it must be short."""
    with _handled(signal.SIG_IGN, signal.SIGINT, signal.SIGTERM):
        yield


@contextmanager
def stopped_like_interrupted() -> Iterator[None]:
    """Let SIGTERM end a command as Ctrl-C does, so that the other owners hear of it."""

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
