"""Opens the database that the settings name."""

from __future__ import annotations

from contextlib import nullcontext

from miner_service.settings import Settings
from miner_service.store.database import Database
from miner_service.store.sqlite import SqliteStore, is_current
from pramana_core.opening import opening_alone

FILE = "miner.sqlite"
"""The name of the embedded database in the data directory."""


def open_database(settings: Settings, *, upgrade: bool = True) -> Database:
    """Open the database that the settings name, making its tables if they are not there.

    Whoever makes it at the same time is waited for, however slow: what another process is making or
    upgrading is there, whole, when this one looks.

    Raises:
        StoreCorrupt: what is there is not a miner's, or of a version that cannot be read.
        Conflict: it is of an earlier version, and may not be upgraded.
        NotReady, StorageFull: the database is away, or has no room.
        OptionError: the database's address or password cannot be read.
        NotInstalled: what is needed for it is not installed.
    """
    if settings.storage.database is None:
        path = settings.data_dir / FILE
        with nullcontext() if is_current(path) else opening_alone(settings.data_dir):
            return SqliteStore(path, upgrade=upgrade)
    from miner_service.store.postgres import PostgresStore, read_password

    address, file = settings.storage.database, settings.storage.database_password_file
    password = None if file is None else read_password(file)
    return PostgresStore(address, password=password, upgrade=upgrade)
