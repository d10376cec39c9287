"""An append-only log of JSON lines on disk: many threads and processes write, and no line is lost.

Room for lines is set aside before a change is made: blocks behind the end of the file, which
readers do not see and nobody else can take. So a change whose line could not be written is refused
before it is made. Half a line, left by a crash, stays where it is; the next one begins below it.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import json
import os
import resource
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from pramana_core.errors import LimitExceeded
from pramana_core.full_disks import NO_ROOM, no_room, storing

LONGEST = 4096
"""The most bytes of a line, with its end; so much room is kept for each."""

SPARE = 16
"""Lines for which there is always room beside those in flight: for other processes."""

_AHEAD = 256 * 1024
"""Bytes that are set aside at once where there is room for them."""

_WHAT = "the audit log"


@dataclass
class AuditLog:
    """Appends to one log, and keeps room in it.

    Args:
        path: the file, made with mode 0600 at its first line.
        clock: the time of each line.
        durable: whether each line is on disk before `write` returns. Otherwise lines reach the
            disk when the system writes them.

    Every method raises StorageFull where there is no room.
    """

    path: Path
    clock: Callable[[], datetime]
    durable: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    """Held while the file is; so whoever waits for it may wait for the disk."""
    _counting: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _promised: int = field(default=0, repr=False)
    _roomy: int = field(default=0, repr=False)
    """The number of promises that there was room for when the file was last looked at."""
    _room: tuple[int, int] = field(default=(0, 0), repr=False)
    """The file's number in its file system, and up to which byte there is room."""

    @contextmanager
    def room(self) -> Iterator[None]:
        """Keep room for one line meanwhile: whoever changes something holds it while it does."""
        self.promise()
        try:
            yield
        finally:
            self.release()

    def promise_at_once(self) -> bool:
        """Keep room for one line if that is certain without looking at the file; say whether.

        It waits for nothing. Only beside other promises is it certain: what these write shows how
        much room there is, and while nobody writes other processes may use it up.
        """
        with self._counting:
            kept = 0 < self._promised < self._roomy
            self._promised += kept
        return kept

    def promise(self) -> None:
        """Keep room for one line, until `release`. Raises StorageFull, and nothing is kept."""
        with self._lock:
            with self._counting:
                needed = (self._promised + 1 + SPARE) * LONGEST
            try:
                found = self.path.stat()
                kept = self._room[0] == found.st_ino and found.st_size + needed <= self._room[1]
            except FileNotFoundError:
                kept = False
            if kept:
                self._look(found)
            else:
                with self._opened() as descriptor:
                    self._set_aside(descriptor, needed)
                    self._look(os.fstat(descriptor))
            with self._counting:
                self._promised += 1

    def release(self) -> None:
        """Give back what a promise kept."""
        with self._counting:
            self._promised -= 1

    def write(self, entry: Mapping[str, Any]) -> None:
        """Append one entry with the time. Raises LimitExceeded: its line would be too long."""
        with self.appending() as append:
            append(entry)

    @contextmanager
    def appending(self) -> Iterator[Callable[[Mapping[str, Any]], None]]:
        """Hold the file for several entries; each is appended as by `write`, or not at all."""
        with self._lock, self._opened() as descriptor:
            yield lambda entry: self._append(descriptor, entry)
            if self.durable:
                os.fsync(descriptor)
            self._look(os.fstat(descriptor))

    @contextmanager
    def _opened(self) -> Iterator[int]:
        """Hold the file against other processes; it is opened each time, as others may move it."""
        with storing(_WHAT):
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield descriptor
        finally:
            # Not left to `close`: whoever holds a copy of the descriptor would keep it locked.
            fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)

    def _append(self, descriptor: int, entry: Mapping[str, Any]) -> None:
        shown = {"time": self.clock().isoformat(), **entry}
        line = json.dumps(shown, allow_nan=False).encode("ascii") + b"\n"
        if len(line) > LONGEST:
            raise LimitExceeded(f"An audit entry may have {LONGEST} bytes; cut its texts before.")
        size = os.fstat(descriptor).st_size
        if size and os.pread(descriptor, 1, size - 1) != b"\n":
            line = b"\n" + line
        written = False
        try:
            with storing(_WHAT):
                written = os.pwrite(descriptor, line, size) == len(line)
        finally:
            if not written:
                os.ftruncate(descriptor, size)
        if not written:
            raise no_room(_WHAT)

    def _set_aside(self, descriptor: int, needed: int) -> None:
        found = os.fstat(descriptor)
        for more in (needed + _AHEAD, needed):
            if set_aside(descriptor, found.st_size, more):
                self._room = (found.st_ino, found.st_size + more)
                return
        raise no_room(_WHAT)

    def _look(self, found: os.stat_result) -> None:
        """Note for how many promises a file has room."""
        left = self._room[1] - found.st_size if self._room[0] == found.st_ino else 0
        with self._counting:
            self._roomy = left // LONGEST - SPARE


_KEEP_SIZE = 1
"""FALLOC_FL_KEEP_SIZE of Linux: the length of the file and what readers see stay the same."""

_UNKNOWN = frozenset({errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL})


def set_aside(descriptor: int, start: int, length: int) -> bool:
    """Set blocks aside for bytes from `start` on; whether there is room for them.

    Where the file system cannot set blocks aside, the room there is at the moment is looked at.
    """
    most = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    if most != resource.RLIM_INFINITY and start + length > most:
        return False
    found = _fallocate(descriptor, start, length)
    if found == 0:
        return True
    if found in NO_ROOM:
        return False
    if found in _UNKNOWN:
        room = os.fstatvfs(descriptor)
        return room.f_bavail * room.f_frsize >= length
    raise OSError(found, os.strerror(found))


def _fallocate(descriptor: int, start: int, length: int) -> int:
    """Return 0, or the number of the system's error."""
    call = _call()
    if call is None:
        return errno.ENOSYS
    return 0 if call(descriptor, _KEEP_SIZE, start, length) == 0 else ctypes.get_errno()


@cache
def _call() -> Any:
    call = getattr(ctypes.CDLL(None, use_errno=True), "fallocate64", None)
    if call is not None:
        call.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)
    return call
