"""Where an agent runs: clock, randomness, paths, and how it trusts a miner's certificate.

Also here:

* The files that secure connections to a miner: whom to believe, and what shows who this is.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from owner_agent.state.private_files import refuse_if_open_to_others
from pramana_core.errors import ConfigError

if TYPE_CHECKING:
    import ssl

    import httpx


def utc_now() -> datetime:
    """Return the time now, in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True)
class WaitingTimes:
    """How long an agent waits for others, and how often it repeats things, in seconds."""

    work: float = 600.0
    """For another owner's answer that needs work; a session file says otherwise."""
    connect: float = 10.0
    """Until another owner takes a call at all; a session file may say otherwise."""
    quick: float = 20.0
    """For another owner's answer that needs no work."""
    least: float = 5.0
    """For any answer, even at the very end of a session."""
    grace: float = 15.0
    """Longer than a session may last, so as to hear why it ended."""
    asking: float = 20.0
    """To ask the others whether they wrote a result, when the session's time is over."""
    last: float = 20.0
    """For telling owners of a session's end, good or bad, whatever its time."""
    poll: float = 0.2
    """How often owners that learn are asked how far they are."""
    sweep: float = 1.0
    """How often a session is looked at that nobody calls any more."""
    start: float = 30.0
    """Until its own server is up, or down."""
    brief: float = 10.0
    """For a miner's answer that is not worth a long wait."""


@dataclass(frozen=True)
class Environment:
    """Transport, clock, patience and randomness, all replaceable.

    `transport` None is the network; `attempts` is how often a request is tried before the miner
    counts as unreachable, `lock_attempts` how often a session tries to hold the state directory's
    lock while another publication does.
    """

    transport: httpx.BaseTransport | None = None
    sleep: Callable[[float], None] = time.sleep
    now: Callable[[], datetime] = utc_now
    random_bytes: Callable[[int], bytes] = secrets.token_bytes
    attempts: int = 5
    lock_attempts: int = 20
    patience: WaitingTimes = WaitingTimes()


# The files that secure connections to a miner: whom to believe, and what shows who this is.


@dataclass(frozen=True)
class TlsFiles:
    """Certificate files in PEM.

    Attributes:
        ca_file: the authorities that a miner's certificate must come from; None takes those that
            are known everywhere.
        client_certificate: what this side shows to a miner that asks for one.
        client_key: the key to it, in a file that nobody else may read; None if it is in the same
            file.
    """

    ca_file: Path | None = None
    client_certificate: Path | None = None
    client_key: Path | None = None

    def __post_init__(self) -> None:
        """Refuse a key without a certificate. Raises ConfigError."""
        if self.client_key is not None and self.client_certificate is None:
            raise ConfigError(
                "A client_key was given without its client_certificate.",
                where="client_certificate",
                remedy="Name the file of the certificate, too.",
            )

    def verify(self) -> ssl.SSLContext | bool:
        """Return what a connection is checked with, as httpx takes it.

        Raises:
            ConfigError: a file cannot be read, or is not what it should be.
            KeyFileError: others may read the key.
        """
        if self == TlsFiles():
            return True
        context = self._believing()
        if self.client_certificate is not None:
            key = self.client_key or self.client_certificate
            try:
                refuse_if_open_to_others(key, f"chmod 600 {key}")
                context.load_cert_chain(self.client_certificate, key)
            except OSError:
                raise _unusable("client_certificate", self.client_certificate) from None
        return context

    def _believing(self) -> ssl.SSLContext:
        import ssl

        try:
            return ssl.create_default_context(cafile=self.ca_file)
        except OSError:
            raise _unusable("ca_file", self.ca_file) from None


def _unusable(name: str, path: Path | None) -> ConfigError:
    # What OpenSSL says of it is for those who know OpenSSL.
    return ConfigError(
        f"The {name} {path} cannot be read as certificates"
        f"{' with their key' if name == 'client_certificate' else ''}.",
        where=name,
        remedy="Give files in PEM, as whoever issued the certificate made them.",
    )
