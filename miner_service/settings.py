"""The settings of a miner: a class for each section of `miner.toml`."""

from __future__ import annotations

import ipaddress
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, TypeVar, cast, dataclass_transform
from urllib.parse import urlsplit

from pydantic import ConfigDict, Field, ValidationError
from pydantic.dataclasses import dataclass as checked_dataclass

from miner_service.logs import LogFormat
from pramana_core.alike import alike
from pramana_core.errors import ConfigError, OptionError
from pramana_core.text_files import read_text
from pramana_core.wire.base import MAX_PARTS
from pramana_core.wire.services import require_address

MEBIBYTE = 1 << 20

Count = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Kind = TypeVar("Kind")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def _section(kind: type[Kind]) -> type[Kind]:
    """Turn a class into a frozen dataclass that checks the types and limits of its values."""
    section = checked_dataclass(frozen=True, config=ConfigDict(strict=True, extra="forbid"))(kind)
    build = section.__init__

    @wraps(build)
    def init(self: Any, *values: Any, **named: Any) -> None:
        try:
            build(self, *values, **named)
        except ValidationError as error:
            wrong = error.errors()[0]
            where = str(wrong["loc"][0])
            raise OptionError(f"The setting {where}: {wrong['msg']}.", where=where) from None

    section.__init__ = init  # type: ignore[method-assign]
    return cast(type[Kind], section)


@_section
class JobSettings:
    """Settings of workers and leases; `deploy/miner.toml` explains them. Raises OptionError."""

    workers: Annotated[int, Field(ge=0)] = 2
    lease_seconds: Seconds = 15.0
    beat_seconds: Seconds = 0.25


@_section
class Limits:
    """Limits on requests and jobs, checked before the work starts."""

    json_bytes: Count = 8 * MEBIBYTE
    part_bytes: Count = 64 * MEBIBYTE
    release_bytes: Count = 16 * 1024 * MEBIBYTE
    parts: Count = MAX_PARTS
    variables: Count = 1024
    categories: Count = 65_536
    subsets: Count = 16_384
    channel_size: Count = 4096
    job_cells: Count = 1 << 24
    bootstrap_cells: Count = 1 << 22
    job_seconds: Count = 3600
    job_bytes: Count = 8 * 1024 * MEBIBYTE
    search_variables: Count = 256
    model_parameters: Count = 1 << 18
    batch_reports: Count = 10_000


@_section
class Quotas:
    """Limits on the releases that one owner has in a study at the same time."""

    open_releases: Count = 8
    stored_bytes: Count = 128 * 1024 * MEBIBYTE
    queued_jobs: Count = 64


@_section
class StorageSettings:
    """The database and the folder of files. None means that they are in the data directory."""

    database: str | None = field(default=None, repr=False)
    database_password_file: Path | None = None
    files: Path | None = None


_SCHEDULER = re.compile(r"(tcp|tls)://(\[[0-9A-Fa-f:.]+\]|[^/:@\s]+):[1-9][0-9]{0,4}")


@_section
class ClusterSettings:
    """A Dask cluster that counts records for jobs. Without it, each job's process counts them."""

    scheduler: str | None = None
    authority: Path | None = None
    certificate: Path | None = None
    private_key: Path | None = None
    allow_plain: bool = False
    piece_records: Count = 1 << 20
    wait_seconds: Seconds = 10.0

    def __post_init__(self) -> None:
        if self.scheduler is None:
            return
        address = urlsplit(self.scheduler)
        port = self.scheduler.rpartition(":")[2]
        if not _SCHEDULER.fullmatch(self.scheduler) or int(port) > 65_535:
            raise OptionError(
                "The scheduler's address is not tls://host:port or tcp://host:port.",
                where="scheduler",
                remedy="Write it like tls://scheduler.example.org:8786.",
            )
        files = {n: getattr(self, n) for n in ("authority", "certificate", "private_key")}
        missing = [name for name, file in files.items() if file is None]
        if address.scheme == "tls" and missing:
            raise OptionError(
                "A scheduler with TLS needs an authority, a certificate and a private key;"
                f" missing: {', '.join(missing)}.",
                where=missing[0],
                remedy="Add the missing files under [cluster] in the settings.",
            )
        host = address.hostname or ""
        if address.scheme == "tcp" and not (self.allow_plain or is_loopback(host)):
            raise OptionError(
                f"The connection to the scheduler on {host} would not use TLS. Anyone on the"
                " network could then run programs on the cluster.",
                where="scheduler",
                remedy="Use tls:// with certificates, or set allow_plain under [cluster] if the"
                " network is protected by other means.",
            )


@_section
class TokenSettings:
    """The lifetime of tokens."""

    valid_days: Count = 365
    noted_seconds: Seconds = 60.0
    warn_days: Count = 14


