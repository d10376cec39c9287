"""The disk of a campaign's miner, full for a while and then free again."""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from tests.small_disk import MOUNTED, SmallDisk, kinds_of_disks, small_disk

_MEBIBYTES = 192


class Disk:
    """A disk that can be filled: a file system of its own, or files that may not grow.

    Args:
        folder: where the miner keeps its data.
        mounted: the file system, where one could be mounted.
        writers: the miner's processes, whose files are kept from growing where none could.
    """

    def __init__(self, folder: Path, mounted: SmallDisk | None = None) -> None:
        self.folder = folder
        self.writers: Callable[[], list[psutil.Process]] = list
        self._mounted = mounted

    def fill(self) -> None:
        """Leave no room at all."""
        if self._mounted is not None:
            self._mounted.fill()
        else:
            self._limit(0)

    def free(self) -> None:
        """Give the room back."""
        if self._mounted is not None:
            self._mounted.free()
        else:
            self._limit(resource.RLIM_INFINITY)

    def _limit(self, size: int) -> None:
        for process in self.writers():
            with suppress(psutil.NoSuchProcess):
                _, most = process.rlimit(psutil.RLIMIT_FSIZE)
                process.rlimit(psutil.RLIMIT_FSIZE, (size if size == 0 else most, most))


@contextmanager
def miner_disk(root: Path) -> Iterator[Disk]:
    """Make the disk of the miner of a campaign that has the folder `root`."""
    if kinds_of_disks()[0] != MOUNTED:
        yield Disk(root / "miner")
        return
    with small_disk(MOUNTED, _MEBIBYTES) as mounted:
        yield Disk(mounted.folder / "miner", mounted)
