"""The address of an object store: `s3://bucket/prefix?region=...`, and how it is reached.

It holds no credentials: these come from where AWS's own tools take them (`AWS_ACCESS_KEY_ID` and
the like, `~/.aws/credentials`, the machine's role).
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

from pramana_core.errors import OptionError

if TYPE_CHECKING:
    from pyarrow.fs import S3FileSystem


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
