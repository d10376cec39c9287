"""An append-only log of JSON lines on disk; several threads and processes may write to it."""

from __future__ import annotations

import fcntl
import json
import os
import resource
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from pramana_core.errors import LimitExceeded, NotReady, StorageFull
from pramana_core.full_disks import no_room, storing

AUDIT = "audit.jsonl"
"""The name of the file in a data directory or an owner's state directory."""

LONGEST = 4096
"""The longest line in bytes, with its line end."""

SPARE = 16
"""A change starts only while the disk has room for this many lines."""

_WHAT = "the audit log"
_LOCK_SECONDS = 5.0
_POLL_SECONDS = 0.02


@dataclass
class AuditLog:
    """An existing audit log at `path`; `durable` syncs every line to disk.

    A missing log is an error: its file was moved or deleted after the start of the service.
    """

    path: Path
    clock: Callable[[], datetime]
    durable: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @contextmanager
    def room(self) -> Iterator[None]:
        """Check the log before a change that is logged afterwards. Raises StorageFull, NotReady."""
        self.require_room()
        yield

    def require_room(self) -> None:
        """Check that further lines can be written. Raises StorageFull, NotReady."""
        with self._locked() as descriptor:
            size, disk = os.fstat(descriptor).st_size, os.fstatvfs(descriptor)
        most = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
        limited = most != resource.RLIM_INFINITY and size + SPARE * LONGEST > most
        if limited or disk.f_bavail * disk.f_frsize < SPARE * LONGEST:
            raise no_room(_WHAT)

    def write(self, entry: Mapping[str, Any]) -> None:
        """Append an entry as a line with the time. Raises LimitExceeded, StorageFull, NotReady."""
        shown = {"time": self.clock().isoformat(), **entry}
        line = json.dumps(shown, allow_nan=False).encode("ascii") + b"\n"
        if len(line) > LONGEST:
            raise LimitExceeded(f"An audit entry has over {LONGEST} bytes; shorten its texts.")
        try:
            with self._locked() as descriptor:
                self._append(descriptor, line)
        except (StorageFull, NotReady) as error:
            raise type(error)(
                "An action that is not in the audit log may have been made.",
                where=error.where,
                remedy=error.remedy,
            ) from None

    @contextmanager
    def _locked(self) -> Iterator[int]:
        """Open the log and lock it, within a limited time. Raises StorageFull, NotReady."""
        until = time.monotonic() + _LOCK_SECONDS
        if not self._lock.acquire(timeout=_LOCK_SECONDS):
            raise _locked_by_another()
        try:
            with self._opened() as descriptor:
                # Closing the descriptor releases the lock.
                while not _lock_now(descriptor):
                    if time.monotonic() >= until:
                        raise _locked_by_another()
                    time.sleep(_POLL_SECONDS)
                yield descriptor
        finally:
            self._lock.release()

    @contextmanager
    def _opened(self) -> Iterator[int]:
        """Open the log for writing. Raises StorageFull, NotReady."""
        try:
            with storing(_WHAT):
                descriptor = os.open(self.path, os.O_RDWR)
                try:
                    yield descriptor
                finally:
                    os.close(descriptor)
        except OSError as error:
            raise NotReady(
                f"The audit log cannot be written ({error.strerror}), so no change is made.",
                where=_WHAT,
                remedy="Check the file audit.jsonl, its folder and its disk. If the file was moved,"
                " put it back. If it is lost, restart the service, which begins a new log.",
            ) from None

    def _append(self, descriptor: int, line: bytes) -> None:
        """Append a line, after ending the partial line that a crash may have left."""
        size = os.fstat(descriptor).st_size
        if size and os.pread(descriptor, 1, size - 1) != b"\n":
            line = b"\n" + line
        written = False
        try:
            written = os.pwrite(descriptor, line, size) == len(line)
        finally:
            if not written:
                os.ftruncate(descriptor, size)
        if not written:
            raise no_room(_WHAT)
        if self.durable:
            os.fsync(descriptor)


def _lock_now(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _locked_by_another() -> NotReady:
    return NotReady(
        "Another process keeps the audit log locked, so no change is made.",
        where=_WHAT,
        remedy="Find the process that has audit.jsonl open (`fuser -v`), and end it.",
    )
