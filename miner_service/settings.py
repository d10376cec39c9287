"""The settings of a miner: where it keeps its data, where it listens, how much it accepts.

Limits protect the service from a mistaken or hostile client; each is checked before the work that
it bounds is done.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path

from shared.errors import OptionError
from shared.wire.base import MAX_PARTS

Clock = Callable[[], datetime]
"""Tells the time, with its zone."""

MEBIBYTE = 1 << 20


def utc_now() -> datetime:
    """Return the time now, in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True)
class Limits:
    """The largest things the service accepts.

    `json_bytes`: a JSON body. `part_bytes`: one part. `release_bytes`: all parts of a release.
    `variables` and `categories`: of one plan, categories summed over its variables.
    `channel_size`: categories of a channel that has no closed form (dense or grouped), whose
    matrix must be held whole. `job_cells`: cells of the largest table a job may ask for.
    `bootstrap_cells`: of that table in all bootstrap samples together. `job_seconds`: that a job
    may run. `search_variables`: among which a structure may be searched for. `model_parameters`:
    of one learned model. `answer_cells`: combinations in the answer to one question.
    `sample_cells`: synthetic records times their variables, in one answer. `prediction_records`:
    whose class is asked for at once. `prediction_cells`: these records times the classes.

    Raises:
        OptionError: a limit below 1.
    """

    json_bytes: int = 8 * MEBIBYTE
    part_bytes: int = 64 * MEBIBYTE
    release_bytes: int = 16 * 1024 * MEBIBYTE
    parts: int = MAX_PARTS
    variables: int = 1024
    categories: int = 65_536
    channel_size: int = 4096
    job_cells: int = 1 << 24
    bootstrap_cells: int = 1 << 22
    job_seconds: int = 3600
    search_variables: int = 256
    model_parameters: int = 1 << 18
    answer_cells: int = 1 << 16
    sample_cells: int = 1 << 24
    prediction_records: int = 100_000
    prediction_cells: int = 1 << 21

    def __post_init__(self) -> None:
        for field in fields(self):
            if getattr(self, field.name) < 1:
                raise OptionError(
                    f"The limit {field.name} is {getattr(self, field.name)}; it must be positive.",
                    where=field.name,
                )


@dataclass(frozen=True)
class Settings:
    """Where a miner keeps its data and where it listens.

    Raises:
        OptionError: a port outside 0..65535, or a host that is not this machine's own unless
            `allow_remote`.
    """

    data_dir: Path
    host: str = "127.0.0.1"
    port: int = 8000
    allow_remote: bool = False
    limits: Limits = Limits()
    event_seconds: float = 0.2
    """How often the events of a job are looked up while someone listens."""
    wanted_seconds: float = 0.2
    """How often a running job asks whether it is still wanted: the store costs more than a step."""
    stop_seconds: float = 10.0
    """For how long a service that ends waits for the step of the running job."""

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65_535:
            raise OptionError(f"Port {self.port} is not between 0 and 65535.", where="port")
        if not (self.allow_remote or is_loopback(self.host)):
            raise OptionError(
                f"The host {self.host} can be reached from other machines, and this service"
                " speaks plain HTTP.",
                where="host",
                remedy="Listen on 127.0.0.1 behind a proxy that speaks TLS, or say --allow-remote"
                " if the network between is protected otherwise.",
            )


def is_loopback(host: str) -> bool:
    """Whether a host name or address can only be reached from this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
