"""Pages of lists. A cursor is the count of visible rows on the earlier pages."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import Select
from sqlalchemy.orm import InstrumentedAttribute, Session

from pramana_core.errors import OptionError
from pramana_core.wire.base import Page

# A cursor counts visible rows only. The number of a row would reveal how many rows are hidden.
_CURSOR = re.compile(r"[1-9][0-9]{0,17}")

Row = TypeVar("Row")
Item = TypeVar("Item")


@dataclass(frozen=True)
class Paging:
    """A page of a list: at most `limit` rows after `cursor`, oldest first or `newest` first."""

    limit: int
    cursor: str | None
    newest: bool = False

    @property
    def had(self) -> int:
        """The count of rows on the earlier pages. Raises OptionError."""
        if self.cursor is None:
            return 0
        if not _CURSOR.fullmatch(self.cursor):
            raise OptionError(
                "The cursor does not come from this service.",
                where="cursor",
                remedy="Use `next` of the previous page, or omit the cursor for the first page.",
            )
        return int(self.cursor)


def page_of(
    session: Session,
    query: Select[Any],
    seq: InstrumentedAttribute[int],
    paging: Paging,
    message: Callable[[Any], Item],
) -> Page[Item]:
    """Return a page of a query's rows as messages, ordered by `seq`. Raises OptionError.

    The query must exclude rows that the reader may not see, because the cursor counts its rows.
    """
    had = paging.had
    order = seq.desc() if paging.newest else seq
    rows = list(session.scalars(query.order_by(order).offset(had).limit(paging.limit + 1)))
    kept = rows[: paging.limit]
    return Page(
        items=[message(row) for row in kept],
        next=str(had + len(kept)) if len(rows) > len(kept) else None,
    )
