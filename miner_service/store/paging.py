"""Lists in pages: an opaque cursor says where the next page starts (see `cursors`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import Select
from sqlalchemy.orm import InstrumentedAttribute, Session

from miner_service.store.cursors import Cursors, ListView
from pramana_core.wire.base import Page

Row = TypeVar("Row")
Item = TypeVar("Item")


@dataclass(frozen=True)
class Paging:
    """Which page of a view is asked for: at most `limit` rows after those had at `cursor`."""

    limit: int
    cursor: str | None
    view: ListView
    cursors: Cursors

    @property
    def had(self) -> int:
        """How many rows of the view were given before. Raises OptionError."""
        return self.cursors.open(self.view, self.cursor) if self.cursor is not None else 0

    def after(self, had: int) -> str:
        """Return the cursor of the page after the first `had` rows of the view."""
        return self.cursors.seal(self.view, had)


def page_of(
    session: Session,
    query: Select[Any],
    seq: InstrumentedAttribute[int],
    paging: Paging,
    message: Callable[[Any], Item],
) -> Page[Item]:
    """Return one page of a query's rows as messages, in the order of `seq`.

    Rows are counted as the query has them, so that it must leave out what the reader may not see.
    None is ever removed and new ones come last: no page misses or repeats one.

    Raises:
        OptionError: the cursor was not given for this view.
    """
    had = paging.had
    rows = list(session.scalars(query.order_by(seq).offset(had).limit(paging.limit + 1)))
    kept = rows[: paging.limit]
    return Page(
        items=[message(row) for row in kept],
        next=paging.after(had + len(kept)) if len(rows) > len(kept) else None,
    )
