"""Opens the database that the settings name."""

from __future__ import annotations

from miner_service.settings import Settings
from miner_service.store.database import Database
from miner_service.store.databases.sqlite import SqliteStore

FILE = "miner.sqlite"
"""The name of the embedded database in the data directory."""


def open_database(settings: Settings, *, upgrade: bool = True) -> Database:
    """Open the database that the settings name, making its tables if they are not there.

    Raises:
        StoreCorrupt: what is there is not a miner's, or of a version that cannot be read.
        Conflict: it is of an earlier version, and may not be upgraded.
        NotReady, StorageFull: the database is away, or has no room.
        NotInstalled: what is needed for it is not installed.
    """
    if settings.storage.database is None:
        return SqliteStore(settings.data_dir / FILE, upgrade=upgrade)
    from miner_service.store.databases.postgres import PostgresStore

    return PostgresStore(settings.storage.database, upgrade=upgrade)
