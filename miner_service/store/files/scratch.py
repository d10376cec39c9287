"""A folder for files that are being written, of one process alone while it lives.

The folder itself is locked, so that other processes see whether its owner is still there.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import weakref
from contextlib import suppress
from pathlib import Path

from miner_service.store.files.durable import allocate
from pramana_core.errors import NotReady
from pramana_core.full_disks import is_full

ROOM = 1 << 20
"""Bytes that a place which is ready has room for."""


class Scratch:
    """Names for files that are being written, in a folder that is made at the first use."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._folder: Path | None = None

    def path(self) -> Path:
        """Return a fresh name."""
        if self._folder is None or not self._folder.exists():
            self._folder = self._take()
        return self._folder / secrets.token_hex(8)

    def check(self) -> None:
        """Make and remove a file of a mebibyte. Raises NotReady, also where there is no room."""
        try:
            path = self.path()
            try:
                allocate(path, ROOM)
            finally:
                path.unlink(missing_ok=True)
        except OSError as error:
            full = is_full(error)
            raise NotReady(
                "The disk of the data directory is full."
                if full
                else "The data directory cannot be written.",
                where="data",
                remedy="Free room on it; the service goes on by itself."
                if full
                else "Look at its permissions and its disk.",
            ) from error

    def remove_abandoned(self) -> list[str]:
        """Remove the folders of processes that ended; return the names of what they left."""
        found = []
        for folder in self._root.iterdir():
            if not folder.is_dir():  # of an earlier version, which had one folder for all
                folder.unlink(missing_ok=True)
                found.append(folder.name)
                continue
            with suppress(OSError):
                descriptor = os.open(folder, os.O_RDONLY)
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    found += [f"{folder.name}/{path.name}" for path in folder.iterdir()]
                    shutil.rmtree(folder)
                finally:
                    os.close(descriptor)
        return found

    def _take(self) -> Path:
        while True:
            folder = self._root / secrets.token_hex(8)
            folder.mkdir(parents=True, mode=0o700)
            descriptor = os.open(folder, os.O_RDONLY)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            # Between the two lines before, another process may have taken it for abandoned.
            if folder.exists():
                weakref.finalize(self, _leave, descriptor, folder, os.getpid())
                return folder
            os.close(descriptor)


def _leave(descriptor: int, folder: Path, process: int) -> None:
    if os.getpid() == process:
        with suppress(OSError):
            folder.rmdir()
    os.close(descriptor)
