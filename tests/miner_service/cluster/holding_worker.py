"""A worker of a cluster that stands still while it counts, as long as a file says so.

Its words are FOLDER and those of the command `miner-service cluster-worker`; where FOLDER has a
file `hold` the first leaves its number in another one, `begun`.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from pathlib import Path

from miner_service.alignment import cluster
from miner_service.cli.main import main as run


def held(pieces, task, count=cluster.count_pieces):
    folder = Path(os.environ["PRAMANA_TEST_FOLDER"])
    if (folder / "hold").exists():
        with suppress(FileExistsError), (folder / "begun").open("x") as file:
            file.write(str(os.getpid()))
        while (folder / "hold").exists():
            time.sleep(0.01)
    return count(pieces, task)


def main():
    os.environ["PRAMANA_TEST_FOLDER"] = sys.argv.pop(1)
    cluster.count_pieces = held
    run()
