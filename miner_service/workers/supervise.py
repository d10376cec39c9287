"""The process of a supervisor, as a service starts it or `miner-service worker` is it."""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import closing

from miner_service.settings import Settings
from miner_service.store.databases.opening import open_database
from miner_service.workers.lines import settings_from
from miner_service.workers.names import named
from miner_service.workers.supervisor import Supervisor
from miner_service.workers.worker import COMMAND


def supervise(
    settings: Settings, *, parent: int | None = None, command: Sequence[str] = COMMAND
) -> None:
    """Run jobs until SIGTERM or SIGINT, or until `parent`, the end of a pipe, is closed.

    Raises:
        Conflict: the database is of an earlier version, or there are too many supervisors.
        NotReady: it is away.
    """
    settings.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (
        named(settings.data_dir) as name,
        closing(open_database(settings, upgrade=False)) as database,
    ):
        supervisor = Supervisor(settings, database, name, parent=parent, command=command)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: supervisor.ask_to_stop())
        supervisor.run()


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
