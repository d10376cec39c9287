"""The protocol of a miner's database, and pages of its lists.

There is one writer at a time; readers see one state and never wait. A commit is on disk before it
is acknowledged.
"""

from __future__ import annotations

import re
import secrets
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from cachetools import LRUCache, cached
from sqlalchemy import Select
from sqlalchemy.orm import InstrumentedAttribute, Session

from miner_service.store.schema import KeyRow, ReleaseRow
from pramana_core.errors import OptionError
from pramana_core.wire.base import Page


class Database(Protocol):
    """A database with the miner's tables, open.

    Everything raises NotReady while it does not answer, and StorageFull where it has no room;
    nothing was changed then.
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
        """Hold a name against all threads and processes on this database; wait for it.

        For work that is too long for a transaction. A holder that loses the database loses the
        name.
        """

    def erase(self) -> bool:
        """Remove deleted rows from the database's files, too; False while a reader needs them."""

    def ping(self) -> None:
        """Run the cheapest query."""

    def close(self) -> None:
        """Close all connections."""


_KEY = "pramana/cursor/1"
KEY_LENGTH = 64


def open_key(database: Database) -> bytes:
    """Return the service's key, making it if its database has none.

    All processes on a database have one key.
    """
    with database.read() as session:
        row = session.get(KeyRow, _KEY)
    if row is None:
        with database.write() as session:
            row = session.get(KeyRow, _KEY)
            if row is None:
                row = KeyRow(name=_KEY, key=secrets.token_bytes(KEY_LENGTH))
                session.add(row)
    return row.key


FoundT = TypeVar("FoundT")


def cached_by_content(
    find: Callable[[ReleaseRow], FoundT], most: int = 256
) -> Callable[[ReleaseRow], FoundT]:
    """Remember results that follow from a release's content alone, for the last `most` contents.

    A withdrawn release keeps the identity of its content: the result may not depend on the rest.
    """
    cache: LRUCache[tuple[str, str], FoundT] = LRUCache(most)
    return cached(cache, key=lambda row: (row.kind, row.content_digest), lock=threading.Lock())(
        find
    )


# Only rows that the reader may see are counted. It is never the number of a row, from which one
# could count the rows that are hidden.
_CURSOR = re.compile(r"[1-9][0-9]{0,17}")

Row = TypeVar("Row")
Item = TypeVar("Item")


@dataclass(frozen=True)
class Paging:
    """A page of a list: at most `limit` rows after `cursor`, in order or the newest first."""

    limit: int
    cursor: str | None
    newest: bool = False

    @property
    def had(self) -> int:
        """How many rows of the list were given before. Raises OptionError."""
        if self.cursor is None:
            return 0
        if not _CURSOR.fullmatch(self.cursor):
            raise OptionError(
                "The cursor is not one that this service gave.",
                where="cursor",
                remedy="Take it from `next` of the page before, or leave it out for the first.",
            )
        return int(self.cursor)


def page_of(
    session: Session,
    query: Select[Any],
    seq: InstrumentedAttribute[int],
    paging: Paging,
    message: Callable[[Any], Item],
) -> Page[Item]:
    """Return a page of a query's rows as messages, in the order of `seq`. Raises OptionError.

    The query must leave out what the reader may not see: the cursor counts its rows.
    """
    had = paging.had
    order = seq.desc() if paging.newest else seq
    rows = list(session.scalars(query.order_by(order).offset(had).limit(paging.limit + 1)))
    kept = rows[: paging.limit]
    return Page(
        items=[message(row) for row in kept],
        next=str(had + len(kept)) if len(rows) > len(kept) else None,
    )
