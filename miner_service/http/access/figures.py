"""The figures of one process, and what is looked up when somebody reads them.

Also here:

* Counts each request when its answer starts.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from miner_service.services import Services
from miner_service.store.schema import JobRow, SupervisorRow
from pramana_core.errors import NotInstalled, NotReady

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
STATES = ("queued", "running", "succeeded", "failed", "cancelled")
_SECONDS = (0.005, 0.02, 0.1, 0.5, 2.0, 10.0, 60.0)
"""The bounds of the classes of durations."""


class Figures:
    """Counts what one process did.

    Raises:
        NotInstalled: the extra `miner` is not there.
    """

    def __init__(self, services: Services) -> None:
        try:
            from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector
        except ImportError as error:
            raise NotInstalled(
                "Figures for monitoring need prometheus-client.",
                remedy="Install `pramana[miner]` where the miner runs.",
            ) from error
        self.registry: CollectorRegistry = CollectorRegistry()
        own: dict[str, Any] = {"namespace": "pramana", "registry": self.registry}
        self.requests = Counter(
            "requests", "Requests answered.", ("route", "method", "status"), **own
        )
        self.seconds = Histogram(
            "request_seconds",
            "Time to the start of an answer.",
            ("route",),
            buckets=_SECONDS,
            **own,
        )
        self.problems = Counter("problems", "Problems answered, by their code.", ("code",), **own)
        self.parts = Counter("parts_received", "Parts of releases stored.", **own)
        self.part_bytes = Counter("part_bytes_received", "Bytes of the parts stored.", **own)
        self._of_request: dict[tuple[str, str, int], tuple[Any, Any]] = {}
        ProcessCollector(registry=self.registry)
        self.registry.register(_StoreFigures(services))

    def of_request(self, route: str, method: str, status: int) -> tuple[Any, Any]:
        """Return what counts requests of a kind, and what keeps their seconds."""
        kind = (route, method, status)
        if kind not in self._of_request:
            counted = self.requests.labels(route, method, str(status))
            self._of_request[kind] = counted, self.seconds.labels(route)
        return self._of_request[kind]

    def text(self) -> bytes:
        """Return all figures as Prometheus reads them."""
        from prometheus_client import generate_latest

        return generate_latest(self.registry)


@dataclass(frozen=True)
class Queue:
    """Jobs of all studies by state, how long the oldest waits, and how many workers there are."""

    jobs: dict[str, int]
    oldest_seconds: float
    workers: int

    @classmethod
    def of(cls, services: Services, session: Session) -> Queue:
        """Return the queue as it is now."""
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


class _StoreFigures:
    """What is looked up in the store and on the disk whenever the figures are read."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def describe(self) -> list[Any]:
        """Name nothing beforehand: nothing is looked up until somebody reads."""
        return []

    def collect(self) -> Iterator[Any]:
        """Yield the figures; without a store those of the disk alone."""
        from prometheus_client.core import GaugeMetricFamily

        up = GaugeMetricFamily("pramana_store_up", "Whether the database answers.")
        try:
            with self._services.database.read() as session:
                found = list(_of_store(self._services, session))
            up.add_metric((), 1)
        except NotReady:
            found = []
            up.add_metric((), 0)
        yield up
        yield from found
        free = shutil.disk_usage(self._services.settings.data_dir).free
        yield GaugeMetricFamily(
            "pramana_disk_free_bytes", "Free in the data directory.", value=free
        )


def _of_store(services: Services, session: Session) -> Iterator[Any]:
    from prometheus_client.core import GaugeMetricFamily

    found = Queue.of(services, session)
    jobs = GaugeMetricFamily("pramana_jobs", "Jobs of all studies, by state.", labels=("state",))
    for state, count in found.jobs.items():
        jobs.add_metric((state,), count)
    yield jobs
    yield GaugeMetricFamily(
        "pramana_job_queue_age_seconds",
        "How long the oldest queued job waits.",
        value=found.oldest_seconds,
    )
    yield GaugeMetricFamily(
        "pramana_workers",
        "Workers whose supervisor gave a sign of life lately.",
        value=float(found.workers),
    )


# Counts each request when its answer starts.

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"})
NO_ROUTE = "none"


class CountingMiddleware:
    """Counts requests and what came with them; without figures it only passes them on."""

    def __init__(self, app: ASGIApp, *, figures: Figures | None) -> None:
        self._app = app
        self._figures = figures

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        figures = self._figures
        if scope["type"] != "http" or figures is None:
            await self._app(scope, receive, send)
            return
        began, got = time.perf_counter(), 0

        async def receive_counting() -> Message:
            nonlocal got
            message = await receive()
            got += len(message.get("body", b""))
            return message

        async def send_counting(message: Message) -> None:
            if message["type"] == "http.response.start":
                _count(figures, scope, int(message["status"]), time.perf_counter() - began, got)
            await send(message)

        await self._app(scope, receive_counting, send_counting)


def _count(figures: Figures, scope: Scope, status: int, seconds: float, got: int) -> None:
    # The name of a function: nothing that a client chose is ever a label.
    route = getattr(scope.get("endpoint"), "__name__", NO_ROUTE)
    method = scope["method"] if scope["method"] in _METHODS else "other"
    requests, took = figures.of_request(route, method, status)
    requests.inc()
    took.observe(seconds)
    code = scope.get("state", {}).get("problem")
    if code is not None:
        figures.problems.labels(code).inc()
    if route == "put_part" and status == HTTPStatus.CREATED:
        figures.parts.inc()
        figures.part_bytes.inc(got)
