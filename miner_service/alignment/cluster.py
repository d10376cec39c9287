"""Counting on several machines: a Dask cluster passes over the records of jobs.

The workers of the cluster read columns from a folder. The miner computes which rows belong to a
job, the estimates and the models.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import signal
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from urllib.parse import urlsplit

from miner_service.alignment.pieces import PieceReader, Places, RecordSet
from miner_service.settings import ClusterSettings, is_loopback
from miner_service.store.columns import ColumnFiles
from miner_service.store.sqlite import FILE
from pramana_core.errors import (
    Conflict,
    NotInstalled,
    NotReady,
    OptionError,
    StoreCorrupt,
    WorkerLost,
)
from pramana_core.kernels.compiled import can_compile
from pramana_core.marginals.passes import TICK_SECONDS, Pass, total
from pramana_core.progress import Tick

if TYPE_CHECKING:
    from distributed import Client, Future, Security

log = logging.getLogger(__name__)

T = TypeVar("T")

_ATTRIBUTE = "pramana_records"
"""The attribute of a Dask worker that refers to its `WorkerRecords`."""

_PAUSE_SECONDS = 1.0
"""Seconds before a worker tries again to join an unavailable scheduler."""


@dataclass(frozen=True)
class CountingTask(Generic[T]):
    """A task for a worker: a pass over some records, and the miner's version of this program."""

    version: str | None
    records: RecordSet
    work: Pass[T]


def count_pieces(pieces: Sequence[Places], task: CountingTask[T]) -> T | None:
    """Count some pieces, in a worker of the cluster. Raises Conflict, NotReady, StoreCorrupt."""
    from distributed import get_worker

    records = getattr(get_worker(), _ATTRIBUTE, None)
    if not isinstance(records, WorkerRecords):
        raise Conflict(
            "A worker of the cluster was not started by `miner-service cluster-worker`.",
            where="scheduler",
            remedy="Use a separate scheduler for the miner.",
        )
    return records.counted(pieces, task)


class WorkerRecords:
    """Reads the `columns` folder of the miner's records on a worker. Raises OptionError."""

    def __init__(self, columns: Path) -> None:
        if (columns / FILE).exists():
            raise OptionError(
                f"{columns} contains the miner's database. Anyone who can reach this worker could"
                " read the database.",
                where="columns",
                remedy=f"Set --columns {columns / 'columns'}, and mount no other data of the miner"
                " on this machine.",
            )
        files = ColumnFiles(columns)
        self._reader = PieceReader(files.data_path, files.verify_data)

    def counted(self, pieces: Sequence[Places], task: CountingTask[T]) -> T | None:
        """Return the count of a pass over some pieces; see `count_pieces`."""
        if task.version != installed_version():
            raise Conflict(
                f"A worker has version {installed_version()}, the miner {task.version}.",
                where="scheduler",
                remedy="Install the same version everywhere, and restart the workers.",
            )
        try:
            return self._reader.counted(task.records, pieces, task.work)
        except OSError as error:  # the miner would take an OSError for a lost connection
            raise StoreCorrupt(
                "A worker of the cluster cannot read the records of this job:"
                f" {error.strerror or type(error).__name__}.",
                where="files",
                remedy="The operator should check the folder of the cluster's workers and its"
                " permissions. To run the job again, create it again.",
            ) from error


@cache
def installed_version() -> str | None:
    """Return the installed version of this program; None in a source checkout."""
    try:
        return version("pramana")
    except PackageNotFoundError:
        return None


def require_dask() -> None:
    """Check that Dask is installed. Raises NotInstalled."""
    if find_spec("distributed") is None:
        raise NotInstalled(
            "Counting on a cluster needs dask and distributed.",
            where="scheduler",
            remedy="Install `pramana[miner,cluster]`, or remove the scheduler from the settings.",
        )


def security_of(settings: ClusterSettings) -> Security | None:
    """Return the certificates that authenticate the cluster's members; None without TLS."""
    if settings.authority is None:
        return None
    from distributed import Security

    return Security(  # type: ignore[no-untyped-call]
        require_encryption=True,
        tls_ca_file=str(settings.authority),
        **dict.fromkeys(("tls_client_cert", "tls_worker_cert"), str(settings.certificate)),
        **dict.fromkeys(("tls_client_key", "tls_worker_key"), str(settings.private_key)),
    )


def listening_host(settings: ClusterSettings) -> str | None:
    """Return the host on which a worker listens: this machine without TLS, else None for all."""
    address = urlsplit(settings.scheduler or "")
    return (
        address.hostname
        if address.scheme == "tcp" and is_loopback(address.hostname or "")
        else None
    )


def run_worker(settings: ClusterSettings, columns: Path, threads: int) -> None:
    """Count for the configured scheduler, with `threads` pieces at a time, until SIGTERM or SIGINT.

    Waits while the scheduler is unavailable. Raises NotInstalled, OptionError.
    """
    require_dask()
    can_compile()  # a worker counts for many jobs, so compilation pays from the start
    records = WorkerRecords(columns)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with suppress(KeyboardInterrupt):
        while True:
            try:
                asyncio.run(_work(settings, threads, records))
            except (
                OSError,
                RuntimeError,
            ) as error:  # Dask raises both for an unavailable scheduler
                log.warning("waiting for the scheduler: %s", error.__cause__ or error)
            time.sleep(_PAUSE_SECONDS)


