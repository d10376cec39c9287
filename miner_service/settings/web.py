"""What the service bears of its clients: times, connections, rates, bodies in flight, and TLS."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from miner_service.settings.limits import MEBIBYTE
from miner_service.settings.positive import require_positive
from pramana_core.errors import OptionError


@dataclass(frozen=True)
class WebSettings:
    """What the service bears of its clients; all times in seconds.

    `header_seconds`: until the headers of a request are whole. `body_seconds`: without a byte
    of a body. `body_rate`: bytes a second that a body must bring on average, after
    `body_seconds`. `connections`, `connections_per_address`: open at once. `streams_per_token`:
    of events that are followed at once. `bodies_per_token`, `body_bytes_per_token`: of parts on
    their way at once. `requests_per_token`, `requests_per_address`: a second on average; a
    burst may be ten times that.
    `certificate`, `private_key`: PEM files; the service speaks TLS if they are given.
    `client_authority`: PEM file; only clients with a certificate that it signed are let in.

    Raises:
        OptionError: a number that is not positive; or a key or an authority without a
            certificate, or a certificate without a key.
    """

    header_seconds: float = 10.0
    body_seconds: float = 15.0
    body_rate: int = 16 * 1024
    connections: int = 1000
    connections_per_address: int = 200
    bodies_per_token: int = 4
    streams_per_token: int = 16
    body_bytes_per_token: int = 128 * MEBIBYTE
    requests_per_token: float = 200.0
    requests_per_address: float = 400.0
    certificate: Path | None = None
    private_key: Path | None = None
    client_authority: Path | None = None

    def __post_init__(self) -> None:
        require_positive(self)
        if (self.certificate is None) != (self.private_key is None):
            raise OptionError(
                "TLS takes a certificate and its private key; one of them is not given.",
                where="private_key" if self.private_key is None else "certificate",
                remedy="Give both, --certificate and --private-key, or neither.",
            )
        if self.client_authority is not None and self.certificate is None:
            raise OptionError(
                "The certificates of clients are only asked for over TLS, and there is no"
                " certificate of the service.",
                where="client_authority",
                remedy="Give --certificate and --private-key, too.",
            )
