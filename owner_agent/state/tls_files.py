"""The certificate files for connections to a miner: trusted authorities, client certificate."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from owner_agent.state.private_files import refuse_if_open_to_others
from pramana_core.errors import ConfigError

if TYPE_CHECKING:
    import ssl


@dataclass(frozen=True)
class TlsFiles:
    """PEM files: the authorities trusted for the miner, and a client certificate with its key."""

    ca_file: Path | None = None
    client_certificate: Path | None = None
    client_key: Path | None = None

    def __post_init__(self) -> None:
        """Check that a client key is given only with a client certificate. Raises ConfigError."""
        if self.client_key is not None and self.client_certificate is None:
            raise ConfigError(
                "client_key is given without client_certificate.",
                where="client_certificate",
                remedy="Add client_certificate, the file of the certificate.",
            )

    def verify(self) -> ssl.SSLContext | bool:
        """Return the `verify` argument for httpx. Raises ConfigError or KeyFileError."""
        if self == TlsFiles():
            return True
        import ssl

        try:
            context = ssl.create_default_context(cafile=self.ca_file)
        except OSError:
            raise _unusable("ca_file", self.ca_file) from None
        if self.client_certificate is not None:
            key = self.client_key or self.client_certificate
            try:
                refuse_if_open_to_others(key, f"chmod 600 {key}")
                context.load_cert_chain(self.client_certificate, key)
            except OSError:
                raise _unusable("client_certificate", self.client_certificate) from None
        return context


def _unusable(name: str, path: Path | None) -> ConfigError:
    # OpenSSL's own message helps only readers who know OpenSSL.
    return ConfigError(
        f"The {name} {path} cannot be read as certificates"
        f"{' with their key' if name == 'client_certificate' else ''}.",
        where=name,
        remedy="Name PEM files, as the issuer of the certificate provided them.",
    )
