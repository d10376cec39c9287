"""A chained log on disk: many threads and processes append to one file, and none loses a line.

Room for lines is set aside before a change is made: blocks behind the end of the file, which
readers do not see and nobody else can take. So a change whose line could not be written is refused
before it is made. Half a line, left by a crash, is cut off at the next line, and the chain says so.

Also here:

* What a chained log held at an earlier moment, found by halving the file.
* Blocks set aside behind the end of a file: its length and what readers see stay as they are.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import hashlib
import os
import resource
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from pramana_core.audit.verifying import LONGEST, TORN, Anchor, Head, Link, link_after, read_link
from pramana_core.errors import StoreCorrupt
from pramana_core.full_disks import NO_ROOM, no_room, storing

_WHAT = "the audit log"

# What a chained log held at an earlier moment, found by halving the file.


def head_before(descriptor: int, moment: datetime) -> Head:
    """Return where a log's chain ended when a moment began; no line of it is hashed again.

    Times of lines ascend, but for clocks that were set back; then it is where the chain ended at
    some moment near that one.

    Raises:
        StoreCorrupt: a line that is looked at is not a line of a chain.
    """
    low, high = 0, os.fstat(descriptor).st_size
    while high - low > 2 * LONGEST:
        middle = (low + high) // 2
        at = middle + os.pread(descriptor, LONGEST, middle).find(b"\n") + 1
        if _is_before(_link_of(_line(descriptor, at)), moment):
            low = at
        else:
            high = middle
    found, at = Head(), low
    while (line := _line(descriptor, at)).endswith(b"\n"):
        link = _link_of(line)
        if not _is_before(link, moment):
            break
        found, at = link.head, at + len(line)
    return found


def _line(descriptor: int, at: int) -> bytes:
    text = os.pread(descriptor, LONGEST + 1, at)
    return text[: text.find(b"\n") + 1]


def _link_of(line: bytes) -> Link:
    """Read a line of a chain. Raises StoreCorrupt."""
    link = read_link(line)
    if link is None:
        raise StoreCorrupt(
            "A line of the audit log is not one of its chain.",
            where=_WHAT,
            remedy="Keep the file, find out who wrote to it (`pramana audit verify`), and move it"
            " away; a new log begins then.",
        )
    return link


def _is_before(link: Link, moment: datetime) -> bool:
    return datetime.fromisoformat(link.time) < moment


# Blocks set aside behind the end of a file: its length and what readers see stay as they are.

_KEEP_SIZE = 1
"""FALLOC_FL_KEEP_SIZE of Linux."""

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


SPARE = 16
"""Lines for which there is always room beside those in flight: for other processes."""

_AHEAD = 256 * 1024
"""Bytes that are set aside at once where there is room for them."""


@dataclass
class AuditLog:
    """Appends to one chained log, and keeps room in it.

    Args:
        path: the file, made with mode 0600 at its first line.
        clock: the time of each line.
        durable: whether each line is on disk before `write` returns. Otherwise lines reach the
            disk when the system writes them, and at each anchor.

    Every method raises StorageFull where there is no room, and StoreCorrupt where a line that it
    reads, such as the last, is not one of the chain.
    """

    path: Path
    clock: Callable[[], datetime]
    durable: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    """Held while the file is; so whoever waits for it may wait for the disk."""
    _counting: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _promised: int = field(default=0, repr=False)
    _roomy: int = field(default=0, repr=False)
    """So many promises at once there was room for when the file was last looked at."""
    _room: tuple[int, int] = field(default=(0, 0), repr=False)
    """The file's number in its file system, and up to which byte there is room."""
    _name: tuple[int, str] | None = field(default=None, repr=False)
    _told: Head = field(default_factory=Head, repr=False)
    """What was last told of an earlier moment: no less is told when a clock is set back."""

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

    def write(self, entry: Mapping[str, Any]) -> Head:
        """Append one entry with the time; return where the chain ends with it."""
        with self.appending() as append:
            return append(entry)

    @contextmanager
    def appending(self) -> Iterator[Callable[[Mapping[str, Any]], Head]]:
        """Hold the file for several entries; each is appended as by `write`, or not at all."""
        with self._lock, self._opened() as descriptor:
            head = self._end(descriptor)

            def append(entry: Mapping[str, Any]) -> Head:
                nonlocal head
                head = self._append(descriptor, head, entry, os.fstat(descriptor).st_size).head
                return head

            yield append
            if self.durable:
                os.fsync(descriptor)
            self._look(os.fstat(descriptor))

    def anchor(self, before: datetime | None = None) -> Anchor:
        """Return the state of the log, now or when a moment began, once it is on disk."""
        with ExitStack() as stack:
            with self._lock, self._opened() as descriptor:
                head = self._end(descriptor)
                name = self._named(descriptor) if head.entries else None
                if before is not None:
                    head = self._told = max(self._told, head_before(descriptor, before), key=_lines)
                kept = os.dup(descriptor)
                stack.callback(os.close, kept)
            os.fsync(kept)  # Nobody waits for the disk but who asked.
        return Anchor(name, head.entries, head.hash, (before or self.clock()).isoformat())

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

    def _end(self, descriptor: int) -> Head:
        """Return where the chain ends; cut off half a line that a crash left there."""
        size = os.fstat(descriptor).st_size
        tail = os.pread(descriptor, 2 * LONGEST, max(size - 2 * LONGEST, 0))
        whole, _, torn = tail.rpartition(b"\n")
        end, head = size - len(torn), Head()
        if end > 0:
            head = _link_of(whole[whole.rfind(b"\n") + 1 :] + b"\n").head
        if not torn:
            return head
        cut = {"bytes": len(torn), "sha256": hashlib.sha256(torn).hexdigest()}
        return self._append(descriptor, head, {"action": TORN, "cut": cut}, end).head

    def _append(self, descriptor: int, head: Head, entry: Mapping[str, Any], at: int) -> Link:
        """Write the next line at a place, and cut off what half a line left behind it."""
        link = link_after(head, self.clock(), entry)
        line, size = link.text(), os.fstat(descriptor).st_size
        written = False
        try:
            with storing(_WHAT):
                written = os.pwrite(descriptor, line, at) == len(line)
        finally:
            if not written and at == size:
                os.ftruncate(descriptor, size)
        if not written:
            raise no_room(_WHAT)
        if size > at + len(line):
            os.ftruncate(descriptor, at + len(line))
            self._room = (0, 0)
        return link

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

    def _named(self, descriptor: int) -> str:
        """Return the hash of the first line."""
        number = os.fstat(descriptor).st_ino
        if self._name is None or self._name[0] != number:
            with os.fdopen(os.dup(descriptor), "rb") as file:
                file.seek(0)
                self._name = number, _link_of(file.readline(LONGEST + 1)).hash
        return self._name[1]


def _lines(head: Head) -> int:
    return head.entries
