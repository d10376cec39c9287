"""Where a miner keeps its rows and its files."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from miner_service.settings.limits import MEBIBYTE
from miner_service.settings.positive import require_positive


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
