"""Small changes that many ask for at once, committed in one transaction.

Each is on disk when its future is done; the disk is waited for once for all of them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from sqlalchemy.orm import Session

from miner_service.store.database import Database
from pramana_core.errors import NotReady, PramanaError, StorageFull

T = TypeVar("T")


class Gathering(Generic[T]):
    """What gathers while that which came before is done, all at once, by one thread."""

    def __init__(self, name: str, do: Callable[[list[T]], None]) -> None:
        self._do = do
        self._adding = threading.Lock()
        self._waiting: list[T] = []
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=name)

    def add(self, wanted: T) -> None:
        """Let it be done with whatever comes until then."""
        with self._adding:
            self._waiting.append(wanted)
            first = len(self._waiting) == 1
        if first:
            self._thread.submit(self._do_gathered)

    def _do_gathered(self) -> None:
        with self._adding:
            gathered, self._waiting = self._waiting, []
        self._do(gathered)


@dataclass(frozen=True)
class _Wanted:
    change: Callable[[Session], Any]
    future: Future[Any]


class Together:
    """Changes that gather while others are committed, by one thread."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._gathering = Gathering("committing", self._commit)

    def submit(self, change: Callable[[Session], T]) -> Future[T]:
        """Ask for a change; return what has its value once it is committed.

        What the change raises is raised, and the others are made all the same: it must have
        written nothing before it raises a PramanaError. That the database is away or has no room
        is raised to all; what else it says, only to the change that it is about.
        """
        future: Future[T] = Future()
        future.set_running_or_notify_cancel()  # whoever waits may go away; the change is made
        self._gathering.add(_Wanted(change, future))
        return future

    def _commit(self, gathered: list[_Wanted]) -> None:
        made: list[tuple[Future[Any], Any]] = []
        refused: list[tuple[Future[Any], PramanaError]] = []
        try:
            with self._database.write() as session:
                for wanted in gathered:
                    try:
                        made.append((wanted.future, wanted.change(session)))
                    except PramanaError as error:
                        refused.append((wanted.future, error))
        except BaseException as error:  # noqa: BLE001 whoever waits raises it
            if len(gathered) > 1 and not isinstance(error, NotReady | StorageFull):
                for wanted in gathered:
                    self._commit([wanted])
                return
            for wanted in gathered:
                wanted.future.set_exception(error)
            return
        for future, value in made:
            future.set_result(value)
        for future, reason in refused:
            future.set_exception(reason)
