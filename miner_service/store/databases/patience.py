"""Connections to PostgreSQL that wait for an answer only so long, whatever the server does.

The server's own time-outs end what it works at for too long. They do not help against a server, or
a disk or a network of it, that stands still: then it is this side that must give up.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import Any

import psycopg

QUICK_SECONDS = 1.0
"""For an answer to the question whether the server is there, which is asked before each use."""

PATIENT_SECONDS = 35.0
"""For any other: more than the server's own time-outs."""


class PatientConnection(psycopg.Connection[Any]):
    """A connection that is closed when an answer takes too long."""

    _patience = QUICK_SECONDS

    def be_patient(self) -> None:
        """Wait for statements from now on."""
        self._patience = PATIENT_SECONDS

    def be_quick(self) -> None:
        """Wait only for signs of life from now on."""
        self._patience = QUICK_SECONDS

    def wait(self, gen: Any, *arguments: Any, **options: Any) -> Any:
        """Wait for an answer. Raises OperationalError when patience is at its end."""
        try:
            return super().wait(_until(gen, self._patience), *arguments, **options)
        except _Silence as error:
            self.pgconn.finish()
            raise psycopg.OperationalError("no answer within the time allowed") from error


class _Silence(Exception):
    """There was no answer in time."""


def _until(work: Any, seconds: float) -> Generator[Any, Any, Any]:
    """Do what a generator of the driver does, which is woken every now and then, up to a time."""
    end = time.monotonic() + seconds
    try:
        state = next(work)
        while True:
            ready = yield state
            if not ready and time.monotonic() > end:
                raise _Silence
            state = work.send(ready)
    except StopIteration as stop:
        return stop.value
