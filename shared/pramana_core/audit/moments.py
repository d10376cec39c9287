"""What a chained log held at an earlier moment, found by halving the file."""

from __future__ import annotations

import os
from datetime import datetime

from pramana_core.audit.chain import LONGEST, Head, Link, read_link


def head_before(descriptor: int, moment: datetime) -> Head:
    """Return where a log's chain ended when a moment began; no line of it is hashed again.

    Times of lines ascend, but for clocks that were set back; then it is where the chain ended at
    some moment near that one.
    """
    low, high = 0, os.fstat(descriptor).st_size
    while high - low > 2 * LONGEST:
        middle = (low + high) // 2
        at = middle + os.pread(descriptor, LONGEST, middle).find(b"\n") + 1
        if _is_before(_line_at(descriptor, at), moment):
            low = at
        else:
            high = middle
    found, at = Head(), low
    while (line := _line(descriptor, at)).endswith(b"\n"):
        link = read_link(line)
        if not _is_before(link, moment):
            break
        found, at = link.head if link is not None else found, at + len(line)
    return found


def _line(descriptor: int, at: int) -> bytes:
    text = os.pread(descriptor, LONGEST + 1, at)
    return text[: text.find(b"\n") + 1]


def _line_at(descriptor: int, at: int) -> Link | None:
    return read_link(_line(descriptor, at))


def _is_before(link: Link | None, moment: datetime) -> bool:
    """Whether a line was there before; what is none of the chain was there before all of it."""
    return link is None or datetime.fromisoformat(link.time) < moment
