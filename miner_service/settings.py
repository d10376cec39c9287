"""The settings of a miner: where it keeps its data, where it listens, how much it accepts.

A class for each section, frozen and checked when it is made. Nothing is opened here.

Also here:

* How jobs are run: how many at once, and when one whose worker is silent is run again.
* The largest things that the service accepts, and how much one owner may keep here.
* Where a miner keeps its rows and its files.
* The cluster on which jobs are counted, where one is.
* How long tokens are good for.
* What the service bears of its clients: connections, rates, bodies in flight, and TLS.
* Reads the sections of the settings from a file: `miner.toml`.
"""

from __future__ import annotations

import ipaddress
import math
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_type_hints
from urllib.parse import SplitResult, urlsplit

from pramana_core.alike import alike
from pramana_core.errors import ConfigError, OptionError
from pramana_core.text_files import read_text
from pramana_core.wire.base import MAX_PARTS
from pramana_core.wire.services import require_address


def require_positive(section: Any, zero: Sequence[str] = ()) -> None:
    """Check that every number of a section is positive and finite; some may be 0.

    Raises:
        OptionError: one is not.
    """
    for each in fields(section):
        value = getattr(section, each.name)
        if value == 0 and each.name in zero:
            continue
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if number and not 0 < value < math.inf:
            raise OptionError(
                f"The setting {each.name} is {value}; it must be a positive, finite number.",
                where=each.name,
            )


# How jobs are run: how many at once, and when one whose worker is silent is run again.


@dataclass(frozen=True)
class JobSettings:
    """How jobs are run; all times in seconds.

    `workers`: processes that each run one job at a time; 0 leaves jobs to other machines.
    `lease_seconds`: how long a job stays with a supervisor that gives no sign of life.
    `beat_seconds`: how often a supervisor looks whether its jobs are still wanted, and what they
    take: within this time and a little more a cancelled job is ended.

    Raises:
        OptionError: a number that is not positive; `workers` may be 0.
    """

    workers: int = 2
    lease_seconds: float = 15.0
    beat_seconds: float = 0.25

    def __post_init__(self) -> None:
        require_positive(self, zero=("workers",))


# The largest things that the service accepts, and how much one owner may keep here.
#
# Limits protect the service from a mistaken or hostile client; each is checked before the work that
# it bounds is done.

MEBIBYTE = 1 << 20


@dataclass(frozen=True)
class Limits:
    """The largest things the service accepts.

    `json_bytes`: a JSON body. `part_bytes`: one part. `release_bytes`: all parts of a release.
    `variables` and `categories`: of one plan, categories summed over its variables. `subsets`: of
    variables from which its sampled channels choose.
    `channel_size`: categories of a channel that has no closed form (dense or grouped), whose
    matrix must be held whole. `job_cells`: cells of the largest table a job may ask for.
    `bootstrap_cells`: of that table in all bootstrap samples together. `job_seconds`: that a
    job may run, `job_bytes`: of memory that it may take. `search_variables`: among which a
    structure may be searched for. `model_parameters`: of one learned model. `answer_cells`:
    combinations in the answer to one question. `sample_cells`: synthetic records times their
    variables, in one answer. `prediction_records`: whose class is asked for at once.
    `prediction_cells`: these records times the classes. `batch_reports`: reports of single
    records in one batch.

    Raises:
        OptionError: a limit below 1.
    """

    json_bytes: int = 8 * MEBIBYTE
    part_bytes: int = 64 * MEBIBYTE
    release_bytes: int = 16 * 1024 * MEBIBYTE
    parts: int = MAX_PARTS
    variables: int = 1024
    categories: int = 65_536
    subsets: int = 16_384
    channel_size: int = 4096
    job_cells: int = 1 << 24
    bootstrap_cells: int = 1 << 22
    job_seconds: int = 3600
    job_bytes: int = 8 * 1024 * MEBIBYTE
    search_variables: int = 256
    model_parameters: int = 1 << 18
    answer_cells: int = 1 << 16
    sample_cells: int = 1 << 24
    prediction_records: int = 100_000
    prediction_cells: int = 1 << 21
    batch_reports: int = 10_000

    def __post_init__(self) -> None:
        require_positive(self)


@dataclass(frozen=True)
class Quotas:
    """How much one owner may have in a study at once.

    `open_releases`: announced and neither sealed nor withdrawn. `announced_parts` and
    `announced_bytes`: of these releases together. `stored_bytes`: of all its releases that are
    not withdrawn. `queued_jobs`: of one study, waiting to be run.

    Raises:
        OptionError: a quota below 1.
    """

    open_releases: int = 8
    announced_parts: int = 20_000
    announced_bytes: int = 32 * 1024 * MEBIBYTE
    stored_bytes: int = 128 * 1024 * MEBIBYTE
    queued_jobs: int = 64

    def __post_init__(self) -> None:
        require_positive(self)


