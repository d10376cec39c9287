"""Parts and columns in an object store: one object for each, written whole.

A store shows an object when all of it has arrived, and never before. Columns are fetched into a
local directory to be mapped.

Also here:

* The address of an object store: `s3://bucket/prefix?region=...`, and how it is reached.
* Columns that were fetched from elsewhere, in a directory of bounded size.
* The place that the settings name, opened.
"""

from __future__ import annotations

import os
import secrets
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

from miner_service.settings import Settings
from miner_service.store.local import LocalSegments, Scratch
from miner_service.store.segments import (
    IDENTITY,
    Segments,
    States,
    damaged_columns,
    drop,
    file_sha256,
    part_name,
    require_part,
    settle,
    storing,
    unneeded,
)
from pramana_core.errors import NotReady, OptionError, StorageFull

if TYPE_CHECKING:
    from pyarrow.fs import FileInfo, S3FileSystem

# The address of an object store: `s3://bucket/prefix?region=...`, and how it is reached.
#
# It holds no credentials: these come from where AWS's own tools take them (`AWS_ACCESS_KEY_ID` and
# the like, `~/.aws/credentials`, the machine's role).

_OPTIONS = ("endpoint_override", "region", "scheme", "tls_ca_file_path")
_EXAMPLE = "s3://bucket/prefix?endpoint_override=storage.hospital.example:9000&region=eu-central-1"

CONNECT_SECONDS = 1.0
ATTEMPTS = 2


@dataclass(frozen=True)
class ObjectAddress:
    """A place in an object store that speaks S3.

    Args:
        place: the bucket, and what the names of all objects begin with.
        options: what pyarrow's filesystem is told besides.
    """

    place: str
    options: tuple[tuple[str, str], ...] = ()

    def connect(self, attempts: int = ATTEMPTS) -> S3FileSystem:
        """Return the filesystem; nothing is asked of it yet.

        A store that is away is given up after a few seconds; whoever asked may ask again.
        """
        from pyarrow.fs import AwsStandardS3RetryStrategy, S3FileSystem

        return S3FileSystem(
            **dict(self.options),
            connect_timeout=CONNECT_SECONDS,
            allow_delayed_open=True,  # a small object is one request
            retry_strategy=AwsStandardS3RetryStrategy(max_attempts=attempts),
        )


def read_address(text: str) -> ObjectAddress:
    """Read the address of an object store. Raises OptionError, which shows none of it."""
    parts = urlsplit(text)
    options = parse_qsl(parts.query, keep_blank_values=True)
    unknown = sorted({name for name, _ in options} - set(_OPTIONS))
    wrong = None
    if parts.scheme != "s3" or not parts.netloc:
        wrong = "is not of the form s3://bucket/prefix"
    elif "@" in parts.netloc or ":" in parts.netloc:
        wrong = "names a port or credentials before the bucket"
    elif unknown:
        wrong = f"has options that are not known, {len(unknown)} of them"
    if wrong:
        raise OptionError(
            f"The address of the files {wrong}.",
            where="files",
            remedy=f"Write it like {_EXAMPLE}; known options are {', '.join(_OPTIONS)}."
            " Credentials come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or from the files"
            " and roles that AWS's tools use.",
        )
    place = f"{parts.netloc}/{parts.path.strip('/')}".rstrip("/")
    return ObjectAddress(place, tuple(options))


# Columns that were fetched from elsewhere, in a directory of bounded size.

FRESH_SECONDS = 60.0
"""A file asked for so short a time ago is not removed: somebody is about to map it."""


@dataclass(frozen=True)
class Cache:
    """A directory of files by release; what was not asked for the longest makes room."""

    folder: Path
    most_bytes: int

    def path(self, release: str) -> Path:
        """Return where a release's columns are, if they are there."""
        return self.folder / f"{release}.arrow"

    def found(self, release: str) -> bool:
        """Whether a release's columns are there; they count as asked for now."""
        try:
            os.utime(self.path(release))
        except FileNotFoundError:
            return False
        return True

    def drop(self, release: str) -> None:
        """Remove a release's columns."""
        self.path(release).unlink(missing_ok=True)

    def names(self) -> list[str]:
        """Return the releases whose columns are there."""
        return [path.stem for path in self.folder.iterdir()]

    def make_room(self, wanted: int) -> None:
        """Remove what was not asked for the longest until `wanted` bytes more are in the bound."""
        there = []
        for path in self.folder.iterdir():
            with suppress(FileNotFoundError):
                info = path.stat()
                there.append((info.st_mtime, info.st_size, path))
        too_much = sum(size for _, size, _ in there) + wanted - self.most_bytes
        for used, size, path in sorted(there):
            if too_much <= 0 or time.time() - used < FRESH_SECONDS:
                return
            path.unlink(missing_ok=True)
            too_much -= size


