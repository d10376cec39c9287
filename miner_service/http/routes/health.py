"""Is the service alive, is it ready?"""

from __future__ import annotations

from typing import Literal

from miner_service.http.access.deps import RunnerDep, ServicesDep
from miner_service.http.access.entering import RuledRouter
from miner_service.http.access.problems import problem_responses
from shared.errors import NotReady
from shared.wire.base import Message

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
def read_readiness(services: ServicesDep, runner: RunnerDep) -> Health:
    """Say whether requests can be served: the database, the data directory and the job runner."""
    services.database.ping()
    services.segments.check()
    if not runner.alive:
        raise NotReady("Jobs are not being run.", where="jobs", remedy="Restart the service.")
    return Health()
