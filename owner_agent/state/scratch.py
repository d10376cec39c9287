"""Columns in unnamed private files, which vanish when the process ends."""

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


def scratch_file(folder: Path, buffering: int = 0) -> IO[bytes]:
    """Open an unnamed private file in a folder. Raises StorageFull or KeyFileError."""
    with storing(_WHAT, folder):
        private_directory(folder)
        return tempfile.TemporaryFile(dir=folder, buffering=buffering)


class ScratchFile:
    """An unnamed file that stores columns one after another."""

    def __init__(self, folder: Path):
        """Create an empty file in a folder. Raises the errors of `scratch_file`."""
        self._file = scratch_file(folder)
        self._folder = folder
        self._end = 0
        weakref.finalize(self, self._file.close)

    def column(self, dtype: npt.DTypeLike, length: int) -> ScratchColumn:
        """Return a new column of `length` values, not written yet."""
        made = ScratchColumn(self, self._end, np.dtype(dtype), length)
        self._end += made.dtype.itemsize * length
        return made

    def read(self, at: int, into: npt.NDArray[np.uint8]) -> None:
        """Fill an array with bytes from offset `at` on. Raises ValueError if there are too few."""
        view = into.data
        while len(view):
            read = os.preadv(self._file.fileno(), [view], at)
            if not read:
                raise ValueError("the file ends before the requested bytes")
            view, at = view[read:], at + read

    def write(self, at: int, values: npt.NDArray[np.uint8]) -> None:
        """Write bytes, starting at offset `at`. Raises StorageFull."""
        view = values.data
        with storing(_WHAT, self._folder):
            while len(view):
                written = os.pwrite(self._file.fileno(), view, at)
                view, at = view[written:], at + written


class ScratchColumn:
    """Values of one type in a scratch file, read and written in slices."""

    def __init__(self, file: ScratchFile, at: int, dtype: np.dtype[Any], length: int):
        """Place a column at offset `at` of a file (see `ScratchFile.column`)."""
        self._file = file
        self._at = at
        self._dtype = dtype
        self._length = length

    @property
    def dtype(self) -> np.dtype[Any]:
        """The data type of the values."""
        return self._dtype

    def __len__(self) -> int:
        """Return the count of values."""
        return self._length

    def __getitem__(self, rows: slice, /) -> npt.NDArray[Any]:
        """Return a slice of the values, read into memory. The values must have been written."""
        start, stop = self._bounds(rows)
        values = np.empty(stop - start, dtype=self._dtype)
        self._file.read(self._place(start), values.view(np.uint8))
        return values

    def __setitem__(self, rows: slice, values: npt.NDArray[Any], /) -> None:
        """Write a slice of the values. Raises StorageFull."""
        start, stop = self._bounds(rows)
        if len(values) != stop - start:
            raise ValueError(f"{len(values)} values do not fit into {stop - start} rows")
        plain = np.ascontiguousarray(values, dtype=self._dtype)
        self._file.write(self._place(start), plain.view(np.uint8))

    def _place(self, row: int) -> int:
        return self._at + row * self._dtype.itemsize

    def _bounds(self, rows: slice) -> tuple[int, int]:
        start, stop, step = rows.indices(self._length)
        if step != 1:
            raise ValueError("a slice with a step is not supported")
        return start, max(start, stop)
