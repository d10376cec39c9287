"""Where a miner keeps its rows and its files."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class StorageSettings:
    """Where a miner keeps its rows and its files; None stands for the data directory.

    `database`: the address of a PostgreSQL database; it may hold a password and is never shown.
    `files`: the address of an object store, such as `s3://bucket/prefix`.
    """

    database: str | None = field(default=None, repr=False)
    files: str | None = field(default=None, repr=False)
