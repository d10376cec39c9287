"""Liveness, readiness and metrics of the service."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Literal

from fastapi import Request, Response

from miner_service.alignment.cluster import require_scheduler
from miner_service.http.access.deps import CrewDep, GateDep, ServicesDep
from miner_service.http.access.figures import MEDIA_TYPE, Figures
from miner_service.http.access.pools import Pool
from miner_service.http.access.problems import problem_responses
from miner_service.http.access.routing import RuledRouter
from miner_service.jobs.workers import WorkerPool
from miner_service.services import Services
from miner_service.store.identity import same_store
from pramana_core.errors import NotReady, PramanaError
from pramana_core.wire.base import Message

router = RuledRouter(tags=["health"])


class Health(Message):
    """The service responds."""

    status: Literal["ok"] = "ok"


@router.get("/healthz", responses=problem_responses(422, 500))
async def read_health() -> Health:
    """Check that the process is alive."""
    # It needs no thread, so it responds even if requests occupy all threads.
    return Health()


ANSWER_SECONDS = 4.0
"""Seconds after which a part that does not respond counts as unavailable."""


@router.get("/readyz", responses=problem_responses(422, 500, 503))
async def read_readiness(services: ServicesDep, crew: CrewDep, gate: GateDep) -> Health:
    """Check that requests can be served; otherwise name the unavailable parts.

    The parts are the database, the folder of records, the audit log, the workers, and the
    scheduler of a cluster.
    """
    checks: dict[str, Callable[[], None]] = {
        "database": services.database.ping,
        "files": lambda: _require_files(services),
        "audit": services.audit.require_room,
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
    """Run all checks concurrently. Raises NotReady."""

    async def word(check: Callable[[], None]) -> str | None:
        try:
            async with asyncio.timeout(seconds):
                await pool.run(check)
        except TimeoutError:
            return f"no answer within {seconds:g} seconds."
        except PramanaError as error:
            return error.message
        except Exception:  # noqa: BLE001 - any error means unavailable
            return "it cannot be used."
        return None

    words = await asyncio.gather(*map(word, checks.values()))
    away = {what: why for what, why in zip(checks, words, strict=True) if why is not None}
    if away:
        raise NotReady(
            " ".join(f"{what}: {why}" for what, why in away.items()),
            where=", ".join(away),
            remedy="The service recovers automatically once these parts do.",
        )


@router.get(
    "/metrics",
    response_class=Response,
    responses={
        200: {
            "description": "One line per figure.",
            "content": {"text/plain": {"schema": {"type": "string"}}},
        },
        **problem_responses(401, 403, 422, 500, 503),
    },
)
def read_metrics(request: Request) -> Response:
    """Read the metrics of this process in Prometheus format, without data of any study."""
    figures: Figures = request.app.state.figures
    return Response(figures.text(), media_type=MEDIA_TYPE)


def _require_files(services: Services) -> None:
    same = True
    with suppress(NotReady):  # its own check reports a database that is away
        same = same_store(services.database, services.segments)
    if not same:
        raise NotReady("The folder of records was moved or replaced.", where="files")
    services.segments.check()


def _require_alive(crew: WorkerPool) -> None:
    if not crew.alive:
        raise NotReady("No worker is running jobs.", where="jobs")
