"""Nothing is taken in before the files are known to be those of the database.

Where the files were away at the start, each request tries the comparison: what is acknowledged on
another store's files, that store's next sweep removes.
"""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

from miner_service.http.access.probing import Probes
from miner_service.http.access.problems import problem_response
from miner_service.intake import sweeping
from miner_service.services import Services
from pramana_core.errors import NotReady
from pramana_core.wire.problems import problem_of

_ALWAYS = ("/healthz", "/readyz", "/metrics")


class OneStore:
    """Lets only questions after the service itself in until its files were compared."""

    def __init__(self, app: ASGIApp, *, services: Services, probes: Probes) -> None:
        self._app = app
        self._services = services
        self._probes = probes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "http" and scope["path"] not in _ALWAYS:
            try:
                await self._require_compared()
            except NotReady as error:
                scope.setdefault("state", {})["problem"] = error.code  # the figures count it
                # Nothing of the body was read, and nobody waits for it.
                told = problem_of(error, instance=scope["path"])
                await problem_response(told, {"Connection": "close"})(scope, receive, send)
                return
        await self._app(scope, receive, send)

    async def _require_compared(self) -> None:
        compared = self._services.compared
        if not compared.done() or compared.exception() is not None:
            await self._probes.require({"files": lambda: require_files(self._services)})


def require_files(services: Services) -> None:
    """Check that the place of files answers, and is this database's. Raises as they do."""
    services.segments.check()
    sweeping.require_compared(services)  # at the start they may have been away