# Where a miner keeps its rows and its files.


@dataclass(frozen=True)
class StorageSettings:
    """Where a miner keeps its rows and its files; None stands for the data directory.

    `database`: the address of a PostgreSQL database; it may hold a password and is never shown.
    `database_password_file`: a file whose first line is that password, whatever characters it has.
    `files`: the address of an object store, such as `s3://bucket/prefix`. `cache_bytes`: of columns
    fetched from there that are kept in the data directory.

    Raises:
        OptionError: a number that is not positive.
    """

    database: str | None = field(default=None, repr=False)
    database_password_file: Path | None = None
    files: str | None = field(default=None, repr=False)
    cache_bytes: int = 64 * 1024 * MEBIBYTE

    def __post_init__(self) -> None:
        require_positive(self)


# The cluster on which jobs are counted, where one is.


@dataclass(frozen=True)
class ClusterSettings:
    """A Dask cluster that counts the records of jobs; without one their own processes do.

    `scheduler`: its address, such as `tls://scheduler.example.org:8786`. `authority`,
    `certificate`, `private_key`: PEM files, by which all of the cluster know each other.
    `allow_plain`: whether a scheduler on another machine may be spoken to without TLS.
    `piece_records`: so many records at most are counted at once, also without a cluster.
    `wait_seconds`: how long a job waits for the scheduler, or for anybody who counts, before it is
    given back.

    Raises:
        OptionError: an address that cannot be, or that would be spoken to unprotected; a file that
            is not named; a number that is not positive.
    """

    scheduler: str | None = None
    authority: Path | None = None
    certificate: Path | None = None
    private_key: Path | None = None
    allow_plain: bool = False
    piece_records: int = 1 << 20
    wait_seconds: float = 10.0

    def __post_init__(self) -> None:
        require_positive(self)
        if self.scheduler is None:
            return
        address = urlsplit(self.scheduler)
        spoken = address.scheme in ("tcp", "tls")
        if not (spoken and address.hostname and not address.path and _port(address)):
            raise OptionError(
                "The address of the scheduler is not of the form tls://host:port or"
                " tcp://host:port.",
                where="scheduler",
                remedy="Write it like tls://scheduler.example.org:8786.",
            )
        files = {n: getattr(self, n) for n in ("authority", "certificate", "private_key")}
        missing = [name for name, file in files.items() if file is None]
        if address.scheme == "tls" and missing:
            raise OptionError(
                f"A scheduler with TLS takes an authority, a certificate and its private key; not"
                f" given: {', '.join(missing)}.",
                where=missing[0],
                remedy="Name them under [cluster] in the settings.",
            )
        if address.scheme == "tcp" and not (self.allow_plain or is_loopback(address.hostname)):
            raise OptionError(
                f"The scheduler on {address.hostname} would be spoken to without TLS; whoever can"
                " listen in between could make the cluster run programs.",
                where="scheduler",
                remedy="Use tls:// with certificates, or say allow_plain under [cluster] if the"
                " network between is protected otherwise.",
            )


def _port(address: SplitResult) -> int | None:
    try:
        return address.port
    except ValueError:
        return None


# How long tokens are good for.


@dataclass(frozen=True)
class TokenSettings:
    """How long tokens are good for.

    `valid_days`: a token for which nothing else is said. `overlap_seconds`: for how long a token
    that was rotated stays good once the new one is used. `noted_seconds`: how often its use is
    noted at most, for each note is a change of the store. `warn_days`: before its end the dashboard
    warns.

    Raises:
        OptionError: a number that is not positive.
    """

    valid_days: int = 365
    overlap_seconds: float = 300.0
    noted_seconds: float = 60.0
    warn_days: int = 14

    def __post_init__(self) -> None:
        require_positive(self)


# What the service bears of its clients: connections, rates, bodies in flight, and TLS.


