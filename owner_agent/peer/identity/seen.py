"""Requests that were let in, kept on disk, so that none counts twice even after a restart.

A request is remembered for as long as its time could still be taken, and some. What is older is
forgotten; of one peer only so many are taken meanwhile, so that the file stays small.
"""

from __future__ import annotations

import fcntl
import os
import re
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from owner_agent.state.history import state_directory
from owner_agent.state.private_files import FILE_MODE
from pramana_core.errors import StoreCorrupt, TooManyRequests
from pramana_core.full_disks import no_room, storing

MOST = 200_000
"""Requests of one peer that are remembered at once; it is asked to wait then."""

_LINE = re.compile(r"([0-9]{1,12}\.[0-9]{3}) ([0-9a-f]{32}) (\S+)")
_WHAT = "the requests that were let in"
_STALE = 10_000
"""Lines of the file that are not needed any more, before it is written anew."""

Request = tuple[str, str]
"""Who signed it, and the number that it used for no other."""


@dataclass
class SeenRequests:
    """What was let in, as all processes of one owner know it.

    Args:
        path: the file.
        seconds: for how long a request is remembered after its own time.
    """

    path: Path
    seconds: float
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _seen: dict[Request, float] = field(default_factory=dict, repr=False)
    _read: tuple[int, int] = field(default=(0, 0), repr=False)
    """The file's number in its file system, and up to which byte it is read."""
    _lines: int = field(default=0, repr=False)

    def holds(self, request: Request, now: float) -> bool:
        """Whether a request was let in before. Raises as `let_in` does."""
        with self._lock, self._current(now):
            return request in self._seen

    def let_in(self, request: Request, moment: float, now: float) -> bool:
        """Remember a request, durably; False if it was let in before.

        Raises:
            TooManyRequests: the peer sends more than is remembered of one.
            StorageFull: there is no room to remember it; it is not let in.
            StoreCorrupt: the file is not what was written.
        """
        peer, nonce = request
        with self._lock, self._current(now) as descriptor:
            if request in self._seen:
                return False
            if Counter(name for name, _ in self._seen)[peer] >= MOST:
                raise TooManyRequests(
                    f"{peer} sent {MOST} requests within {self.seconds:.0f} seconds.",
                    where=peer,
                    remedy="Send fewer, or wait.",
                )
            self._append(descriptor, [(peer, nonce, moment)])
            self._seen[request] = moment
            return True

    @contextmanager
    def _current(self, now: float) -> Iterator[int]:
        """Hold the file, with all in it that other processes wrote, and nothing that is old."""
        state_directory(self.path.parent)
        with storing(_WHAT):
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, FILE_MODE)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            self._catch_up(descriptor)
            horizon = now - self.seconds
            if any(at < horizon for at in self._seen.values()):
                self._seen = {one: at for one, at in self._seen.items() if at >= horizon}
            if self._lines > len(self._seen) + _STALE:
                self._rewrite(descriptor)
            yield descriptor
        finally:
            os.close(descriptor)

    def _catch_up(self, descriptor: int) -> None:
        found = os.fstat(descriptor)
        number, read = self._read
        if number != found.st_ino or read > found.st_size:
            self._seen, self._lines, read = {}, 0, 0
        if read < found.st_size:
            new = os.pread(descriptor, found.st_size - read, read)
            whole = new[: new.rfind(b"\n") + 1]
            for line in whole.decode("ascii", "replace").splitlines():
                match = _LINE.fullmatch(line)
                if match is None:
                    raise StoreCorrupt(
                        f"{self.path.name} in the state directory is not what was written there.",
                        where=self.path.name,
                        remedy=f"Stop the agent for {self.seconds:.0f} seconds and remove the file:"
                        " no request from before is taken then.",
                    )
                self._seen[match[3], match[2]] = float(match[1])
                self._lines += 1
            if len(whole) < len(new):  # half a line of a crash: that request was not let in
                os.ftruncate(descriptor, read + len(whole))
            read += len(whole)
        self._read = found.st_ino, read

    def _rewrite(self, descriptor: int) -> None:
        """Write what is needed over the file, whose lines are all in memory."""
        lines = [(peer, nonce, at) for (peer, nonce), at in self._seen.items()]
        os.ftruncate(descriptor, 0)
        self._read, self._lines = (self._read[0], 0), 0
        self._append(descriptor, lines)

    def _append(self, descriptor: int, requests: list[tuple[str, str, float]]) -> None:
        number, end = self._read
        text = "".join(f"{at:.3f} {nonce} {peer}\n" for peer, nonce, at in requests).encode()
        written = 0
        try:
            with storing(_WHAT):
                written = os.pwrite(descriptor, text, end)
                os.fdatasync(descriptor)
        finally:
            if written < len(text):
                os.ftruncate(descriptor, end)
        if written < len(text):
            raise no_room(_WHAT)
        self._read = number, end + len(text)
        self._lines += len(requests)
