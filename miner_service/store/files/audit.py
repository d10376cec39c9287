"""An append-only record of who asked for what and what became of it: one JSON line per request.

Requests that change something, that were refused for lack of rights, or that carried a model away
are written before their answer leaves. A line holds no secret: no header, body or query string.
"""

from __future__ import annotations

import json
import os
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from miner_service.settings import Clock

_LONGEST_PATH = 200
_READ_TOO = ("read_model", "sample_model")
"""How the names of the routes begin that carry a model away."""


@dataclass(frozen=True)
class AuditLog:
    """Appends to one file, opened at each entry so that it can be rotated."""

    path: Path
    clock: Clock
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def write(self, entry: dict[str, Any]) -> None:
        """Append one entry with the time."""
        line = json.dumps({"time": self.clock().isoformat(), **entry}) + "\n"
        with self._lock:
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
            descriptor = os.open(self.path, flags, 0o600)
            try:
                os.write(descriptor, line.encode())
            finally:
                os.close(descriptor)


class AuditMiddleware:
    """Writes the audit entry of a request just before its answer starts."""

    def __init__(self, app: ASGIApp, *, audit: AuditLog) -> None:
        self._app = app
        self._audit = audit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_after_entry(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._note(scope, int(message["status"]))
            await send(message)

        await self._app(scope, receive, send_after_entry)

    def _note(self, scope: Scope, status: int) -> None:
        action = getattr(scope.get("endpoint"), "__name__", None)
        if action is None:
            return  # no such route: nothing was asked of the store
        changes = scope["method"] not in {"GET", "HEAD"}
        if not (changes or status in (401, 403) or action.startswith(_READ_TOO)):
            return
        caller = scope.get("state", {}).get("caller")
        self._audit.write(
            {
                "token": caller.token if caller else None,
                "role": caller.role if caller else None,
                "name": caller.name if caller else None,
                "study": caller.study if caller else None,
                "action": action,
                "resource": scope["path"][:_LONGEST_PATH],
                "outcome": status,
            }
        )
