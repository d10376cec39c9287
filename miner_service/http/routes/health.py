"""Is the service alive, is it ready?"""

from __future__ import annotations

from typing import Literal

from miner_service.http.access.deps import CrewDep, ProbesDep, ServicesDep
from miner_service.http.access.entering import RuledRouter
from miner_service.http.access.problems import problem_responses
from miner_service.jobs.crew import Crew
from shared.errors import NotReady
from shared.wire.base import Message

router = RuledRouter(tags=["health"])


class Health(Message):
    """The service answers."""

    status: Literal["ok"] = "ok"


@router.get("/healthz", responses=problem_responses(422, 500))
async def read_health() -> Health:
    """Say that the process is alive."""
    return Health()


@router.get("/readyz", responses=problem_responses(422, 500, 503))
async def read_readiness(services: ServicesDep, crew: CrewDep, probes: ProbesDep) -> Health:
    """Say whether requests can be served, and if not, what is away.

    That is the database, the place of the records, or whoever runs the jobs.
    """
    checks = {
        "database": services.database.ping,
        "files": services.segments.check,
        "jobs": lambda: _require_alive(crew),
    }
    await probes.require(checks)
    return Health()


def _require_alive(crew: Crew) -> None:
    if not crew.alive:
        raise NotReady("Jobs are not being run.", where="jobs")
