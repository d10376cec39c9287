"""A disk without room, for tests: files of this process may become no longer for a while."""

from __future__ import annotations

import itertools
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pramana_core.errors import StorageFull


@contextmanager
def files_no_longer_than(size: int) -> Iterator[None]:
    """Let the system refuse every byte of a file behind the first `size`, as a full disk does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def with_ever_more_room(act: Callable[[], object], look: Callable[[], object]) -> int:
    """Do something again and again, with twice the room for each file, until it is done.

    Args:
        act: what is done; anything but StorageFull that it raises passes.
        look: called after each time that there was no room.

    Returns:
        how often there was none.
    """
    for tried in itertools.count():
        try:
            with files_no_longer_than(32 << tried if tried else 0):
                act()
        except StorageFull:
            look()
        else:
            return tried
    raise AssertionError("there is room at last")
