"""A disk that a test can fill and free again: a small file system where one may be mounted.

Where none may, files of this process can become no longer for a while, which every system allows.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.full_disk import files_no_longer_than

MOUNTED, LIMITED = "mounted", "limited"
_BALLAST = "ballast"


@dataclass
class SmallDisk:
    """A directory on a disk whose room is the test's to give."""

    folder: Path
    mounted: bool
    _limit: ExitStack = field(default_factory=ExitStack)

    def fill(self, left: int = 0) -> None:
        """Leave room for `left` bytes: in all, or, where nothing was mounted, in each file."""
        self.free()
        if not self.mounted:
            self._limit.enter_context(files_no_longer_than(left))
            return
        with (self.folder / _BALLAST).open("wb") as file:
            filled = 0
            # More than once: who writes meanwhile may take of what was just found free.
            while (size := self._free() - left) > 0:
                with suppress(OSError):
                    os.posix_fallocate(file.fileno(), filled, size)
                    filled += size

    def _free(self) -> int:
        space = os.statvfs(self.folder)
        return space.f_bavail * space.f_frsize

    def free(self) -> None:
        """Give the room back."""
        self._limit.close()
        (self.folder / _BALLAST).unlink(missing_ok=True)


@contextmanager
def small_disk(kind: str, mebibytes: int = 16) -> Iterator[SmallDisk]:
    """Make a disk of a kind, and take it away again."""
    with TemporaryDirectory() as place, ExitStack() as stack:
        folder = Path(place)
        if kind == MOUNTED:
            _mount(folder, mebibytes)
            stack.callback(subprocess.run, ["umount", "-l", place], check=True)
        disk = SmallDisk(folder, kind == MOUNTED)
        stack.callback(disk.free)
        yield disk


@cache
def kinds_of_disks() -> tuple[str, ...]:
    """Return the kinds that this machine lets a test make; the last is always there."""
    try:
        with TemporaryDirectory() as place:
            _mount(Path(place), 1)
            subprocess.run(["umount", place], check=True)
    except (OSError, subprocess.CalledProcessError):
        return (LIMITED,)
    return MOUNTED, LIMITED


def _mount(folder: Path, mebibytes: int) -> None:
    options = ["-t", "tmpfs", "-o", f"size={mebibytes}m,mode=0700", "tmpfs", str(folder)]
    subprocess.run(["mount", *options], check=True, capture_output=True)
