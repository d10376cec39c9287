"""What the system says when there is no room for a file, told as StorageFull.

What was to be written is told, and where if its reader may know that; what was in it is not.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pramana_core.errors import StorageFull

NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""The disk is full, somebody's share of it is used up, or a file may become no longer."""


def is_full(error: OSError) -> bool:
    """Whether a system error says that there is no room."""
    return error.errno in NO_ROOM


def no_room(what: str, path: Path | None = None) -> StorageFull:
    """Return the error of what could not be stored, at a path if its reader may know it."""
    place = "" if path is None else f" at {path}"
    return StorageFull(
        f"There is no room for {what}{place}; nothing was changed.",
        where=what if path is None else str(path),
        remedy="Make room on that disk, and do the same again.",
    )


@contextmanager
def storing(what: str, path: Path | None = None) -> Iterator[None]:
    """Turn errors of a full disk into StorageFull; all others pass."""
    try:
        yield
    except OSError as error:
        if is_full(error):
            raise no_room(what, path) from None
        raise
