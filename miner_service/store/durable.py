"""Writing files so that they survive a power cut, and translation of disk errors."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pramana_core.errors import NotReady, PramanaError, StorageFull
from pramana_core.full_disks import is_full


@contextmanager
def storing(what: str, *scratch: Path) -> Iterator[None]:
    """Translate disk errors, and remove `scratch` after any error. Raises StorageFull, NotReady."""
    try:
        yield
    except BaseException as error:
        for path in scratch:
            with suppress(OSError):
                path.unlink(missing_ok=True)
        if not isinstance(error, OSError) or isinstance(error, PramanaError):
            raise
        if is_full(error):
            raise StorageFull(
                f"{what} could not be stored: the disk is full. Nothing was changed.",
                where="data",
                remedy="Send it again later. The operator should free space on the disk.",
            ) from error
        raise NotReady(
            f"{what} could not be stored; nothing was changed.",
            where="data",
            remedy="Send it again later. The operator should check the disk.",
        ) from error


def settle(scratch: Path, path: Path) -> None:
    """Flush a complete file to the disk and rename it, so that both survive a power cut."""
    flush(scratch)
    scratch.replace(path)
    sync_directory(path.parent)


def flush(path: Path) -> None:
    """Flush a file's bytes to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_directory(folder: Path) -> None:
    """Flush a directory's entries to the disk, if the system supports it."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
