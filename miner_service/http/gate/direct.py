"""Endpoints that the gate answers itself: those that are asked for most, without a framework."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from starlette.responses import Response
from starlette.types import Scope

from miner_service.http.access.entering import Look
from miner_service.http.gate.bodies import Incoming
from miner_service.services import Services


class Direct(Protocol):
    """An endpoint that has a rule as all others, and a route that describes it.

    It reads the body itself. What is in the state of a request is there for it, too.
    """

    def look(
        self, services: Services, scope: Scope, parameters: Mapping[str, str], body: Incoming
    ) -> Look | None:
        """Return what to look for with the sender's token; None leaves a request to its route."""

    async def answer(self, services: Services, scope: Scope, found: object) -> Response:
        """Answer a request that was let in, with what was found."""
