"""A worker: a process that runs one job after the other, as its supervisor orders.

`python -m miner_service.jobs.process PARENT` is the template of workers: it loads once what all
jobs need, and becomes a worker by a fork whenever its supervisor sends it the ends of two pipes. It
has one thread, so that a fork copies nothing half done. A worker reads the settings and then orders
from the one pipe and writes lines of progress to the other. It stores what a job made itself, if
its lease still holds. It ends when its template does, and that when its supervisor does.

Also here:

* What the service, supervisors and workers tell each other: lines of JSON on pipes.
* The name of a supervisor: stable, so that its next life knows what it left behind.
"""

from __future__ import annotations

import fcntl
import gc
import hashlib
import json
import os
import queue
import select
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Hashable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO, Generic, NoReturn, TypeVar

from miner_service.jobs.bounds import bound_memory, die_with, step_back
from miner_service.settings import SECTIONS, Settings, utc_now
from miner_service.store.queue import Lease
from pramana_core.errors import Conflict, NotReady, StorageFull

if TYPE_CHECKING:
    from miner_service.jobs.runner import Learn

# What the service, supervisors and workers tell each other: lines of JSON on pipes.

WAKE = b"\n"
"""A line without anything: look whether there is something to do."""

_CHUNK = 1 << 16


_SECTIONS = ("limits", "jobs", "storage", "cluster")


def settings_line(settings: Settings) -> bytes:
    """Return what a process that runs jobs must know; it may hold a password: only for a pipe."""
    values = {
        name: {
            key: {"path": str(value)} if isinstance(value, Path) else value
            for key, value in asdict(getattr(settings, name)).items()
        }
        for name in _SECTIONS
    }
    return line_of({"data_dir": str(settings.data_dir), **values})


def settings_from(line: bytes) -> Settings:
    """Read the settings that `settings_line` wrote."""
    values = json.loads(line)
    sections = {
        name: SECTIONS[name](
            **{
                key: Path(value["path"]) if isinstance(value, dict) else value
                for key, value in values[name].items()
            }
        )
        for name in _SECTIONS
    }
    return Settings(Path(values["data_dir"]), **sections)


def order_line(lease: Lease) -> bytes:
    """Return the order to run a job."""
    return line_of(asdict(lease))


def order_from(line: bytes) -> Lease:
    """Read what `order_line` wrote."""
    return Lease(**json.loads(line))


def line_of(values: dict[str, Any]) -> bytes:
    """Return a line."""
    return json.dumps(values).encode() + b"\n"


class Incoming:
    """Whole lines of a pipe, read without waiting.

    Args:
        descriptor: of the end to read from, which is made not to block.
    """

    def __init__(self, descriptor: int) -> None:
        os.set_blocking(descriptor, False)
        self._descriptor = descriptor
        self._rest = b""
        self.ended = False

    def lines(self) -> list[bytes]:
        """Return what has come since it was last asked; `ended` says whether the other side did."""
        while not self.ended:
            try:
                read = os.read(self._descriptor, _CHUNK)
            except BlockingIOError:
                break
            self.ended = not read
            self._rest += read
        *whole, self._rest = self._rest.split(b"\n")
        return whole


_TOLD_SECONDS = 0.25


def main(learn: Learn | None = None) -> None:
    """Be the template until the supervisor ends, or ends this process."""
    # Loaded before any fork, and not by supervisors, which import this module, too.
    from miner_service.jobs.runner import learn_model

    die_with(int(sys.argv[1]), signal.SIGKILL)
    # The supervisor decides: Ctrl-C reaches all processes of a terminal.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    channel = socket.socket(fileno=os.dup(0))
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)  # what anybody prints is no line of ours
    gc.freeze()  # what is loaded stays in pages that all workers share
    _Template(channel, learn or learn_model).run()


class _Template:
    """Forks workers, and says into the pipe of each how it ended."""

    def __init__(self, channel: socket.socket, learn: Learn) -> None:
        self._channel = channel
        self._learn = learn
        self._told: dict[int, int] = {}
        self._ended, self._end = os.pipe()

    def run(self) -> None:
        """Fork until the supervisor is gone."""
        for descriptor in (self._ended, self._end):
            os.set_blocking(descriptor, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._end, warn_on_full_buffer=False)
        channel = self._channel.fileno()
        while True:
            ready, _, _ = select.select([channel, self._ended], [], [])
            if self._ended in ready:
                os.read(self._ended, 4096)
                self._reap()
            if channel in ready:
                asked, pipes, _, _ = socket.recv_fds(self._channel, 1, 2)
                if not asked:
                    return
                self._fork(*pipes)

    def _fork(self, orders: int, answers: int) -> None:
        template = os.getpid()
        pid = os.fork()
        if pid == 0:
            self._become_worker(template, orders, answers)
        os.close(orders)
        self._told[pid] = answers
        self._say(answers, pid=pid)

    def _become_worker(self, template: int, orders: int, answers: int) -> NoReturn:
        """Let go of all that is the template's or another worker's, and work."""
        try:
            die_with(template, signal.SIGKILL)
            step_back()
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            self._channel.close()
            for descriptor in (self._ended, self._end, *self._told.values()):
                os.close(descriptor)
            with os.fdopen(orders, "rb") as lines:
                _work(lines, _LineWriter(answers), self._learn)
        except BaseException:  # noqa: BLE001 - nothing of the template's may run here any more
            traceback.print_exc()
        finally:
            os._exit(1)

    def _reap(self) -> None:
        while self._told:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            answers = self._told.pop(pid)
            self._say(answers, gone=os.waitstatus_to_exitcode(status))
            os.close(answers)

    def _say(self, answers: int, **line: int) -> None:
        with suppress(OSError):  # the supervisor is gone
            os.write(answers, line_of(line))


