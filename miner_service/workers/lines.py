"""What the service, supervisors and workers tell each other: lines of JSON on pipes."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from miner_service.settings import JobSettings, Limits, Settings, StorageSettings
from miner_service.store.queue.leases import Lease

WAKE = b"\n"
"""A line without anything: look whether there is something to do."""

_CHUNK = 1 << 16


def settings_line(settings: Settings) -> bytes:
    """Return what a process that runs jobs must know; it may hold a password: only for a pipe."""
    return line_of(
        {
            "data_dir": str(settings.data_dir),
            "limits": asdict(settings.limits),
            "jobs": asdict(settings.jobs),
            "storage": asdict(settings.storage)
            | {"database_password_file": _text(settings.storage.database_password_file)},
        }
    )


def settings_from(line: bytes) -> Settings:
    """Read the settings that `settings_line` wrote."""
    told = json.loads(line)
    storage = told["storage"]
    if (file := storage["database_password_file"]) is not None:
        storage["database_password_file"] = Path(file)
    return Settings(
        Path(told["data_dir"]),
        limits=Limits(**told["limits"]),
        jobs=JobSettings(**told["jobs"]),
        storage=StorageSettings(**storage),
    )


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)


def order_line(lease: Lease) -> bytes:
    """Return the order to run a job."""
    return line_of(asdict(lease))


def order_from(line: bytes) -> Lease:
    """Read what `order_line` wrote."""
    return Lease(**json.loads(line))


def line_of(told: dict[str, Any]) -> bytes:
    """Return a line."""
    return json.dumps(told).encode() + b"\n"


class Incoming:
    """Whole lines of a pipe, read without waiting.

    Args:
        descriptor: of the end to read from, which is made not to block.
    """

    def __init__(self, descriptor: int) -> None:
        os.set_blocking(descriptor, False)
        self._descriptor = descriptor
        self._rest = b""
        self.ended = False

    def lines(self) -> list[bytes]:
        """Return what has come since it was last asked; `ended` says whether the other side did."""
        while not self.ended:
            try:
                read = os.read(self._descriptor, _CHUNK)
            except BlockingIOError:
                break
            self.ended = not read
            self._rest += read
        *whole, self._rest = self._rest.split(b"\n")
        return whole