@_section
class WebSettings:
    """Limits on clients, TLS, and the public address."""

    body_seconds: Seconds = 15.0
    connections: Count = 1000
    bodies_per_token: Count = 4
    body_bytes_per_token: Count = 128 * MEBIBYTE
    requests_per_token: Seconds = 200.0
    certificate: Path | None = None
    private_key: Path | None = None
    client_authority: Path | None = None
    public_url: str | None = None
    trusted_proxies: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.public_url is not None:
            require_public_address(self.public_url, "public_url")
        for proxy in self.trusted_proxies:
            try:
                ipaddress.ip_network(proxy)
            except ValueError as error:
                raise OptionError(
                    f"The trusted proxy {proxy!r} is not an address or network: {error}.",
                    where="trusted_proxies",
                    remedy="Write an address or network such as 10.0.0.7 or 10.0.0.0/29.",
                ) from None
        if (self.certificate is None) != (self.private_key is None):
            raise OptionError(
                "TLS needs a certificate and its private key; one of them is missing.",
                where="private_key" if self.private_key is None else "certificate",
                remedy="Set both --certificate and --private-key, or neither.",
            )
        if self.client_authority is not None and self.certificate is None:
            raise OptionError(
                "Client certificates need TLS, but the service has no certificate.",
                where="client_authority",
                remedy="Set --certificate and --private-key, too.",
            )


def require_public_address(url: str, where: str) -> None:
    """Check the address that invitations and access files will contain. Raises OptionError."""
    try:
        # The owner decides whether plain http is safe on the owner's network.
        require_address(url, allow_insecure=True, permission="")
    except ValueError as error:
        raise OptionError(
            f"{str(error)[0].upper()}{str(error)[1:]}.",
            where=where,
            remedy="Write an address such as https://miner.example.org.",
        ) from None


Clock = Callable[[], datetime]
"""A function that returns the current time with its zone."""


def utc_now() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True)
class Settings:
    """The settings of a miner: data directory, address, and sections. Raises OptionError."""

    data_dir: Path
    host: str = "127.0.0.1"
    port: int = 8000
    allow_remote: bool = False
    log_format: LogFormat = LogFormat.TEXT
    limits: Limits = field(default_factory=Limits)
    quotas: Quotas = field(default_factory=Quotas)
    tokens: TokenSettings = field(default_factory=TokenSettings)
    jobs: JobSettings = field(default_factory=JobSettings)
    web: WebSettings = field(default_factory=WebSettings)
    storage: StorageSettings = field(default_factory=StorageSettings)
    cluster: ClusterSettings = field(default_factory=ClusterSettings)

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65_535:
            raise OptionError(f"Port {self.port} is not between 0 and 65535.", where="port")
        protected = self.allow_remote or self.web.certificate is not None
        if not (protected or is_loopback(self.host)):
            raise OptionError(
                f"Other machines can reach the host {self.host}, by plain HTTP only.",
                where="host",
                remedy="Use TLS (--certificate and --private-key), listen on 127.0.0.1 behind a TLS"
                " proxy, or set --allow-remote if the network is protected by other means.",
            )


def is_loopback(host: str) -> bool:
    """Return whether a host name or address is reachable only from this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


SECTIONS: Mapping[str, type] = {
    "limits": Limits,
    "quotas": Quotas,
    "tokens": TokenSettings,
    "jobs": JobSettings,
    "web": WebSettings,
    "storage": StorageSettings,
    "cluster": ClusterSettings,
}
"""The class of each section of the file, by its name in `Settings`."""


def read_settings(file: Path) -> dict[str, Any]:
    """Return a file's sections. Paths are relative to the file's folder. Raises ConfigError."""
    try:
        document = tomllib.loads(read_text(file))
    except OSError as error:
        raise ConfigError(
            f"The settings {file} cannot be read: {error.strerror}.", where=str(file)
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        # The text may contain a password, so the error shows only the position.
        place = str(error).rpartition("(")[2].rstrip(")")
        raise ConfigError(
            f"The settings {file} are not valid TOML ({place}).",
            where=str(file),
            remedy="Write each section name in brackets, followed by lines such as `workers = 2`.",
        ) from None
    _require_known(file, "section", document, SECTIONS)
    return {name: _read_section(file, name, values) for name, values in document.items()}


def _read_section(file: Path, name: str, given: Any) -> Any:
    if not isinstance(given, dict):
        raise ConfigError(
            f"In the settings {file}, {name} is not a section.",
            where=name,
            remedy=f"Write [{name}] on its own line, and its settings below.",
        )
    kind = SECTIONS[name]
    known = {each.name: str(each.type) for each in fields(kind)}
    _require_known(file, f"setting of [{name}]", given, known)
    values = {
        key: file.parent / value if "Path" in known[key] and isinstance(value, str) else value
        for key, value in given.items()
    }
    try:
        return kind(**values)
    except OptionError as error:
        raise ConfigError(
            f"In the settings {file}, [{name}]: {error.message}",
            where=f"{name}.{error.where}",
            remedy=error.remedy,
        ) from error


def _require_known(file: Path, what: str, names: Iterable[str], known: Iterable[str]) -> None:
    for name in names:
        if name not in known:
            near = alike(name, known)
            meant = f" Did you mean {near!r}?" if near else ""
            raise ConfigError(
                f"The settings {file} contain {name!r}, which is not a {what}.{meant}",
                where=name,
                remedy=f"Use one of {', '.join(known)}.",
            )