def _work(lines: BinaryIO, tell: _LineWriter, learn: Learn) -> NoReturn:
    """Run jobs as ordered, until there are no orders any more."""
    from miner_service.jobs.runner import work_once
    from miner_service.services import open_services

    settings = settings_from(lines.readline())
    bound_memory(settings.limits.job_bytes)
    services = open_services(settings, utc_now, upgrade=False)
    orders: queue.Queue[Lease] = queue.Queue()
    threading.Thread(target=_listen, args=(lines, orders), daemon=True).start()
    tell(ready=True)
    while True:
        lease = orders.get()
        away = None
        try:
            work_once(services, lease, learn, _Step(tell))
        except (NotReady, StorageFull) as error:
            away = error.message
        tell(ended=lease.job, attempt=lease.attempt, away=away)


def _listen(lines: BinaryIO, orders: queue.Queue[Lease]) -> None:
    """Take orders while a job is computed; at their end this process ends."""
    for line in lines:
        orders.put(order_from(line))
    os._exit(0)


class _LineWriter:
    """Writes lines to the supervisor; without one there is nothing left to do."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def __call__(self, **values: Any) -> None:
        try:
            os.write(self._descriptor, line_of(values))
        except OSError:
            os._exit(0)


class _Step:
    """Tells of steps done, a few times a second."""

    def __init__(self, tell: _LineWriter) -> None:
        self._tell = tell
        self._told = -_TOLD_SECONDS

    def __call__(self, done: int, total: int, /) -> None:
        now = time.monotonic()
        if now - self._told >= _TOLD_SECONDS:
            self._told = now
            self._tell(done=done, total=total)


KeyT = TypeVar("KeyT", bound=Hashable)


class Watch(Generic[KeyT]):
    """Tells who has given no sign of life for too long, by the clock of the one who watches.

    No agreement of clocks is needed: a sign is a number that changes, and only the watcher's own
    time between two looks counts.

    Args:
        seconds: for how long a sign holds.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._seen: dict[KeyT, tuple[int, float]] = {}

    def look(self, signs: Mapping[KeyT, int], now: float) -> set[KeyT]:
        """Take note of all signs there are; return whose last one is older than it may be."""
        before = self._seen
        self._seen = {
            key: before[key] if key in before and before[key][0] == sign else (sign, now)
            for key, sign in signs.items()
        }
        return {key for key, (_, first) in self._seen.items() if now - first >= self._seconds}


if __name__ == "__main__":
    main()


# The name of a supervisor: stable, so that its next life knows what it left behind.

_MOST = 64


@contextmanager
def named(folder: Path) -> Iterator[str]:
    """Hold a name that no other supervisor has: of this machine, data directory, and number.

    The first number that is free is taken: that of an earlier life, which the kernel let go of when
    its process ended.

    Raises:
        Conflict: there are too many.
    """
    for number in range(1, _MOST + 1):
        with _file(folder, number).open("a") as file:
            if _locked(file):
                yield _name(folder, number)
                return
    raise Conflict(
        f"{_MOST} supervisors of workers use the data directory {folder}.",
        where="data",
        remedy="Stop one, or start fewer with more workers each.",
    )


@contextmanager
def departed(folder: Path) -> Iterator[list[str]]:
    """Hold the names, here, of supervisors whose processes have ended: nobody takes them meanwhile.

    What they ran can be taken back at once, without waiting for a lease to run out.
    """
    with ExitStack() as stack:
        found = []
        for number in range(1, _MOST + 1):
            if not (path := _file(folder, number)).exists():
                break  # the first number that is free is taken: there are none beyond
            if _locked(stack.enter_context(path.open("a"))):
                found.append(_name(folder, number))
        yield found


def _file(folder: Path, number: int) -> Path:
    return folder / f"workers-{socket.gethostname()}-{number}.lock"


def _name(folder: Path, number: int) -> str:
    place = hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:8]
    return f"{socket.gethostname()}/{place}/{number}"


def _locked(file: IO[str]) -> bool:
    """Take the lock of a file until it is closed, if nobody has it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