async def _work(settings: ClusterSettings, threads: int, records: WorkerRecords) -> None:
    from distributed import Worker

    worker = Worker(
        settings.scheduler,
        host=listening_host(settings),
        nthreads=threads,
        security=security_of(settings),
        dashboard_address="127.0.0.1:0",
        memory_limit=0,  # the process has its own limit
    )
    setattr(worker, _ATTRIBUTE, records)
    async with worker:
        log.warning("counting for the scheduler at %s", settings.scheduler)
        await worker.finished()  # type: ignore[no-untyped-call]


_TASK_PIECES = 16
"""The maximum number of pieces per task. The worker adds up their counts."""

_PROBE_SECONDS = 1.0


def require_scheduler(settings: ClusterSettings) -> None:
    """Check that the scheduler accepts connections. Raises NotReady."""
    address = urlsplit(settings.scheduler or "")
    try:
        socket.create_connection(
            (address.hostname or "", address.port or 0), _PROBE_SECONDS
        ).close()
    except OSError:
        raise _away() from None


def _away() -> NotReady:
    return NotReady(
        "The scheduler of the cluster does not answer.",
        where="scheduler",
        remedy="Jobs wait and then continue automatically. The operator should check the"
        " scheduler, its address and the certificates.",
    )


class ClusterPlace:
    """Passes over records on a cluster. It connects to the scheduler at the first pass."""

    def __init__(self, settings: ClusterSettings) -> None:
        self._settings = settings
        self._client: Client | None = None

    def __call__(
        self, records: RecordSet, pieces: Sequence[Places], work: Pass[T], tick: Tick, /
    ) -> T:
        """Return the count of a pass over all pieces. Raises NotReady, WorkerLost, EmptyTable."""
        task = CountingTask(installed_version(), records, work)
        with self._translate_errors():
            client = self._connect()
            threads = self._threads(client, tick)
            groups = _groups(pieces, max(threads, -(-len(pieces) // _TASK_PIECES)))
            futures = client.map(count_pieces, groups, task=task, pure=False)
            try:
                found: list[T | None] = [self._result(client, one, tick) for one in futures]
            except BaseException:
                client.cancel(futures)  # type: ignore[no-untyped-call]
                raise
        return total([part for part in found if part is not None])

    def _connect(self) -> Client:
        if self._client is None:
            require_dask()
            from distributed import Client

            self._client = Client(  # type: ignore[no-untyped-call]
                self._settings.scheduler,
                timeout=self._settings.wait_seconds,
                security=security_of(self._settings),
                set_as_default=False,
                name="pramana",
            )
        return self._client

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Translate Dask's errors and drop the connection; the next pass connects again."""
        try:
            yield
        except (OSError, CancelledError) as error:
            if self._client is not None:
                with suppress(OSError):
                    self._client.close(timeout=_PROBE_SECONDS)  # type: ignore[no-untyped-call]
            self._client = None
            raise _away() from error

    def _threads(self, client: Client, tick: Tick) -> int:
        """Wait for workers, and return their total count of threads. Raises NotReady."""
        began = time.monotonic()
        while not (found := _nthreads(client)):
            tick()
            self._require_soon(began)
            time.sleep(TICK_SECONDS)
        return found

    def _result(self, client: Client, future: Future[Any], tick: Tick) -> Any:
        from distributed import KilledWorker

        counted = time.monotonic()
        while not future.done():  # type: ignore[no-untyped-call]
            tick()
            with suppress(TimeoutError):
                future.exception(timeout=TICK_SECONDS)  # type: ignore[no-untyped-call]
            if _nthreads(client):
                counted = time.monotonic()
            self._require_soon(counted)
        try:
            return future.result()
        except KilledWorker:
            raise WorkerLost(
                "Several workers of the cluster ended one after another on the same records of"
                " this job. The job is not repeated automatically.",
                remedy="The operator should check the logs and memory of the cluster's workers. To"
                " run the job again, create it again.",
            ) from None

    def _require_soon(self, since: float) -> None:
        if time.monotonic() - since > self._settings.wait_seconds:
            raise NotReady(
                "The scheduler of the cluster has no workers.",
                where="scheduler",
                remedy="Jobs wait and then continue automatically. The operator should start"
                " `miner-service cluster-worker` on the machines of the cluster.",
            )


def _nthreads(client: Client) -> int:
    known = client.scheduler_info(n_workers=-1)
    if "workers" not in known:  # Dask sends no request then, and raises no error
        raise ConnectionError("The connection was lost before the scheduler listed its workers.")
    workers: dict[str, dict[str, int]] = known["workers"]
    return sum(worker["nthreads"] for worker in workers.values())


def _groups(parts: Sequence[T], most: int) -> list[list[T]]:
    number = min(len(parts), most)
    ends = [len(parts) * place // number for place in range(number + 1)]
    return [list(parts[start:stop]) for start, stop in itertools.pairwise(ends)]
