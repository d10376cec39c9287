"""The dependencies of routes. None of them blocks, so they run on the loop."""

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
"""The query parameters behind the parameters that endpoints have by these names."""


def _of_app(name: str) -> Callable[[Request], Awaitable[Any]]:
    """Return a dependency: what the application has by a name."""

    async def found(request: Request) -> Any:
        return getattr(request.app.state, name)

    return found


ServicesDep = Annotated[Services, Depends(_of_app("services"))]
CrewDep = Annotated[WorkerPool, Depends(_of_app("crew"))]
GateDep = Annotated[Gate, Depends(_of_app("gate"))]


async def get_caller(request: Request) -> Caller:
    """Return who sent the request, whom the way into the route let in."""
    caller: Caller = request.state.caller
    return caller


CallerDep = Annotated[Caller, Depends(get_caller)]


async def refuse_unknown_query(request: Request) -> None:
    """Refuse query parameters that the route does not have. Raises RequestValidationError."""
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
        str | None, Query(max_length=64, description="`next` of the page before.")
    ] = None,
) -> Paging:
    """Return the page of a list that a request wants."""
    return Paging(limit, cursor)


PagingDep = Annotated[Paging, Depends(get_paging)]
StudyPath = Annotated[str, Path(description="The name of a study.", examples=["asia"])]
ReleasePath = Annotated[str, Path(description="The id of a release.")]
PartPath = Annotated[int, Path(ge=0, lt=MAX_PARTS, description="The number of a part, from 0.")]
JobPath = Annotated[str, Path(description="The id of a job.")]
ModelPath = Annotated[str, Path(description="The id of a model.")]
