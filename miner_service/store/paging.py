"""Lists in pages: an opaque cursor says after which row the next page starts."""

from __future__ import annotations

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import Select
from sqlalchemy.orm import InstrumentedAttribute, Session

from shared.errors import OptionError
from shared.wire import Page

Row = TypeVar("Row")
Item = TypeVar("Item")

_LARGEST = (1 << 63) - 1


@dataclass(frozen=True)
class Paging:
    """Which page is asked for: at most `limit` rows after the one `cursor` names."""

    limit: int
    cursor: str | None = None

    @property
    def after(self) -> int:
        """The number of the last row already given. Raises OptionError."""
        return decode_cursor(self.cursor) if self.cursor is not None else 0


def encode_cursor(seq: int) -> str:
    """Return the cursor of the page after row `seq`."""
    return urlsafe_b64encode(f"after:{seq}".encode()).decode().rstrip("=")


def decode_cursor(cursor: str) -> int:
    """Return the row a cursor names. Raises OptionError."""
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        word, _, digits = urlsafe_b64decode(padded).decode("ascii").partition(":")
    except (UnicodeError, binascii.Error):
        word, digits = "", ""
    if word != "after" or not digits.isdecimal() or len(digits) > 19 or int(digits) > _LARGEST:
        raise OptionError(
            "The cursor is not one that this service gave.",
            where="cursor",
            remedy="Take it from `next` of the page before, or leave it out for the first page.",
        )
    return int(digits)


def page_of(
    session: Session,
    query: Select[Any],
    seq: InstrumentedAttribute[int],
    paging: Paging,
    message: Callable[[Any], Item],
) -> Page[Item]:
    """Return one page of a query's rows as messages, in the order of `seq`.

    Raises:
        OptionError: the cursor is not one.
    """
    query = query.where(seq > paging.after).order_by(seq).limit(paging.limit + 1)
    rows = list(session.scalars(query))
    more = len(rows) > paging.limit
    kept = rows[: paging.limit]
    return Page(
        items=[message(row) for row in kept],
        next=encode_cursor(kept[-1].seq) if more else None,
    )
