"""The side of a job: passes over its records go to a Dask cluster, and their sums come back."""

from __future__ import annotations

import itertools
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from miner_service.alignment.pieces import Places, RecordSet
from miner_service.cluster.workers import (
    CountingTask,
    add_counts,
    count_pieces,
    installed_version,
    require_dask,
    security_of,
)
from miner_service.settings import ClusterSettings
from pramana_core.errors import NotReady, WorkerLost
from pramana_core.marginals.passes import TICK_SECONDS, Pass, total
from pramana_core.progress import Tick

if TYPE_CHECKING:
    from distributed import Client, Future

T = TypeVar("T")

_TASK_PIECES = 16
"""So many pieces at most are counted by one task, and fewer where threads would have none: what is
added up where it was counted need not be sent."""

_ADDED_AT_ONCE = 8
"""So many sums are added up by one worker."""

_PROBE_SECONDS = 1.0


def require_scheduler(settings: ClusterSettings) -> None:
    """Check that the scheduler takes connections. Raises NotReady."""
    told = urlsplit(settings.scheduler or "")
    try:
        socket.create_connection((told.hostname or "", told.port or 0), _PROBE_SECONDS).close()
    except OSError:
        raise _away() from None


def _away() -> NotReady:
    return NotReady(
        "The scheduler of the cluster does not answer.",
        where="scheduler",
        remedy="Jobs wait for it and go on by themselves; whoever runs the service should look at"
        " the scheduler, its address and the certificates.",
    )


class ClusterPlace:
    """Takes passes on a cluster; it is connected to when the first is asked for.

    Args:
        settings: name the scheduler.
        store: returns the identity of the store that the records are of.
    """

    def __init__(self, settings: ClusterSettings, store: Callable[[], str | None]) -> None:
        self._settings, self._store = settings, cache(store)
        self._client: Client | None = None

    def __call__(
        self, records: RecordSet, pieces: Sequence[Places], asked: Pass[T], tick: Tick, /
    ) -> T:
        """Return what a pass counts of all pieces.

        Raises:
            NotReady: the scheduler is away, or nobody counts for it.
            WorkerLost: several workers in turn ended in the middle of the same piece.
            EmptyTable: the pieces have no records.
        """
        task = CountingTask(self._store(), installed_version(), records, asked)
        with self._answering():
            client = self._connected()
            threads = self._threads(client, tick)
            groups = _groups(pieces, max(threads, -(-len(pieces) // _TASK_PIECES)))
            futures = client.map(count_pieces, groups, task=task, pure=False)
            try:
                while len(futures) > 1:
                    parts = _groups(futures, -(-len(futures) // _ADDED_AT_ONCE))
                    futures = [client.submit(add_counts, part, pure=False) for part in parts]
                found: T | None = self._result(client, futures[0], tick)
            except BaseException:
                client.cancel(futures)  # type: ignore[no-untyped-call]
                raise
        return total([] if found is None else [found])

    def _connected(self) -> Client:
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
    def _answering(self) -> Iterator[None]:
        """Translate what Dask says; after that the scheduler is connected to anew.

        What it says of a lost connection is any OSError; workers tell of their files by others.
        """
        try:
            yield
        except (OSError, CancelledError) as error:
            if self._client is not None:
                with suppress(OSError):
                    self._client.close(timeout=_PROBE_SECONDS)  # type: ignore[no-untyped-call]
            self._client = None
            raise _away() from error

    def _threads(self, client: Client, tick: Tick) -> int:
        """Wait for somebody who counts; return by how many threads. Raises NotReady."""
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
                "Several workers of the cluster ended in turn while they counted the same records"
                " of this job, which is not run again by itself.",
                remedy="Whoever runs the service should look at the logs and the memory of the"
                " cluster's workers. Created again, the job runs again.",
            ) from None

    def _require_soon(self, since: float) -> None:
        if time.monotonic() - since > self._settings.wait_seconds:
            raise NotReady(
                "Nobody counts for the scheduler of the cluster.",
                where="scheduler",
                remedy="Jobs wait and go on by themselves; whoever runs the service should start"
                " `miner-service cluster-worker` on the machines of the cluster.",
            )


def _nthreads(client: Client) -> int:
    told = client.scheduler_info(n_workers=-1)
    if "workers" not in told:  # Dask asks nobody, and raises nothing
        raise ConnectionError("The connection was lost before the scheduler said who counts.")
    workers: dict[str, dict[str, int]] = told["workers"]
    return sum(worker["nthreads"] for worker in workers.values())


def _groups(parts: Sequence[T], most: int) -> list[list[T]]:
    """Return parts in their order, in at most so many groups that are about equal."""
    number = min(len(parts), most)
    ends = [len(parts) * place // number for place in range(number + 1)]
    return [list(parts[start:stop]) for start, stop in itertools.pairwise(ends)]
