"""Parts and columns in a directory: written under another name, flushed, renamed.

Also here:

* A folder for files that are being written, of one process alone while it lives.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import weakref
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from miner_service.store.segments import (
    IDENTITY,
    States,
    allocate,
    damaged_columns,
    drop,
    file_sha256,
    part_name,
    require_part,
    settle,
    settle_first,
    storing,
    sync_directory,
    unneeded,
)
from pramana_core.errors import NotReady
from pramana_core.full_disks import is_full

# A folder for files that are being written, of one process alone while it lives.
#
# The folder itself is locked, so that other processes see whether its owner is still there.

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


@dataclass(frozen=True)
class ColumnFiles:
    """A folder of the columns of sealed releases and nothing else."""

    folder: Path

    def data_path(self, release: str) -> Path:
        """Return where the columns of a sealed release are."""
        return self.folder / f"{release}.arrow"

    def verify_data(self, release: str, sha256: str) -> None:
        """Check the columns of a sealed release. Raises StoreCorrupt."""
        path = self.data_path(release)
        if not path.exists() or file_sha256(path) != sha256:
            raise damaged_columns(release)


@dataclass(frozen=True)
class LocalSegments:
    """A directory of parts and columns, which processes of one machine may share."""

    root: Path
    _scratch: Scratch = field(init=False)
    _columns: ColumnFiles = field(init=False)
    _synced: set[str] = field(default_factory=set, init=False)
    """The releases whose folder is known to survive a power cut."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "_scratch", Scratch(self.root / "scratch"))
        object.__setattr__(self, "_columns", ColumnFiles(self.root / "columns"))

    @property
    def place(self) -> str:
        """Where it is."""
        return str(self.root)

    def identity(self) -> str | None:
        """Return the identity of the store that the files are of, if they have one."""
        with storing("The identity of the store"):
            try:
                return (self.root / IDENTITY).read_text(encoding="utf-8", errors="replace").strip()
            except FileNotFoundError:
                return None

    def identify(self, identity: str) -> None:
        """Keep the identity of the store if there is none. Raises StorageFull, NotReady."""
        scratch = self.scratch_path()
        with storing("The identity of the store", scratch):
            scratch.write_text(f"{identity}\n", encoding="utf-8")
            scratch.chmod(0o600)
            settle_first(scratch, self.root / IDENTITY)

    def kept(self) -> dict[str, set[str]]:
        """Return of which releases there are parts, and of which columns."""
        return {
            kind: {path.stem for path in (self.root / kind).iterdir()}
            if (self.root / kind).exists()
            else set()
            for kind in ("parts", "columns")
        }

    def prepare(self) -> None:
        """Make the directories and remove what an interrupted write left behind."""
        with storing("The data directory"):
            for name in ("parts", "columns", "scratch"):
                (self.root / name).mkdir(parents=True, exist_ok=True, mode=0o700)
            self._scratch.remove_abandoned()

    def check(self) -> None:
        """Make room for a small file. Raises NotReady, also where there is none."""
        self._scratch.check()

    def scratch_path(self) -> Path:
        """Return a fresh name for a file that is being written."""
        with storing("A file"):
            return self._scratch.path()

    def put_part(self, release: str, number: int, scratch: Path) -> None:
        """Keep a file as a part. Raises StorageFull, NotReady."""
        path = self._part_path(release, number)
        with storing(f"Part {number}", scratch):
            path.parent.mkdir(exist_ok=True, mode=0o700)
            settle(scratch, path)
            if release not in self._synced:
                sync_directory(path.parent.parent)
                self._synced.add(release)

    def read_part(self, release: str, number: int, sha256: str) -> bytes:
        """Return a part's bytes. Raises StoreCorrupt if they are not those acknowledged."""
        path = self._part_path(release, number)
        body = path.read_bytes() if path.exists() else b""
        return require_part(release, number, body, sha256)

    def drop_part(self, release: str, number: int) -> None:
        """Remove one part, and the folder of a release that has no other."""
        path = self._part_path(release, number)
        path.unlink(missing_ok=True)
        self._synced.discard(release)
        with suppress(OSError):
            path.parent.rmdir()

    def drop_parts(self, release: str) -> None:
        """Remove a release's parts."""
        self._synced.discard(release)
        shutil.rmtree(self.root / "parts" / release, ignore_errors=True)

    def put_data(self, release: str, scratch: Path) -> None:
        """Keep a file as the columns of a release. Raises StorageFull, NotReady."""
        with storing("The columns of the release", scratch):
            settle(scratch, self.data_path(release))

    def data_path(self, release: str) -> Path:
        """Return where the columns of a sealed release are."""
        return self._columns.data_path(release)

    def verify_data(self, release: str, sha256: str) -> None:
        """Check the columns of a sealed release. Raises StoreCorrupt."""
        self._columns.verify_data(release, sha256)

    def drop_data(self, release: str) -> None:
        """Remove a release's columns. A job that has them open may finish reading."""
        self.data_path(release).unlink(missing_ok=True)

    def orphans(self, states: States) -> list[str]:
        """Return which parts and columns no release needs."""
        return unneeded(self.kept(), states())

    def sweep(self, states: States) -> list[str]:
        """Remove what no release needs and what processes that ended left; return the names."""
        found = self.orphans(states)
        drop(self, found)
        return found + self._scratch.remove_abandoned()

    def _part_path(self, release: str, number: int) -> Path:
        return self.root / "parts" / release / part_name(number)
