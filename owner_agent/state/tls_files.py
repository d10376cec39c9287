"""The files that secure connections to a miner: whom to believe, and what shows who this is."""

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
    """Certificate files in PEM: the authorities of a miner, and this side's with its key."""

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
        """Return what httpx checks a connection with. Raises ConfigError or KeyFileError."""
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
    # What OpenSSL says of it is for those who know OpenSSL.
    return ConfigError(
        f"The {name} {path} cannot be read as certificates"
        f"{' with their key' if name == 'client_certificate' else ''}.",
        where=name,
        remedy="Give files in PEM, as whoever issued the certificate made them.",
    )
