"""Files made durable: allocated, flushed, renamed; and what it means if that fails.

Whatever a disk refuses is told in two ways only: there is no room, or it does not work now.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pramana_core.errors import NotReady, PramanaError, StorageFull
from pramana_core.full_disks import is_full


@contextmanager
def storing(what: str, *scratch: Path) -> Iterator[None]:
    """Translate what the system says about writing; remove what was half done.

    Args:
        what: names what is stored, as the beginning of a sentence: "Part 3 of release r-1".
        scratch: files that no error may leave behind.

    Raises:
        StorageFull: the disk has no room, or a quota or the size of a file is exhausted.
        NotReady: the file cannot be written for another reason.
    """
    try:
        yield
    except BaseException as error:
        for path in scratch:
            with suppress(OSError):
                path.unlink(missing_ok=True)
        if isinstance(error, OSError) and not isinstance(error, PramanaError):
            raise refused(what, error) from error
        raise


def refused(what: str, error: OSError) -> StorageFull | NotReady:
    """Return the error for what the system would not store; no path is in it."""
    if is_full(error):
        return StorageFull(
            f"{what} could not be stored: the disk has no room. Nothing was changed.",
            where="data",
            remedy="Send it again later; whoever runs the service should free room on its disk.",
        )
    return NotReady(
        f"{what} could not be stored; nothing was changed.",
        where="data",
        remedy="Send it again later; whoever runs the service should look at its disk.",
    )


def allocate(path: Path, size: int) -> None:
    """Make a file of `size` bytes that has its room on the disk.

    What is mapped must have room: writing to a mapped page that has none ends the process.

    Raises:
        OSError: there is no room; the file may be there.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(descriptor, 0, max(size, 1))
            os.ftruncate(descriptor, size)
        else:  # written for real: a file with holes has no room of its own
            _fill_with_zeros(descriptor, size)
    finally:
        os.close(descriptor)


def settle(scratch: Path, path: Path) -> None:
    """Flush a finished file to the disk and give it its final name, durably."""
    flush(scratch)
    scratch.replace(path)
    sync_directory(path.parent)


def settle_first(scratch: Path, path: Path) -> None:
    """Give a finished file its final name, durably, unless that name is taken: that file stays."""
    flush(scratch)
    with suppress(FileExistsError):
        path.hardlink_to(scratch)
    scratch.unlink()
    sync_directory(path.parent)


def flush(path: Path) -> None:
    """Flush a file's bytes to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_directory(folder: Path) -> None:
    """Flush a directory's entries to the disk, where the system can."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _fill_with_zeros(descriptor: int, size: int) -> None:
    block = bytes(1 << 20)
    while size > 0:
        size -= os.write(descriptor, block[: min(size, len(block))])
