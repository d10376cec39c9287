"""Small changes that many threads want at once, committed in one transaction.

Each is on disk when its thread goes on; the disk is waited for once for all of them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sqlalchemy.orm import Session

from miner_service.store.database import Database
from shared.errors import PramanaError

T = TypeVar("T")


@dataclass
class _Wanted:
    change: Callable[[Session], Any]
    done: bool = False
    value: Any = None
    error: BaseException | None = None


@dataclass
class Together:
    """Changes that gather while others are committed."""

    database: Database
    _gathering: threading.Lock = field(default_factory=threading.Lock)
    _committing: threading.Lock = field(default_factory=threading.Lock)
    _waiting: list[_Wanted] = field(default_factory=list)

    def run(self, change: Callable[[Session], T]) -> T:
        """Make a change, and return what it returns once it is committed.

        What the change raises is raised, and the others are made all the same: it must have
        written nothing before it raises a PramanaError. What the database says is raised to all.
        """
        wanted = _Wanted(change)
        with self._gathering:
            self._waiting.append(wanted)
        with self._committing:
            # Whoever was before has committed this one, too; or this thread commits for all.
            if not wanted.done:
                with self._gathering:
                    gathered, self._waiting = self._waiting, []
                self._commit(gathered)
        if wanted.error is not None:
            raise wanted.error
        value: T = wanted.value
        return value

    def _commit(self, gathered: list[_Wanted]) -> None:
        try:
            with self.database.write() as session:
                for wanted in gathered:
                    try:
                        wanted.value = wanted.change(session)
                    except PramanaError as error:
                        wanted.error = error
        except BaseException as error:  # noqa: BLE001 each thread raises it itself
            for wanted in gathered:
                wanted.error = wanted.error or error
        for wanted in gathered:
            wanted.done = True
