"""`[miner]` of the site file: where releases go, and how the connection is secured."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, model_validator

from owner_agent.state.tls import TlsFiles
from pramana_core.wire.addresses import require_address
from pramana_core.wire.base import Name


class MinerSection(BaseModel):
    """Where releases go. Plain http is for this machine only, unless said otherwise."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: str
    study: Name
    allow_insecure: bool = False
    ca_file: str | None = None
    client_certificate: str | None = None
    client_key: str | None = None

    @model_validator(mode="after")
    def _safe_address(self) -> Self:
        require_address(
            self.url, allow_insecure=self.allow_insecure, permission="set allow_insecure = true"
        )
        if self.client_key is not None and self.client_certificate is None:
            raise ValueError("client_key needs client_certificate")
        return self

    def tls_files(self, folder: Path) -> TlsFiles:
        """Return the files, which are named from a folder on."""
        names = (self.ca_file, self.client_certificate, self.client_key)
        return TlsFiles(*(None if name is None else folder / name for name in names))
