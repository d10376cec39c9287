"""What every database of a miner does, whichever it is: the one place that rows are kept.

There is one writer at a time, so that what it read stays true until it commits; readers see one
state of all tables and never wait for it. A commit is on disk before it is acknowledged.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from sqlalchemy.orm import Session


class Database(Protocol):
    """A database with the miner's tables, open.

    All of it raises NotReady while the database cannot be reached or does not answer in time, and
    works again once it does; StorageFull where it has no room, and then nothing was changed.
    """

    @property
    def place(self) -> str:
        """Where the database is, in words that may be shown: no password."""

    def read(self) -> AbstractContextManager[Session]:
        """Open a session that sees one state of the database and changes nothing."""

    def write(self) -> AbstractContextManager[Session]:
        """Open the one session that may write now, in whatever process it is.

        It commits at its end, or changes nothing if an error leaves it.
        """

    def exclusive(self, name: str) -> AbstractContextManager[None]:
        """Hold a name, against all threads of all processes on this database; wait for it.

        For work that is too long for a transaction. A holder that loses the database in the middle
        loses the name, too: what it writes at its end it writes on a condition. No transaction may
        be open when it is asked for.
        """

    def erase(self) -> bool:
        """Make what was deleted gone from the database's files, too.

        False if somebody still reads what was before; then it is when they ended and it is asked
        for again, or when the service is stopped.
        """

    def ping(self) -> None:
        """Run the cheapest query."""

    def close(self) -> None:
        """Close all connections."""
