"""Translation of errors of a full disk into StorageFull.

The error names the data that could not be stored, and the path if its reader may know the path. It
never contains the data.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pramana_core.errors import StorageFull

NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""The disk is full, a quota is used up, or a file has reached its largest size."""


def is_full(error: OSError) -> bool:
    """Return whether a system error means that the disk is full."""
    return error.errno in NO_ROOM


def no_room(what: str, path: Path | None = None) -> StorageFull:
    """Return the error that `what` cannot be stored.

    Pass `path` only if the readers of the error may see it.
    """
    place = "" if path is None else f" at {path}"
    return StorageFull(
        f"There is no room for {what}{place}; nothing was changed.",
        where=what if path is None else str(path),
        remedy="Free space on that disk and try again.",
    )


@contextmanager
def storing(what: str, path: Path | None = None) -> Iterator[None]:
    """Turn errors of a full disk into StorageFull; other errors pass unchanged."""
    try:
        yield
    except OSError as error:
        if is_full(error):
            raise no_room(what, path) from None
        raise
