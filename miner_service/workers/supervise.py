"""The process of a supervisor, as a service starts it or `miner-service worker` is it."""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import closing

from miner_service.settings import Settings
from miner_service.store.database import Database
from miner_service.store.databases.identity import require_one_store
from miner_service.store.databases.opening import open_database
from miner_service.store.files.opening import open_segments
from miner_service.workers.lines import settings_from
from miner_service.workers.names import named
from miner_service.workers.supervisor import Supervisor
from miner_service.workers.worker import COMMAND
from pramana_core.errors import NotReady


def supervise(
    settings: Settings, *, parent: int | None = None, command: Sequence[str] = COMMAND
) -> None:
    """Run jobs until SIGTERM or SIGINT, or until `parent`, the end of a pipe, is closed.

    One without a `parent` looks whether its files are those of its database, as the service did.

    Raises:
        Conflict: the database is of an earlier version, or there are too many supervisors.
        NotReady: it is away, or no service has begun a store there.
        StoreMismatch: its place of files is another store's.
    """
    settings.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (
        named(settings.data_dir) as name,
        closing(open_database(settings, upgrade=False)) as database,
    ):
        if parent is None:
            _require_begun(settings, database)
        supervisor = Supervisor(settings, database, name, parent=parent, command=command)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: supervisor.ask_to_stop())
        supervisor.run()


def _require_begun(settings: Settings, database: Database) -> None:
    if not require_one_store(database, open_segments(settings)):
        raise NotReady(
            f"No service has started on the database {database.place} yet.",
            where="database",
            remedy="Start `miner-service serve` on it first; workers join it.",
        )


def main(command: Sequence[str] = COMMAND) -> None:
    """Be the supervisor of a service, which tells the settings on standard input."""
    logging.basicConfig(level=logging.WARNING, format="%(name)s: %(message)s")
    # Not buffered: what follows the settings is looked at without waiting.
    line = b""
    while not line.endswith(b"\n"):
        if not (read := os.read(0, 1)):
            sys.exit(0)
        line += read
    supervise(settings_from(line), parent=0, command=command)


if __name__ == "__main__":
    main()
