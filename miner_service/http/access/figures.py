"""Metrics for monitoring: counts of this process's requests, and the state of jobs and the disk."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from importlib.metadata import version
from typing import Any

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily
from sqlalchemy import func, select
from sqlalchemy.orm import Session
from starlette.types import Scope

from miner_service.alignment.cluster import require_scheduler
from miner_service.services import Services
from miner_service.settings import ClusterSettings
from miner_service.store.identity import last_backup
from miner_service.store.schema import JobRow, SupervisorRow
from pramana_core.errors import NotReady, PramanaError

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
WITHOUT_STORE = b"pramana_store_up 0.0\n"
"""All figures for a caller who cannot be identified, because the database does not answer."""
STATES = ("queued", "running", "succeeded", "failed", "cancelled")
_SECONDS = (0.005, 0.02, 0.1, 0.5, 2.0, 10.0, 60.0)
"""Upper limits, in seconds, of the histogram's classes."""
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"})


@dataclass(frozen=True)
class Queue:
    """Jobs of all studies by state, the longest wait in seconds, and the count of workers."""

    jobs: dict[str, int]
    oldest_seconds: float
    workers: int

    @classmethod
    def of(cls, services: Services, session: Session) -> Queue:
        """Return the state of the queue."""
        query = select(JobRow.state, func.count()).group_by(JobRow.state)
        found: dict[str, int] = dict(session.execute(query).all())
        oldest = session.scalar(select(func.min(JobRow.created)).where(JobRow.state == "queued"))
        waited = 0.0 if oldest is None else max((services.now() - oldest).total_seconds(), 0.0)
        seen = services.now() - timedelta(seconds=2 * services.settings.jobs.lease_seconds)
        workers = select(func.coalesce(func.sum(SupervisorRow.workers), 0))
        return cls(
            {state: found.get(state, 0) for state in STATES},
            waited,
            int(session.scalar(workers.where(SupervisorRow.seen >= seen)) or 0),
        )


class Figures:
    """Counts the requests of this process, and collects the other metrics when they are read."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self.registry = CollectorRegistry()
        own: dict[str, Any] = {"namespace": "pramana", "registry": self.registry}
        labels = ("route", "method", "status")
        self._requests = Counter("requests", "Completed requests.", labels, **own)
        self._seconds = Histogram(
            "request_seconds",
            "Time to the start of a response.",
            ("route",),
            buckets=_SECONDS,
            **own,
        )
        self._problems = Counter("problems", "Problem responses, by code.", ("code",), **own)
        build = Gauge("build_info", "1, with the version of this service.", ("version",), **own)
        build.labels(version("pramana")).set(1)
        ProcessCollector(registry=self.registry)
        self.registry.register(self)

    def text(self) -> bytes:
        """Return all metrics in the text format of Prometheus."""
        return generate_latest(self.registry)

    def count(self, scope: Scope, status: int, seconds: float) -> None:
        """Count a request at the start of its response."""
        # Labels are function names, never a client's text.
        route = getattr(scope.get("endpoint"), "__name__", "none")
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self._requests.labels(route, method, str(status)).inc()
        self._seconds.labels(route).observe(seconds)
        code = scope.get("state", {}).get("problem")
        if code is not None:
            self._problems.labels(code).inc()

    def describe(self) -> list[Any]:
        """Return nothing: a description at registration would have to read the store."""
        return []

    def collect(self) -> Iterator[Any]:
        """Yield the metrics of the store and the disk, without those that cannot be read."""
        up = 1.0
        try:
            with self._services.database.read() as session:
                queue = Queue.of(self._services, session)
                backup = last_backup(session)
        except PramanaError:
            up = 0.0
        yield GaugeMetricFamily("pramana_store_up", "Whether the database answers.", value=up)
        if up:
            jobs = GaugeMetricFamily("pramana_jobs", "Jobs of all studies.", labels=("state",))
            for state, count in queue.jobs.items():
                jobs.add_metric((state,), count)
            yield jobs
            yield GaugeMetricFamily(
                "pramana_job_queue_age_seconds",
                "Age of the oldest queued job.",
                value=queue.oldest_seconds,
            )
            yield GaugeMetricFamily(
                "pramana_workers", "Workers with recent signs of life.", value=queue.workers
            )
            if backup is not None:
                yield GaugeMetricFamily(
                    "pramana_backup_age_seconds",
                    "Time since the last backup by `miner-service backup`.",
                    value=max((self._services.now() - backup).total_seconds(), 0.0),
                )
        if (cluster := self._services.settings.cluster).scheduler is not None:
            yield GaugeMetricFamily(
                "pramana_scheduler_up",
                "Whether the scheduler of the cluster accepts connections.",
                value=_answers(cluster),
            )
        try:
            free = shutil.disk_usage(self._services.settings.data_dir).free
        except OSError:  # the disk is away
            return
        yield GaugeMetricFamily(
            "pramana_disk_free_bytes", "Free bytes on the disk of the data directory.", value=free
        )


def _answers(cluster: ClusterSettings) -> float:
    try:
        require_scheduler(cluster)
    except NotReady:
        return 0.0
    return 1.0
