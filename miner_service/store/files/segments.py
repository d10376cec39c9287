"""Records on disk: the parts of open releases, and one columnar file per sealed release.

A file is written under another name, flushed to the disk and then renamed, so that what has its
final name is whole. Only names that the service made itself become paths.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from shared.errors import NotReady, StoreCorrupt


@dataclass(frozen=True)
class Segments:
    """A directory of parts and columns."""

    root: Path

    def prepare(self) -> None:
        """Make the directories and remove what an interrupted write left behind."""
        for folder in (self._parts, self._data, self._scratch):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for left in self._scratch.iterdir():
            left.unlink()

    def check_writable(self) -> None:
        """Write and remove a small file. Raises NotReady."""
        path = self.scratch_path()
        try:
            path.write_bytes(b"ready?")
            path.unlink()
        except OSError as error:
            raise NotReady(
                "The data directory cannot be written.",
                where="data",
                remedy="Look at its permissions and the free space.",
            ) from error

    def scratch_path(self) -> Path:
        """Return a fresh name for a file that is being written."""
        return self._scratch / secrets.token_hex(8)

    def data_path(self, release: str) -> Path:
        """Return where the columns of a sealed release are."""
        return self._data / f"{release}.arrow"

    def put_part(self, release: str, number: int, body: bytes) -> None:
        """Store a part's bytes; when this returns they survive a power cut. Raises NotReady."""
        path = self._part_path(release, number)
        scratch = self.scratch_path()
        try:
            path.parent.mkdir(exist_ok=True, mode=0o700)
            scratch.write_bytes(body)
            settle(scratch, path)
            sync_directory(self._parts)
        except OSError as error:
            with suppress(OSError):
                scratch.unlink(missing_ok=True)
            raise NotReady(
                "The part could not be stored; nothing was changed.",
                where="data",
                remedy="Send it again later; whoever runs the service should look at its disk.",
            ) from error

    def read_part(self, release: str, number: int, sha256: str) -> bytes:
        """Return a part's bytes. Raises StoreCorrupt if they are not those acknowledged."""
        path = self._part_path(release, number)
        body = path.read_bytes() if path.exists() else b""
        if hashlib.sha256(body).hexdigest() != sha256:
            raise StoreCorrupt(
                f"Part {number} of release {release} is not as it was acknowledged.",
                where=release,
                remedy="Restore the data directory from a backup. Without one, withdraw the"
                " release; more or corrected records are another release.",
            )
        return body

    def drop_part(self, release: str, number: int) -> None:
        """Remove one part, and the folder of a release that has no other."""
        path = self._part_path(release, number)
        path.unlink(missing_ok=True)
        with suppress(OSError):
            path.parent.rmdir()

    def drop_parts(self, release: str) -> None:
        """Remove a release's parts."""
        shutil.rmtree(self._parts / release, ignore_errors=True)

    def drop_data(self, release: str) -> None:
        """Remove a release's columns. A job that has them open may finish reading."""
        self.data_path(release).unlink(missing_ok=True)

    def sweep(self, *, open_releases: Iterable[str], sealed: Iterable[str]) -> None:
        """Remove the files of releases that need them no more."""
        keep_parts, keep_data = set(open_releases), set(sealed)
        for folder in self._parts.iterdir():
            if folder.name not in keep_parts:
                self.drop_parts(folder.name)
        for path in self._data.iterdir():
            if path.stem not in keep_data:
                path.unlink(missing_ok=True)

    @property
    def _parts(self) -> Path:
        return self.root / "parts"

    @property
    def _data(self) -> Path:
        return self.root / "columns"

    @property
    def _scratch(self) -> Path:
        return self.root / "scratch"

    def _part_path(self, release: str, number: int) -> Path:
        return self._parts / release / f"{number:05d}.part"


def settle(scratch: Path, path: Path) -> None:
    """Flush a finished file to the disk and give it its final name, durably."""
    with scratch.open("rb") as file:
        os.fsync(file.fileno())
    scratch.replace(path)
    sync_directory(path.parent)


def sync_directory(folder: Path) -> None:
    """Flush a directory's entries to the disk, where the system can."""
    descriptor = os.open(folder, os.O_RDONLY)
    with suppress(OSError):
        os.fsync(descriptor)
    os.close(descriptor)
