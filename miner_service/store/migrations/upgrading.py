"""Runs the migrations on a connection, inside the transaction that it is in."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection

from pramana_core.errors import NotInstalled

SCRIPTS = Path(__file__).parent
"""Where Alembic finds `env.py` and the versions."""


def upgrade_tables(connection: Connection, since: str) -> None:
    """Make tables of the revision `since` those of this version.

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
    config.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.stamp(config, since)
    command.upgrade(config, "head")
