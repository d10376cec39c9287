"""Is the service alive, is it ready, and how does it fare?"""

from __future__ import annotations

from typing import Literal

from fastapi import Request, Response

from miner_service.alignment.cluster import require_scheduler
from miner_service.http.access.access import RuledRouter
from miner_service.http.access.deps import (
    Check,
    CrewDep,
    ProbesDep,
    ServicesDep,
    require_files,
)
from miner_service.http.access.figures import MEDIA_TYPE, Figures
from miner_service.http.access.problems import problem_responses
from miner_service.jobs.runner import WorkerPool
from pramana_core.errors import NotInstalled, NotReady
from pramana_core.wire.base import Message

router = RuledRouter(tags=["health"])


class Health(Message):
    """The service answers."""

    status: Literal["ok"] = "ok"


@router.get("/healthz", responses=problem_responses(422, 500))
async def read_health() -> Health:
    """Say that the process is alive."""
    # It waits for no thread: it answers however many requests hold one.
    return Health()


@router.get("/readyz", responses=problem_responses(422, 500, 503))
async def read_readiness(services: ServicesDep, crew: CrewDep, probes: ProbesDep) -> Health:
    """Say whether requests can be served, and if not, what is away.

    That is the database, the place of the records, whoever runs the jobs, or the scheduler of the
    cluster that counts for them.
    """
    checks: dict[str, Check] = {
        "database": services.database.ping,
        "files": lambda: require_files(services),
        "jobs": lambda: _require_alive(crew),
    }
    cluster = services.settings.cluster
    if cluster.scheduler is not None:
        checks["scheduler"] = lambda: require_scheduler(cluster)
    await probes.require(checks)
    return Health()


@router.get(
    "/metrics",
    response_class=Response,
    responses={
        200: {
            "description": "One line for each figure.",
            "content": {"text/plain": {"schema": {"type": "string"}}},
        },
        **problem_responses(401, 403, 422, 500, 501, 503),
    },
)
def read_metrics(request: Request) -> Response:
    """Tell how this process of the service fares, as Prometheus reads it; nothing of any study."""
    figures: Figures | None = request.app.state.figures
    if figures is None:
        raise NotInstalled(
            "Figures for monitoring need prometheus-client.",
            where="metrics",
            remedy="Install `pramana[miner]` where the miner runs.",
        )
    return Response(figures.text(), media_type=MEDIA_TYPE)


def _require_alive(crew: WorkerPool) -> None:
    if not crew.alive:
        raise NotReady("Jobs are not being run.", where="jobs")
