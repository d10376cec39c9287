"""The folder of records: the parts of open releases, and the columns of sealed releases.

Several processes may share the folder, even on different machines.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import secrets
import shutil
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from miner_service.settings import Settings
from miner_service.store.durable import settle, storing, sync_directory
from pramana_core.errors import NotReady, StoreCorrupt
from pramana_core.full_disks import is_full

if TYPE_CHECKING:
    from miner_service.store.columns import ColumnFiles

IDENTITY = "identity"
"""The file with the store's identity, next to its parts and columns."""

States = Callable[[], Mapping[str, str]]
"""A function that returns the state of every release, by id."""

_NEEDS = {"parts": frozenset({"open"}), "columns": frozenset({"open", "sealed"})}
"""The states in which a release needs its files. An open release may be about to be sealed."""

_ROOM = 1 << 20
"""Free bytes that a disk must have to be usable."""


def part_name(number: int) -> str:
    """Return the name of a part's file."""
    return f"{number:05d}.part"


class _Scratch:
    """Names for unfinished files, in a folder that is locked as long as its process lives."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._folder: Path | None = None

    def path(self) -> Path:
        """Return the path for a new file in this process's folder."""
        if self._folder is None or not self._folder.exists():
            self._folder = self._take()
        return self._folder / secrets.token_hex(8)

    def remove_abandoned(self) -> list[str]:
        """Remove the folders of ended processes; return the names of their files."""
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
            # Not the folder above: one that was moved away must not be created again.
            self._root.mkdir(exist_ok=True, mode=0o700)
            folder = self._root / secrets.token_hex(8)
            folder.mkdir(mode=0o700)
            descriptor = os.open(folder, os.O_RDONLY)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            # Before the lock, another process may have removed the folder as abandoned.
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
class Segments:
    """The folder of parts and columns. StorageFull and NotReady leave it unchanged."""

    root: Path
    _scratch: _Scratch = field(init=False)
    _synced: set[str] = field(default_factory=set, init=False)
    """The releases whose folder is known to survive a power cut."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "_scratch", _Scratch(self.root / "scratch"))

    @cached_property
    def _columns(self) -> ColumnFiles:
        # The supervisor of jobs reads no columns, and their module loads pyarrow.
        from miner_service.store.columns import ColumnFiles

        return ColumnFiles(self.root / "columns")

    def identity(self) -> str | None:
        """Return the identity of the store to which the files belong, or None."""
        with storing("The identity of the store"):
            try:
                return (self.root / IDENTITY).read_text(encoding="utf-8", errors="replace").strip()
            except FileNotFoundError:
                return None

    def identify(self, identity: str) -> None:
        """Write the store's identity durably."""
        scratch = self.scratch_path()
        with storing("The identity of the store", scratch):
            scratch.write_text(f"{identity}\n", encoding="utf-8")
            scratch.chmod(0o600)
            settle(scratch, self.root / IDENTITY)

    def kept(self) -> dict[str, set[str]]:
        """Return the ids of the releases that have `parts`, and of those that have `columns`."""
        return {
            kind: {path.stem for path in (self.root / kind).iterdir()}
            if (self.root / kind).exists()
            else set()
            for kind in _NEEDS
        }

    def prepare(self) -> None:
        """Create the folders and remove unfinished files of ended processes."""
        with storing("The data directory"):
            for name in (*_NEEDS, "scratch"):
                (self.root / name).mkdir(parents=True, exist_ok=True, mode=0o700)
            self._scratch.remove_abandoned()

    def check(self) -> None:
        """Write and remove a file of one mebibyte. Raises NotReady, also if the disk is full."""
        try:
            path = self._scratch.path()
            try:
                path.write_bytes(bytes(_ROOM))
            finally:
                path.unlink(missing_ok=True)
        except OSError as error:
            full = is_full(error)
            raise NotReady(
                "The disk of the data directory is full."
                if full
                else "The data directory is not writable.",
                where="data",
                remedy="Free space on it; the service then continues."
                if full
                else "Check its permissions and its disk.",
            ) from error

    def scratch_path(self) -> Path:
        """Return a new name for an unfinished file."""
        with storing("A file"):
            return self._scratch.path()

    def put_part(self, release: str, number: int, scratch: Path) -> None:
        """Store a complete file durably as a part. `scratch` is always removed."""
        path = self._part_path(release, number)
        with storing(f"Part {number}", scratch):
            path.parent.mkdir(exist_ok=True, mode=0o700)
            settle(scratch, path)
            if release not in self._synced:
                sync_directory(path.parent.parent)
                self._synced.add(release)

    def read_part(self, release: str, number: int, sha256: str) -> bytes:
        """Return a part's bytes. Raises StoreCorrupt if they differ from the acknowledged bytes."""
        path = self._part_path(release, number)
        body = path.read_bytes() if path.exists() else b""
        if hashlib.sha256(body).hexdigest() != sha256:
            raise StoreCorrupt(
                f"Part {number} of release {release} differs from the part that was acknowledged.",
                where=release,
                remedy="Restore the data directory from a backup. Without a backup, withdraw the"
                " release and have its owner publish a new one.",
            )
        return body

    def drop_part(self, release: str, number: int) -> None:
        """Remove one part, and the release's folder if it is then empty."""
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
        """Store a complete file durably as a release's columns; `scratch` is removed."""
        with storing("The columns of the release", scratch):
            settle(scratch, self.data_path(release))

    def data_path(self, release: str) -> Path:
        """Return the path of a sealed release's column file. The file may be missing."""
        return self._columns.data_path(release)

    def verify_data(self, release: str, sha256: str) -> None:
        """Compare a sealed release's column file with its digest. Raises StoreCorrupt."""
        self._columns.verify_data(release, sha256)

    def drop_data(self, release: str) -> None:
        """Remove a release's columns. A job that has the file open can still read it."""
        self.data_path(release).unlink(missing_ok=True)

    def orphans(self, states: States) -> list[str]:
        """Return the files that no release needs; `states` is called after the files are listed."""
        kept = self.kept()
        known = states()
        return [
            f"{kind}/{release}"
            for kind, releases in kept.items()
            for release in sorted(releases)
            if known.get(release) not in _NEEDS[kind]
        ]

    def sweep(self, states: States) -> list[str]:
        """Remove orphans and files of ended processes; return the names."""
        found = self.orphans(states)
        for name in found:
            kind, _, release = name.partition("/")
            (self.drop_parts if kind == "parts" else self.drop_data)(release)
        return found + self._scratch.remove_abandoned()

    def _part_path(self, release: str, number: int) -> Path:
        return self.root / "parts" / release / part_name(number)


def open_segments(settings: Settings) -> Segments:
    """Return the configured folder of records, without reading it."""
    return Segments(settings.storage.files or settings.data_dir)
