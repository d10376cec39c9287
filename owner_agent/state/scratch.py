"""Columns that lie in files without a name: private, and gone as soon as nobody needs them.

They are in the owner's own folder, not where the system keeps what is temporary. A name would
outlive a crash; without one nothing of them is left, however the process ends.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from owner_agent.state.private_files import private_directory
from pramana_core.full_disks import storing

_WHAT = "the records that are being prepared"


def scratch_file(folder: Path) -> IO[bytes]:
    """Open a private file without a name in a folder, which is made if it is not there.

    Raises:
        StorageFull: the disk has no room.
        KeyFileError: others may enter the folder.
    """
    with storing(_WHAT, folder):
        private_directory(folder)
        return tempfile.TemporaryFile(dir=folder, buffering=0)


class ScratchColumn:
    """Values of one type in a file without a name, appended and then read or changed in slices.

    Every method that writes raises StorageFull where the disk has no room.
    """

    def __init__(self, folder: Path, dtype: npt.DTypeLike):
        """Make an empty one; `folder` is where its file lies."""
        self._dtype = np.dtype(dtype)
        self._length = 0
        self._folder = folder
        self._file = scratch_file(folder)
        weakref.finalize(self, self._file.close)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of its values."""
        return self._dtype

    def __len__(self) -> int:
        """Return how many values it has."""
        return self._length

    def append(self, values: npt.NDArray[Any]) -> None:
        """Put values after the last."""
        self._write(self._length, values)
        self._length += len(values)

    def __getitem__(self, rows: slice, /) -> npt.NDArray[Any]:
        """Return some of the values, in memory."""
        start, stop = self._bounds(rows)
        values = np.empty(stop - start, dtype=self._dtype)
        view, at = values.view(np.uint8).data, start * self._dtype.itemsize
        while len(view):
            read = os.preadv(self._file.fileno(), [view], at)
            view, at = view[read:], at + read
        return values

    def __setitem__(self, rows: slice, values: npt.NDArray[Any], /) -> None:
        """Put as many others in their place."""
        start, stop = self._bounds(rows)
        if len(values) != stop - start:
            raise ValueError(f"{len(values)} values do not fit into {stop - start} rows")
        self._write(start, values)

    def _bounds(self, rows: slice) -> tuple[int, int]:
        start, stop, step = rows.indices(self._length)
        if step != 1:
            raise ValueError("rows are read one after the other")
        return start, max(start, stop)

    def _write(self, row: int, values: npt.NDArray[Any]) -> None:
        plain = np.ascontiguousarray(values, dtype=self._dtype)
        view, at = plain.view(np.uint8).data, row * self._dtype.itemsize
        with storing(_WHAT, self._folder):
            while len(view):
                written = os.pwrite(self._file.fileno(), view, at)
                view, at = view[written:], at + written
