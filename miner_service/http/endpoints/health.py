"""Is the service alive, is it ready, and how does it fare?"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Literal

from fastapi import Request, Response

from miner_service.alignment.cluster import require_scheduler
from miner_service.http.access.deps import CrewDep, GateDep, ServicesDep
from miner_service.http.access.figures import MEDIA_TYPE, Figures
from miner_service.http.access.pools import Pool
from miner_service.http.access.problems import problem_responses
from miner_service.http.access.routing import RuledRouter
from miner_service.jobs.workers import WorkerPool
from pramana_core.errors import NotReady, PramanaError
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


ANSWER_SECONDS = 4.0
"""What takes longer to say that it is there counts as away."""


@router.get("/readyz", responses=problem_responses(422, 500, 503))
async def read_readiness(services: ServicesDep, crew: CrewDep, gate: GateDep) -> Health:
    """Say whether requests can be served, and if not, what is away.

    That is the database, the place of the records, whoever runs the jobs, or the scheduler of the
    cluster that counts for them.
    """
    checks: dict[str, Callable[[], None]] = {
        "database": services.database.ping,
        "files": services.segments.check,
        "jobs": lambda: _require_alive(crew),
    }
    cluster = services.settings.cluster
    if cluster.scheduler is not None:
        checks["scheduler"] = lambda: require_scheduler(cluster)
    await require_all(checks, gate.pools.probing)
    return Health()


async def require_all(
    checks: Mapping[str, Callable[[], None]], pool: Pool, seconds: float = ANSWER_SECONDS
) -> None:
    """Check everything at the same time. Raises NotReady."""

    async def word(check: Callable[[], None]) -> str | None:
        try:
            async with asyncio.timeout(seconds):
                await pool.run(check)
        except TimeoutError:
            return f"no answer within {seconds:g} seconds."
        except PramanaError as error:
            return error.message
        except Exception:  # noqa: BLE001 - whatever it is, it is away
            return "it cannot be used."
        return None

    words = await asyncio.gather(*map(word, checks.values()))
    away = {what: why for what, why in zip(checks, words, strict=True) if why is not None}
    if away:
        raise NotReady(
            " ".join(f"{what}: {why}" for what, why in away.items()),
            where=", ".join(away),
            remedy="It is ready again by itself once these are.",
        )


@router.get(
    "/metrics",
    response_class=Response,
    responses={
        200: {
            "description": "One line for each figure.",
            "content": {"text/plain": {"schema": {"type": "string"}}},
        },
        **problem_responses(401, 403, 422, 500, 503),
    },
)
def read_metrics(request: Request) -> Response:
    """Tell how this process of the service fares, as Prometheus reads it; nothing of any study."""
    figures: Figures = request.app.state.figures
    return Response(figures.text(), media_type=MEDIA_TYPE)


def _require_alive(crew: WorkerPool) -> None:
    if not crew.alive:
        raise NotReady("Jobs are not being run.", where="jobs")
