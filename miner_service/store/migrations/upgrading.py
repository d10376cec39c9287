"""Runs the migrations on a connection, inside the transaction that it is in."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection

from miner_service.store.migrations import HEAD
from pramana_core.errors import NotInstalled


def upgrade_tables(connection: Connection, since: str, to: str = HEAD) -> None:
    """Make tables of the revision `since` (nothing for none) those of the revision `to`.

    The caller holds the write lock and commits: all of it is done or nothing.

    Raises:
        NotInstalled: Alembic is not there.
    """
    try:
        from alembic import command
        from alembic.config import Config
    except ImportError as error:
        raise NotInstalled(
            "The tables of an earlier version are upgraded by Alembic, which is not installed.",
            where="miner",
            remedy='Install the extra: pip install "pramana[miner]".',
        ) from error
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.attributes["connection"] = connection
    if since:
        command.stamp(config, since)
    command.upgrade(config, to)
