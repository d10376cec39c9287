"""The settings of a miner: where it keeps its data, where it listens, and the sections of these."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from miner_service.settings.jobs import JobSettings
from miner_service.settings.limits import Limits, Quotas
from miner_service.settings.storage import StorageSettings
from miner_service.settings.tokens import TokenSettings
from miner_service.settings.web import WebSettings
from pramana_core.errors import OptionError

Clock = Callable[[], datetime]
"""Tells the time, with its zone."""


def utc_now() -> datetime:
    """Return the time now, in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True)
class Settings:
    """Where a miner keeps its data and where it listens.

    Raises:
        OptionError: a port outside 0..65535, or a host that is not this machine's own unless
            `allow_remote` or the service speaks TLS.
    """

    data_dir: Path
    host: str = "127.0.0.1"
    port: int = 8000
    allow_remote: bool = False
    limits: Limits = field(default_factory=Limits)
    quotas: Quotas = field(default_factory=Quotas)
    tokens: TokenSettings = field(default_factory=TokenSettings)
    jobs: JobSettings = field(default_factory=JobSettings)
    web: WebSettings = field(default_factory=WebSettings)
    storage: StorageSettings = field(default_factory=StorageSettings)
    event_seconds: float = 0.2
    """How often the events of a job are looked up while someone listens."""
    stop_seconds: float = 10.0
    """For how long a service that ends waits for those who run its jobs."""

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65_535:
            raise OptionError(f"Port {self.port} is not between 0 and 65535.", where="port")
        protected = self.allow_remote or self.web.certificate is not None
        if not (protected or is_loopback(self.host)):
            raise OptionError(
                f"The host {self.host} can be reached from other machines, and this service"
                " speaks plain HTTP.",
                where="host",
                remedy="Speak TLS (--certificate and --private-key), listen on 127.0.0.1 behind a"
                " proxy that does, or say --allow-remote if the network between is protected"
                " otherwise.",
            )


def is_loopback(host: str) -> bool:
    """Whether a host name or address can only be reached from this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
