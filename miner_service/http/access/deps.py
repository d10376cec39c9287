"""Dependencies of routes. They do not block, so they run on the event loop."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from fastapi import Depends, Path, Query, Request
from fastapi.exceptions import RequestValidationError

from miner_service.http.access.access import Caller
from miner_service.http.access.gate import Gate
from miner_service.jobs.workers import WorkerPool
from miner_service.services import Services
from miner_service.store.paging import Paging
from pramana_core.wire.base import MAX_PARTS

MAX_PAGE = 500
DEFAULT_PAGE = 100
_QUERY_OF = {
    "paging": {"limit", "cursor"},
}
"""Query parameters that the dependencies read, by the names of the endpoints' arguments."""


def _of_app(name: str) -> Callable[[Request], Awaitable[Any]]:
    async def found(request: Request) -> Any:
        return getattr(request.app.state, name)

    return found


ServicesDep = Annotated[Services, Depends(_of_app("services"))]
CrewDep = Annotated[WorkerPool, Depends(_of_app("crew"))]
GateDep = Annotated[Gate, Depends(_of_app("gate"))]


async def get_caller(request: Request) -> Caller:
    """Return the caller that the route's checks identified."""
    caller: Caller = request.state.caller
    return caller


CallerDep = Annotated[Caller, Depends(get_caller)]


async def refuse_unknown_query(request: Request) -> None:
    """Reject unknown query parameters. Raises RequestValidationError."""
    if not request.scope["query_string"]:
        return
    taken = inspect.signature(request.scope["endpoint"]).parameters
    known = {parameter for name in taken for parameter in _QUERY_OF.get(name, ())}
    unknown = sorted(set(request.query_params) - known)
    if unknown:
        errors: list[dict[str, Any]] = [
            {"loc": ("query", name), "type": "extra_forbidden", "msg": ""} for name in unknown
        ]
        raise RequestValidationError(errors)


async def get_paging(
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE, description="Items per page.")] = DEFAULT_PAGE,
    cursor: Annotated[
        str | None, Query(max_length=64, description="`next` of the previous page.")
    ] = None,
) -> Paging:
    """Return the requested page of a list."""
    return Paging(limit, cursor)


PagingDep = Annotated[Paging, Depends(get_paging)]
StudyPath = Annotated[str, Path(description="The name of a study.", examples=["asia"])]
ReleasePath = Annotated[str, Path(description="The id of a release.")]
PartPath = Annotated[int, Path(ge=0, lt=MAX_PARTS, description="The number of a part, from 0.")]
JobPath = Annotated[str, Path(description="The id of a job.")]
ModelPath = Annotated[str, Path(description="The id of a model.")]
