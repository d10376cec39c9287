"""Lists on pages: the newest first, a page of the database's at a time."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Query, Request

from miner_service.http.access.access import Caller
from miner_service.http.access.deps import CallerDep, ServicesDep
from miner_service.services import Services
from miner_service.store.database import ListView, Paging

SHOWN = 50
"""So many rows a page has."""


async def get_newest(
    request: Request,
    services: ServicesDep,
    caller: CallerDep,
    cursor: Annotated[str | None, Query(max_length=64)] = None,
) -> Paging:
    """Return which page of a list is asked for."""
    return newest(services, caller, request.scope["path"], SHOWN, cursor)


def newest(
    services: Services, caller: Caller, address: str, limit: int, cursor: str | None = None
) -> Paging:
    """Return how the newest of a list are asked for."""
    view = ListView(address, caller.token)
    return Paging(limit, cursor, view, services.cursors, newest=True)


NewestDep = Annotated[Paging, Depends(get_newest)]
