"""How long a person waits for a command's help, beside the start of Python with numpy.

`python -m benchmarks.startup` measures these alone.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time

from benchmarks.measuring import Measured, compare, record

NUMPY = ("-c", "import numpy")
STARTED = {
    "owner-agent --help": ("-m", "owner_agent", "--help"),
    "miner-service --help": ("-m", "miner_service", "--help"),
    "pramana --help": ("-m", "pramana", "--help"),
    "python -c 'import pramana'": ("-c", "import pramana"),
}


def starting() -> list[Measured]:
    """Start each command and Python with numpy in turn: seconds that pass, and of processors."""
    return [
        compare(
            f"{name}, {seconds}",
            lambda words=words: _run(words),
            "python -c 'import numpy'",
            lambda: _run(NUMPY),
            clock=clock,
        )
        for seconds, clock in (("elapsed", time.perf_counter), ("processor time", _of_children))
        for name, words in STARTED.items()
    ]


def _run(words: tuple[str, ...]) -> None:
    subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL)  # noqa: S603


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    record(starting())
