"""The application: routes, problem documents, limits and the audit log on one store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import cache

from fastapi import APIRouter, Depends, FastAPI, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from starlette.middleware import Middleware
from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from miner_service.http.access import problems
from miner_service.http.access.auditing import AuditMiddleware
from miner_service.http.access.deps import refuse_unknown_query
from miner_service.http.access.figures import Figures
from miner_service.http.access.gate import Gate
from miner_service.http.access.headers import AnswerHeaders
from miner_service.http.access.pools import Pools
from miner_service.http.access.routing import require_ruled
from miner_service.http.endpoints import health, jobs, models, releases, results, studies
from miner_service.http.pages import entering, people
from miner_service.http.pages import jobs as job_pages
from miner_service.http.pages import models as model_pages
from miner_service.http.pages import studies as study_pages
from miner_service.http.pages.entering import Visitors
from miner_service.intake import withdrawing as sweeping
from miner_service.jobs.workers import CrewMaker, WorkerPool
from miner_service.services import Services, open_services
from miner_service.settings import Clock, Settings, utc_now

DESCRIPTION = """\
Owners release randomized records with their transition matrices. The miner aligns the records,
estimates counts of the true records, and learns models whose parameters have error bars.

Every error is a problem document (RFC 9457) with a stable `code`. Unknown fields and query
parameters are rejected by name. Creating the same object twice returns the same `Location`.
"""

PAGES = (entering, study_pages, job_pages, model_pages, people)

_COMMON = (401, 403, 404, 408, 409, 413, 422, 429, 500, 503)


def create_app(settings: Settings, *, clock: Clock = utc_now, crew: CrewMaker) -> FastAPI:
    """Build the application on its store. `crew` creates the workers that run jobs."""
    services = open_services(settings, clock)
    gate = Gate(services)
    app = _Miner(
        title="Pramana miner",
        version="1",
        description=DESCRIPTION,
        lifespan=_lifespan(services, gate.pools, crew(services)),
        middleware=[Middleware(AuditMiddleware, audit=services.audit)],
        routes=_routes(),
        redirect_slashes=False,
    )
    app.state.services = services
    app.state.gate = gate
    app.state.figures = Figures(services)
    problems.install(app)
    return app


class _Miner(FastAPI):
    """The application. It counts every response and adds the headers, even after an error."""

    def setup(self) -> None:
        """Add the route of the OpenAPI document, built in a thread because it takes seconds."""
        self.add_route("/openapi.json", self._document, name="openapi", include_in_schema=False)

    def _document(self, _request: Request) -> Response:
        return JSONResponse(self.openapi())

    def build_middleware_stack(self) -> ASGIApp:
        """Wrap the application in the middleware for headers and metrics."""
        stack = super().build_middleware_stack()
        visited = Visitors(stack, services=self.state.services)
        return AnswerHeaders(visited, figures=self.state.figures)


@cache
def _routes() -> list[BaseRoute]:
    root = APIRouter(
        dependencies=[Depends(refuse_unknown_query)], generate_unique_id_function=_operation_id
    )
    root.include_router(health.router)
    version_1 = APIRouter(prefix="/v1", responses=problems.problem_responses(*_COMMON))
    # Routes are searched in this order, and most requests are parts of releases.
    for router in (
        releases.router,
        releases.report_router,
        studies.router,
        studies.owner_router,
        studies.plan_router,
        studies.privacy_router,
        jobs.router,
        models.router,
        results.router,
    ):
        version_1.include_router(router)
    root.include_router(version_1)
    entrance = APIRouter(generate_unique_id_function=_operation_id)
    entrance.include_router(root)
    for pages in PAGES:
        entrance.include_router(pages.router)
    require_ruled(entrance.routes)
    return entrance.routes


def _lifespan(
    services: Services, pools: Pools, crew: WorkerPool
) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        await run_in_threadpool(sweeping.recover, services)
        app.state.crew = crew
        await run_in_threadpool(crew.start)
        try:
            yield
        finally:
            await run_in_threadpool(crew.stop)
            pools.close()
            services.database.close()

    return lifespan


def _operation_id(route: APIRoute) -> str:
    return route.name
