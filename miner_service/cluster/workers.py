"""A worker of the cluster: counts pieces of records, read from the place of files that it knows."""

from __future__ import annotations

import asyncio
import logging
import signal
import ssl
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from urllib.parse import urlsplit

from miner_service.alignment.pieces import PieceReader, Places, RecordSet
from miner_service.settings import ClusterSettings, Settings, is_loopback
from miner_service.store.files.opening import open_segments
from pramana_core.errors import Conflict, NotInstalled, OptionError, StoreCorrupt, StoreMismatch
from pramana_core.kernels.compiled import can_compile
from pramana_core.marginals.passes import Pass, total

if TYPE_CHECKING:
    from distributed import Security, Worker

log = logging.getLogger(__name__)

T = TypeVar("T")

_ATTRIBUTE = "pramana_records"
"""Where a worker keeps what reads its records."""

_PAUSE_SECONDS = 1.0
"""Before a worker tries again to join a scheduler that is away."""


@dataclass(frozen=True)
class CountingTask(Generic[T]):
    """What a worker is asked: a pass over records of a store, by a version of this program."""

    store: str | None
    version: str | None
    records: RecordSet
    asked: Pass[T]


def count_pieces(pieces: Sequence[Places], task: CountingTask[T]) -> T | None:
    """Return what a pass counts of some pieces, read by the worker that this runs on; None of none.

    Raises:
        Conflict: the worker is of another version, or counts nothing for a miner.
        StoreMismatch: its place of files is another store's.
        NotReady, StoreCorrupt: a file is not there, or cannot be read, or is not as it was sealed.
    """
    from distributed import get_worker

    records = getattr(get_worker(), _ATTRIBUTE, None)
    if not isinstance(records, WorkerRecords):
        raise Conflict(
            "A worker of the cluster was not started by `miner-service cluster-worker`.",
            where="scheduler",
            remedy="Give the miner a scheduler of its own.",
        )
    return records.counted(pieces, task)


def add_counts(parts: Sequence[T | None]) -> T | None:
    """Return the sum of what was counted of several pieces."""
    found = [part for part in parts if part is not None]
    return total(found) if found else None


class WorkerRecords:
    """What a worker keeps while it lives: what reads the records of its place of files.

    Args:
        settings: name the place.
    """

    def __init__(self, settings: Settings) -> None:
        self._segments = open_segments(settings)
        if settings.storage.files is not None:  # a folder is the miner's, and may be read only
            self._segments.prepare()
        self._reader = PieceReader(self._segments.data_path, self._segments.verify_data)

    def counted(self, pieces: Sequence[Places], task: CountingTask[T]) -> T | None:
        """Return what a pass counts of some pieces; see `count_pieces`."""
        if task.version != installed_version():
            raise Conflict(
                f"A worker of the cluster is of version {installed_version()}, the miner of"
                f" {task.version}.",
                where="scheduler",
                remedy="Install one version everywhere, and start the workers again.",
            )
        if (own := self._segments.identity()) != task.store:
            raise StoreMismatch(
                f"A worker of the cluster reads the store {own}; the miner's is {task.store}.",
                where="files",
                remedy="Let the worker's settings name the miner's own place of files.",
            )
        try:
            return self._reader.counted(task.records, pieces, task.asked)
        except OSError as error:  # told as it is, the miner would take it for a lost connection
            raise StoreCorrupt(
                "A worker of the cluster cannot read the records of this job:"
                f" {error.strerror or type(error).__name__}.",
                where="files",
                remedy="Whoever runs the service should look at the place of files of the"
                " cluster's workers and at who may read it. Created again, the job runs again.",
            ) from error


@cache
def installed_version() -> str | None:
    """Return the version of this program; None where it runs from a checkout."""
    try:
        return version("pramana")
    except PackageNotFoundError:
        return None


def require_certificates(settings: ClusterSettings) -> None:
    """Check that the files by which a cluster is spoken to can be used. Raises OptionError."""
    if settings.authority is None or settings.certificate is None:
        return
    try:
        context = ssl.create_default_context(cafile=settings.authority)
        context.load_cert_chain(settings.certificate, settings.private_key, password=lambda: "")
    except (OSError, ValueError) as error:
        files = (settings.authority, settings.certificate, settings.private_key)
        reason = getattr(error, "reason", None) or getattr(error, "strerror", None)
        raise OptionError(
            f"The files of the cluster's TLS ({', '.join(map(str, files))}) cannot be used:"
            f" {reason or type(error).__name__}.",
            where="certificate",
            remedy="Give PEM files that this process may read under [cluster]: the authority of the"
            " cluster, a certificate, and the private key of it without a passphrase.",
        ) from error


def require_dask() -> None:
    """Check that Dask is here. Raises NotInstalled."""
    if find_spec("distributed") is None:
        raise NotInstalled(
            "Counting on a cluster needs dask and distributed.",
            where="scheduler",
            remedy="Install `pramana[miner,cluster]`, or name no scheduler.",
        )


def security_of(settings: ClusterSettings) -> Security | None:
    """Return the certificates by which all of a cluster know each other; None without TLS."""
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
    """Return where a worker listens: without TLS to nobody but this machine, if that is enough.

    Whoever reaches a worker without TLS could make it run programs. None stands for everywhere.
    """
    told = urlsplit(settings.scheduler or "")
    return told.hostname if told.scheme == "tcp" and is_loopback(told.hostname or "") else None


def run_worker(settings: Settings, threads: int) -> None:
    """Count for the scheduler that the settings name, until SIGTERM or SIGINT.

    Where the scheduler goes away, it is waited for.

    Args:
        settings: the scheduler, and the place of files.
        threads: so many pieces are counted at once.

    Raises:
        NotInstalled: without Dask.
    """
    require_dask()
    can_compile()  # it counts for many jobs, and so is worth a compiler from the first on
    asyncio.run(_work(settings, threads, WorkerRecords(settings)))


async def _work(settings: Settings, threads: int, records: WorkerRecords) -> None:
    from distributed import Worker

    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    while not ended.is_set():
        worker = Worker(
            settings.cluster.scheduler,
            host=listening_host(settings.cluster),
            nthreads=threads,
            security=security_of(settings.cluster),
            dashboard_address="127.0.0.1:0",
            memory_limit=0,  # the process has a bound of its own
        )
        setattr(worker, _ATTRIBUTE, records)
        starting = asyncio.ensure_future(_joined(worker))
        await _first(starting, ended.wait())
        if starting.done() and starting.result():
            log.warning("it counts for the scheduler at %s", settings.cluster.scheduler)
            finished = worker.finished()  # type: ignore[no-untyped-call]
            await _first(finished, ended.wait())
        await worker.close()
        with suppress(TimeoutError):
            await asyncio.wait_for(ended.wait(), _PAUSE_SECONDS)


async def _joined(worker: Worker) -> bool:
    """Return whether a worker has joined its scheduler."""
    try:
        await worker
    except (OSError, RuntimeError) as error:  # it is away: Dask tells of that by either
        log.warning("the scheduler is waited for: %s", error.__cause__ or error)
        return False
    return True


async def _first(*awaited: Any) -> None:
    """Wait until the first of some is done."""
    tasks = [asyncio.ensure_future(one) for one in awaited]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
