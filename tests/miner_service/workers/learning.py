"""What jobs do in tests of their processes, in place of learning.

The file `now` beside the data directory says what, and where each run leaves a file with the number
of its process.
"""

from __future__ import annotations

import itertools
import json
import os
import time
from pathlib import Path

from miner_service.jobs import process
from pramana_core.errors import NotReady


def loop():
    while True:
        pass


def hold_everything():
    """One call of C that keeps the interpreter's lock."""
    return 3 ** (1 << 34)


def hold_for_parent(file):
    """Do so in a process that says that it is about to."""
    process.end_with_parent()
    Path(file).write_text(str(os.getpid()))
    hold_everything()


def hog():
    import numpy as np

    kept = []
    while True:
        kept.append(np.ones(1 << 20))
        time.sleep(0.001)


def take_all_at_once():
    import numpy as np

    return np.ones(1 << 36)


def die():
    os.abort()


def wait_for_cluster():
    raise NotReady("The scheduler does not answer.")


def lose_store():
    """The store goes away, and is not there when the job is to be given back."""

    def away(*_):
        raise NotReady("The database does not answer.")

    process.give_back = away
    away()


WHAT = {
    f.__name__: f
    for f in (loop, hold_everything, hog, take_all_at_once, die, wait_for_cluster, lose_store)
}


def learn(spec, prepared, services, on_step):
    from miner_service.jobs.runner import learn_model

    now = json.loads((services.settings.data_dir.parent / "now").read_text())
    folder, what = Path(now["folder"]), now["what"]
    for number in itertools.count():
        try:
            with (folder / f"run-{number}").open("x") as file:
                file.write(str(os.getpid()))
            break
        except FileExistsError:
            continue
    on_step(1, 4)
    once = what.removeprefix("once ")
    if once == what or number == 0:
        WHAT[once]()
    return learn_model(spec, prepared, services, on_step)
