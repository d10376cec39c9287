"""How the service fares, for whoever runs it: health, queue and disk."""

from __future__ import annotations

import shutil

from fastapi import Request, Response
from fastapi.concurrency import run_in_threadpool

from miner_service.http.access.access import RuledRouter
from miner_service.http.access.deps import CrewDep, ProbesDep, ServicesDep
from miner_service.http.endpoints.health import read_readiness
from miner_service.http.metrics.figures import Queue
from miner_service.http.pages.rendering import page
from miner_service.services import Services
from pramana_core.errors import NotReady
from pramana_core.pages.forms import ROOT

router = RuledRouter(prefix=ROOT, include_in_schema=False)


@router.get("/operator", name="read_metrics")
async def show_operator(
    request: Request, services: ServicesDep, crew: CrewDep, probes: ProbesDep
) -> Response:
    """Show whether all is there, what waits, and how much room there is."""
    away = ""
    try:
        await read_readiness(services, crew, probes)
    except NotReady as error:
        away = error.message
    queue = await run_in_threadpool(_queue, services)
    disk = await run_in_threadpool(shutil.disk_usage, services.settings.data_dir)
    return page(
        request,
        "operator.html.j2",
        title="The service",
        away=away,
        queue=queue,
        disk=disk,
        at=services.now(),
    )


def _queue(services: Services) -> Queue | None:
    try:
        with services.database.read() as session:
            return Queue.of(services, session)
    except NotReady:
        return None