@dataclass(frozen=True)
class WebSettings:
    """What the service bears of its clients.

    `body_seconds`: without a byte of a body. `connections`: open at once. `streams_per_token`:
    of events that are followed at once. `bodies_per_token`, `body_bytes_per_token`: on their way at
    once. `requests_per_token`: a second on average; a burst may be ten times that.
    `certificate`, `private_key`: PEM files; the service speaks TLS if they are given.
    `client_authority`: PEM file; only clients with a certificate that it signed are let in.
    `public_url`: the address at which people reach the service, where it is another than that on
    which it listens; invitations and access files name it.

    Raises:
        OptionError: a number that is not positive; a key or an authority without a certificate,
            or a certificate without a key; a public address that is none.
    """

    body_seconds: float = 15.0
    connections: int = 1000
    bodies_per_token: int = 4
    streams_per_token: int = 16
    body_bytes_per_token: int = 128 * MEBIBYTE
    requests_per_token: float = 200.0
    certificate: Path | None = None
    private_key: Path | None = None
    client_authority: Path | None = None
    public_url: str | None = None

    def __post_init__(self) -> None:
        require_positive(self)
        if self.public_url is not None:
            require_public_address(self.public_url, "public_url")
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


def require_public_address(url: str, where: str) -> None:
    """Check the address that is named to owners and analysts. Raises OptionError."""
    try:
        # Whether plain http is safe on her network is for the owner to say.
        require_address(url, allow_insecure=True, permission="")
    except ValueError as error:
        raise OptionError(
            f"{str(error)[0].upper()}{str(error)[1:]}.",
            where=where,
            remedy="Write it as https://miner.example.org.",
        ) from None


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
    cluster: ClusterSettings = field(default_factory=ClusterSettings)
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


# Reads the sections of the settings from a file: `miner.toml`.
#
# What is not in the file is as it is without one. Keys that no section has are refused by name.

SECTIONS: Mapping[str, type] = {
    "limits": Limits,
    "quotas": Quotas,
    "tokens": TokenSettings,
    "jobs": JobSettings,
    "web": WebSettings,
    "storage": StorageSettings,
    "cluster": ClusterSettings,
}
"""The sections of the file, by the names that the fields of `Settings` have."""

_KINDS = {
    int: "a whole number",
    float: "a number",
    str: "a text",
    Path: "a path",
    bool: "true or false",
}


def read_settings(file: Path) -> dict[str, Any]:
    """Return the sections that a file has, each as the settings take it.

    Paths in it are read as seen from the file's own folder.

    Raises:
        ConfigError: it cannot be read, has a key that is not known, or a value that cannot be.
    """
    document = _load(file)
    _require_known(file, "section", document, SECTIONS)
    return {name: _section(file, name, values) for name, values in document.items()}


def _load(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(read_text(file))
    except OSError as error:
        raise ConfigError(
            f"The settings {file} cannot be read: {error.strerror}.", where=str(file)
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        # What cannot be parsed may hold a password: only the place is told.
        place = str(error).rpartition("(")[2].rstrip(")")
        raise ConfigError(
            f"The settings {file} are not TOML ({place}).",
            where=str(file),
            remedy="Write sections in brackets, and below each lines like `workers = 2`.",
        ) from None


def _section(file: Path, name: str, told: Any) -> Any:
    kind = SECTIONS[name]
    if not isinstance(told, dict):
        raise ConfigError(
            f"In the settings {file}, {name} is not a section.",
            where=name,
            remedy=f"Write [{name}] on a line of its own, and its settings below.",
        )
    _require_known(file, f"setting of [{name}]", told, [field.name for field in fields(kind)])
    types = get_type_hints(kind)
    values = {key: _value(file, f"{name}.{key}", types[key], told[key]) for key in told}
    try:
        return kind(**values)
    except OptionError as error:
        raise ConfigError(
            f"In the settings {file}: {error.message}",
            where=f"{name}.{error.where}",
            remedy=error.remedy,
        ) from error


def _value(file: Path, where: str, kind: Any, value: Any) -> Any:
    """Return a value of the type that its setting has."""
    (kind,) = [one for one in _alternatives(kind) if one is not type(None)]
    if kind is float and type(value) is int:
        return float(value)
    if kind is Path and isinstance(value, str):
        return file.parent / value
    # Exactly so: True is an int elsewhere.
    if type(value) is not kind:
        raise ConfigError(
            f"In the settings {file}, {where} is not {_KINDS[kind]}.",
            where=where,
            remedy=f"Give {_KINDS[kind]}.",
        )
    return value


def _alternatives(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if isinstance(kind, UnionType) else (kind,)


def _require_known(file: Path, what: str, names: Iterable[str], known: Iterable[str]) -> None:
    for name in names:
        if name not in known:
            near = alike(name, known)
            meant = f" Did you mean {near!r}?" if near else ""
            raise ConfigError(
                f"The settings {file} have {name!r}, which is no {what}.{meant}",
                where=name,
                remedy=f"There are {', '.join(known)}.",
            )
