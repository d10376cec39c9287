"""Is the service alive, is it ready, and how does it fare?"""

from __future__ import annotations

from typing import Literal

from fastapi import Request, Response

from miner_service.http.access.deps import RunnerDep, ServicesDep
from miner_service.http.access.entering import RuledRouter
from miner_service.http.access.problems import problem_responses
from miner_service.http.metrics.figures import MEDIA_TYPE, Figures
from shared.errors import NotInstalled, NotReady
from shared.wire.base import Message

router = RuledRouter(tags=["health"])


class Health(Message):
    """The service answers."""

    status: Literal["ok"] = "ok"


@router.get("/healthz", responses=problem_responses(422, 500))
def read_health() -> Health:
    """Say that the process is alive."""
    return Health()


@router.get("/readyz", responses=problem_responses(422, 500, 503))
def read_readiness(services: ServicesDep, runner: RunnerDep) -> Health:
    """Say whether requests can be served: the database, the data directory and the job runner."""
    services.database.ping()
    services.segments.check()
    if not runner.alive:
        raise NotReady("Jobs are not being run.", where="jobs", remedy="Restart the service.")
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
