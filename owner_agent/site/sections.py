"""The base class of the site file's sections, and the sections on miner, peers and study plan."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from owner_agent.state.tls_files import TlsFiles
from pramana_core.alike import repeated_in
from pramana_core.wire.base import Name
from pramana_core.wire.services import require_address

ColumnName = Annotated[str, StringConstraints(min_length=1, max_length=256)]
Finite = Annotated[float, Field(allow_inf_nan=False)]


class Section(BaseModel):
    """A section of the site file; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


def require_listed_once(column: str, listed: tuple[str, ...], missing: str | None) -> None:
    """Check a column's list of categories, and that it contains `missing`. Raises ValueError."""
    if len(set(listed)) < len(listed):
        raise ValueError(f"column {column!r} lists a category twice")
    if missing is not None and missing not in listed:
        raise ValueError(f"{missing!r}, the category of empty cells, is not in the list")


class ColumnSection(Section):
    """A column, written as a section or only as its name."""

    column: ColumnName

    @model_validator(mode="before")
    @classmethod
    def _a_name_alone(cls, written: Any) -> Any:
        return {"column": written} if isinstance(written, str) else written


class MinerSection(Section):
    """`[miner]`: where releases go, by http only on this machine or with `allow_insecure`."""

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
            raise ValueError("'client_key' needs 'client_certificate'")
        return self

    def tls_files(self, folder: Path) -> TlsFiles:
        """Return the certificate files, with paths relative to `folder`."""
        names = (self.ca_file, self.client_certificate, self.client_key)
        return TlsFiles(*(None if name is None else folder / name for name in names))


class KnownPeer(Section):
    """An owner that may take part in sessions, with its certificate and its address."""

    name: Name
    certificate: Annotated[str, StringConstraints(min_length=1)]
    url: str

    @model_validator(mode="after")
    def _encrypted_address(self) -> Self:
        parts = urlsplit(self.url)
        if parts.scheme != "https" or not parts.hostname:
            raise ValueError(
                f"{self.url!r} is not an https address, which connections between owners require"
            )
        if parts.path.strip("/") or parts.query or parts.fragment or parts.username:
            raise ValueError("the address must consist of a host and a port only")
        return self


class PeerSection(Section):
    """`[peer]`: learning without a miner.

    `smallest_count` is the smallest count of records allowed in a cell of a table that shared
    parameters reveal. `groupings` limits how many such tables of this owner's columns may be
    disclosed in a study.
    """

    study: Name
    listen: Annotated[str, StringConstraints(pattern=r"^(\[[^\]]+\]|[^:\s]+):[0-9]{1,5}$")] = (
        "127.0.0.1:8200"
    )
    results: Annotated[str, StringConstraints(min_length=1)] = "models"
    smallest_count: Annotated[int, Field(ge=1)] = 5
    groupings: Annotated[int, Field(ge=1)] = 1
    longest_seconds: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 3600.0
    known: Annotated[tuple[KnownPeer, ...], Field(min_length=1)]

    @property
    def address(self) -> tuple[str, int]:
        """The host and port on which the agent listens."""
        host, _, port = self.listen.rpartition(":")
        return host.strip("[]"), int(port)

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        if repeated := repeated_in([peer.name for peer in self.known]):
            raise ValueError(f"two known peers have the name {repeated}")
        return self


class StudyPlanSection(Section):
    """`[study_plan]`: the file of the study's plan, and the approved digest (by default, any)."""

    file: Annotated[str, StringConstraints(min_length=1)]
    digest: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")] | None = None