_BLOCK = 8 << 20
_ARRIVING = "arriving"
_ARRIVED = timedelta(days=1)
"""No part takes so long to arrive."""
_NO_ROOM = ("HTTP status 507", "StorageFull", "LimitExceeded", "InsufficientCapacity")
"""What stores say that have no room; S3 itself always has."""


@dataclass(frozen=True)
class ObjectSegments:
    """An object store, and under `root` what is being written and a cache of columns."""

    address: ObjectAddress
    root: Path
    cache_bytes: int
    _scratch: Scratch = field(init=False)
    _cache: Cache = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_scratch", Scratch(self.root / "scratch"))
        object.__setattr__(self, "_cache", Cache(self.root / "cache", self.cache_bytes))

    @cached_property
    def _store(self) -> S3FileSystem:
        return self.address.connect()

    @cached_property
    def _probe(self) -> S3FileSystem:
        """Asks once: a store that takes requests and does not answer them is found out soon."""
        return self.address.connect(attempts=1)

    @property
    def place(self) -> str:
        """Where it is."""
        return f"s3://{self.address.place}"

    def identity(self) -> str | None:
        """Return the identity of the store that the objects are of. Raises NotReady."""
        try:
            return b"".join(self._blocks(self._identity)).decode(errors="replace").strip()
        except _NoSuchObject:
            return None

    def identify(self, identity: str) -> None:
        """Keep the identity of the store. Raises StorageFull, NotReady."""
        scratch = self.scratch_path()
        with storing("The identity of the store", scratch):
            scratch.write_text(f"{identity}\n", encoding="utf-8")
            self._upload(scratch, self._identity, "The identity of the store")
            scratch.unlink()

    def kept(self) -> dict[str, set[str]]:
        """Return of which releases there are parts, and of which columns. Raises NotReady."""
        return {
            "parts": {info.base_name for info in self._list("parts")},
            "columns": {
                Path(info.base_name).stem for info in self._list("columns") if info.is_file
            },
        }

    def prepare(self) -> None:
        """Make the local directories and remove what an interrupted write left behind."""
        with storing("The data directory"):
            for name in ("cache", "scratch"):
                (self.root / name).mkdir(parents=True, exist_ok=True, mode=0o700)
            self._scratch.remove_abandoned()

    def check(self) -> None:
        """Store a small object, and make room for a local file. Raises NotReady."""
        self._scratch.check()
        try:
            with _answering("A sign of readiness"):
                self._probe.get_file_info(f"{self.address.place}/ready")
                with self._store.open_output_stream(f"{self.address.place}/ready") as sink:
                    sink.write(b"ready?")
        except StorageFull as error:
            raise NotReady(
                "The object store is full.",
                where="files",
                remedy="Make room in it; the service goes on by itself.",
            ) from error

    def scratch_path(self) -> Path:
        """Return a fresh name for a local file that is being written."""
        with storing("A file"):
            return self._scratch.path()

    def put_part(self, release: str, number: int, scratch: Path) -> None:
        """Store a file as a part. Raises StorageFull, NotReady."""
        what = f"Part {number}"
        # The same part may come twice at once. What breaks off must not take away what arrived, so
        # it has another name until it is whole.
        arriving = f"{self.address.place}/{_ARRIVING}/{secrets.token_hex(8)}"
        with storing(what, scratch):
            self._upload(scratch, arriving, what)
            with _answering(what):
                try:
                    self._store.copy_file(arriving, self._part(release, number))
                finally:
                    with suppress(OSError):
                        self._store.delete_file(arriving)
            scratch.unlink()

    def read_part(self, release: str, number: int, sha256: str) -> bytes:
        """Return a part's bytes. Raises StoreCorrupt if they are not those acknowledged."""
        body = b""
        with (
            _answering(),
            suppress(FileNotFoundError),
            self._store.open_input_stream(self._part(release, number)) as source,
        ):
            body = source.read()
        return require_part(release, number, body, sha256)

    def drop_part(self, release: str, number: int) -> None:
        """Remove one part."""
        with _answering(), suppress(FileNotFoundError):
            self._store.delete_file(self._part(release, number))

    def drop_parts(self, release: str) -> None:
        """Remove a release's parts."""
        with _answering(), suppress(FileNotFoundError):
            self._store.delete_dir(f"{self.address.place}/parts/{release}")

    def put_data(self, release: str, scratch: Path) -> None:
        """Store a file as the columns of a release. Raises StorageFull, NotReady."""
        what = "The columns of the release"
        with storing(what, scratch):
            self._upload(scratch, self._data(release), what)
            self._cache.make_room(scratch.stat().st_size)
            settle(scratch, self._cache.path(release))

    def data_path(self, release: str) -> Path:
        """Return a local file with the columns of a sealed release, fetched if need be."""
        if not self._cache.found(release):
            self._fetch(release)
        return self._cache.path(release)

    def verify_data(self, release: str, sha256: str) -> None:
        """Check the columns of a sealed release. Raises StoreCorrupt.

        A cached file that is damaged is fetched once more.
        """
        for _ in range(2):
            path = self.data_path(release)
            if path.exists() and file_sha256(path) == sha256:
                return
            self._cache.drop(release)
        raise damaged_columns(release)

    def drop_data(self, release: str) -> None:
        """Remove a release's columns. A job that has them open may finish reading."""
        self._cache.drop(release)
        with _answering(), suppress(FileNotFoundError):
            self._store.delete_file(self._data(release))

    def orphans(self, states: States) -> list[str]:
        """Return which parts and columns no release needs."""
        kept = self.kept()
        kept["columns"] |= set(self._cache.names())
        return unneeded(kept, states())

    def sweep(self, states: States) -> list[str]:
        """Remove what no release needs and what processes that ended left; return the names."""
        found = self.orphans(states)
        drop(self, found)
        return found + self._remove_stranded() + self._scratch.remove_abandoned()

    def _remove_stranded(self) -> list[str]:
        """Remove parts that were arriving when their process ended; return their names."""
        before = datetime.now(UTC) - _ARRIVED
        found = [info for info in self._list(_ARRIVING) if info.is_file and info.mtime < before]
        with _answering():
            for info in found:
                self._store.delete_file(info.path)
        return [f"{_ARRIVING}/{info.base_name}" for info in found]

    def _upload(self, path: Path, key: str, what: str) -> None:
        with _answering(what):
            try:
                with path.open("rb") as source, self._store.open_output_stream(key) as sink:
                    shutil.copyfileobj(source, sink, _BLOCK)
            except BaseException:
                # Closing what was not written to its end has made it an object.
                with suppress(OSError):
                    self._store.delete_file(key)
                raise

    def _fetch(self, release: str) -> None:
        """Bring columns into the cache, if there are any."""
        scratch = self.scratch_path()
        with suppress(_NoSuchObject):
            with storing("A copy of the columns", scratch), scratch.open("xb") as sink:
                for block in self._blocks(self._data(release)):
                    sink.write(block)
            self._cache.make_room(scratch.stat().st_size)
            with storing("A copy of the columns", scratch):
                settle(scratch, self._cache.path(release))

    def _blocks(self, key: str) -> Iterator[bytes]:
        try:
            with _answering(), self._store.open_input_stream(key) as source:
                while block := source.read(_BLOCK):
                    yield block
        except FileNotFoundError as error:
            raise _NoSuchObject from error

    def _list(self, name: str) -> Sequence[FileInfo]:
        from pyarrow.fs import FileSelector

        place = f"{self.address.place}/{name}"
        with _answering():
            found: list[FileInfo] = self._store.get_file_info(
                FileSelector(place, allow_not_found=True)
            )
        return found

    @property
    def _identity(self) -> str:
        return f"{self.address.place}/{IDENTITY}"

    def _part(self, release: str, number: int) -> str:
        return f"{self.address.place}/parts/{release}/{part_name(number)}"

    def _data(self, release: str) -> str:
        return f"{self.address.place}/columns/{release}.arrow"


class _NoSuchObject(Exception):
    """There is no such object; told apart from a local file that is not there."""


@contextmanager
def _answering(what: str = "It") -> Iterator[None]:
    """Translate what the store's client says: no name of an object, no credential is in it."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        if any(said in str(error) for said in _NO_ROOM):
            raise StorageFull(
                f"{what} could not be stored: the object store has no room. Nothing was changed.",
                where="files",
                remedy="Send it again later; whoever runs the service should make room in it.",
            ) from error
        raise NotReady(
            "The object store does not answer as it should; nothing was changed.",
            where="files",
            remedy="Send it again later; whoever runs the service should look at the object store,"
            " its address and the credentials.",
        ) from error


def open_segments(settings: Settings) -> Segments:
    """Return the place of parts and columns; nothing is asked of it yet. Raises OptionError."""
    storage = settings.storage
    if storage.files is None:
        return LocalSegments(settings.data_dir)
    return ObjectSegments(read_address(storage.files), settings.data_dir, storage.cache_bytes)
