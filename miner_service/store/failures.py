"""What the failures of either database mean to whoever sent the request.

Neither a password nor a parameter is in what is raised: the messages are our own, and engines are
made with ``hide_parameters``.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as NoFreeConnection

from pramana_core.errors import NotReady, OptionError, PramanaError, StorageFull, StoreCorrupt

_FULL_OF_POSTGRES = "53100"
"""`disk_full`"""

_AWAY_OF_POSTGRES = ("08", "25006", "40", "53", "55", "57", "58")
"""How the states begin that pass: no connection, a standby, a deadlock, no resources, a lock not
had in time, an operator's act or a time-out, an error of the system."""

_FULL_OF_SQLITE = {
    sqlite3.SQLITE_FULL,
    # What exceeds a quota or a largest file size has no code of its own: the write fails.
    sqlite3.SQLITE_IOERR_WRITE,
    sqlite3.SQLITE_IOERR_SHMSIZE,
}
_DAMAGED_OF_SQLITE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_PRIMARY = 0xFF
_NUL = "cannot contain NUL"


@contextmanager
def answering() -> Iterator[None]:
    """Raise what a failure of the database means.

    Raises:
        NotReady: it cannot be reached, or did not answer in time.
        StorageFull: it has no room.
        StoreCorrupt: what it holds is damaged.
        OptionError: a text with a NUL, which a database need not store.
    """
    try:
        yield
    except NoFreeConnection as error:
        raise _away() from error
    except DBAPIError as error:
        meaning = _meaning(error)
        if meaning is None:
            raise
        raise meaning from error


def reason(error: NotReady) -> str:
    """Return why a database did not answer, for whoever runs the service: not for its clients."""
    cause = error.__cause__
    told = str(cause.orig if isinstance(cause, DBAPIError) else cause).strip().splitlines()
    return told[0].rstrip(".") if told else "no answer"


def _meaning(error: DBAPIError) -> PramanaError | None:
    """Return what an error of a driver means; None if it is none that is foreseen."""
    if isinstance(error.orig, sqlite3.Error):
        return _meaning_of_sqlite(error.orig)
    if _NUL in str(error.orig):
        return OptionError(
            "A text holds the character NUL, which is not stored.", remedy="Leave it out."
        )
    state = getattr(error.orig, "sqlstate", None)
    if state == _FULL_OF_POSTGRES:
        return _full()
    # Without a state it is the driver that gave up: it never got an answer.
    if state is None or error.connection_invalidated or state.startswith(_AWAY_OF_POSTGRES):
        return _away()
    return None


def _meaning_of_sqlite(error: sqlite3.Error) -> PramanaError | None:
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:
        return None
    if code in _FULL_OF_SQLITE:
        return _full()
    if code & _PRIMARY in _DAMAGED_OF_SQLITE:
        return StoreCorrupt(
            "The database is damaged.",
            where="database",
            remedy="Restore it from a backup.",
        )
    return _away() if isinstance(error, sqlite3.OperationalError) else None


def _full() -> StorageFull:
    return StorageFull(
        "The database has no room left; nothing was changed.",
        where="database",
        remedy="Send the request again later; whoever runs the service should look at its disk.",
    )


def _away() -> NotReady:
    return NotReady(
        "The database does not answer.", where="database", remedy="Send the request again."
    )
