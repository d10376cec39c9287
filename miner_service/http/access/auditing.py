"""The audit log: caller, action and outcome of a request, written before the response.

The log has changes, permission errors, and the reading of models, but never headers, bodies or
query strings. Unknown callers get one line per minute and action.
"""

from __future__ import annotations

import asyncio
import logging
from datetime import datetime, timedelta
from http import HTTPStatus

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from miner_service.http.access.problems import address_of, failure_response
from miner_service.store.credentials import without_secrets
from pramana_core.audit import AuditLog
from pramana_core.errors import PramanaError

log = logging.getLogger(__name__)

_LONGEST_PATH = 200
_A_MINUTE = timedelta(minutes=1)
_OF_MODELS = ("/v1/models/", "/pages/models/")
"""Prefixes of the addresses of models and their forms."""
_ASKS_NOTHING = ("sign_out",)
"""Routes for which it does not matter whether the caller is known."""


class AuditMiddleware:
    """Writes each audit line before the response. Rejects changes if the disk is full."""

    def __init__(self, app: ASGIApp, *, audit: AuditLog) -> None:
        self._app = app
        self._audit = audit
        self._strangers = _UnknownCallers()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http" or not _changes(scope):
            await self._serve(scope, receive, send)
            return
        try:
            self._audit.require_room()
        except PramanaError as error:
            await failure_response(error, scope)(scope, receive, send)
            return
        await self._serve(scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = refused = False

        async def send_after_entry(message: Message) -> None:
            nonlocal started, refused
            if message["type"] == "http.response.start":
                started = True
                try:
                    await self._note(scope, int(message["status"]))
                except PramanaError as error:
                    if not _changes(scope):
                        refused = True
                        await failure_response(error, scope)(scope, receive, send)
                    else:  # The change is done, so only the service's log can record it.
                        log.critical("%s: a change is not in the audit log", error.code)
            if not refused:
                await send(message)

        try:
            await self._app(scope, receive, send_after_entry)
        except BaseException:
            if scope["type"] == "http" and not started:
                await self._note(scope, 500)
            raise

    async def _note(self, scope: Scope, status: int) -> None:
        """Write the line of a request that must be logged. Raises PramanaError."""
        action = getattr(scope.get("endpoint"), "__name__", None)
        if action is None:
            return  # an unknown route does not access the store
        if not (_changes(scope) or status in (401, 403) or scope["path"].startswith(_OF_MODELS)):
            return
        caller = scope.get("state", {}).get("caller")
        unnoted = 0
        if caller is None and (status >= HTTPStatus.BAD_REQUEST or action in _ASKS_NOTHING):
            counted = self._strangers.count(action, self._audit.clock())
            if counted is None:
                return
            unnoted = counted
        entry = {
            "token": caller.token if caller else None,
            "role": caller.role if caller else None,
            "name": caller.name if caller else None,
            "study": caller.study if caller else None,
            "action": action,
            "resource": without_secrets(scope["path"])[:_LONGEST_PATH],
            "outcome": status,
            "address": address_of(scope),
            "request": scope.get("state", {}).get("request_id"),
            **({"unnoted": unnoted} if unnoted else {}),
        }
        # A write may wait for a flush, which must not block the loop.
        await asyncio.shield(asyncio.to_thread(self._audit.write, entry))


class _UnknownCallers:
    """Counts the unsuccessful requests of unknown callers by action, for one line per minute."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[datetime, int]] = {}

    def count(self, action: str, now: datetime) -> int | None:
        """Return the count of requests since the last line, or None if this request has no line."""
        noted, unnoted = self._last.get(action, (None, 0))
        if noted is not None and now - noted < _A_MINUTE:
            self._last[action] = noted, unnoted + 1
            return None
        self._last[action] = now, 0
        return unnoted


def _changes(scope: Scope) -> bool:
    return scope["type"] == "http" and scope["method"] not in {"GET", "HEAD"}
