"""How long a person waits for a command's help and for `import pramana`, beside other starts.

`python -m benchmarks.startup` measures these alone.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Mapping

from benchmarks.measuring import Measured, compare, record

NUMPY = ("-c", "import numpy")
STARTED = {
    "owner-agent --help": ("-m", "owner_agent", "--help"),
    "miner-service --help": ("-m", "miner_service", "--help"),
    "pramana --help": ("-m", "pramana", "--help"),
    "python -c 'import pramana'": ("-c", "import pramana"),
}
SKLEARN = ("-c", "from sklearn.tree import DecisionTreeClassifier")
FIRST_USE = {
    "the first use of pm.DecisionTree": ("-c", "import pramana as pm; pm.DecisionTree"),
}


def starting() -> list[Measured]:
    """Start commands beside Python with numpy: seconds that pass, and of processors."""
    commands = _beside(STARTED, "python -c 'import numpy'", NUMPY)
    return commands + _beside(FIRST_USE, "importing scikit-learn's tree", SKLEARN)


def _beside(
    started: Mapping[str, tuple[str, ...]], other: str, theirs: tuple[str, ...]
) -> list[Measured]:
    """Start each of several programs and another one in turn."""
    return [
        compare(
            f"{name}, {seconds}",
            lambda words=words: _run(words),
            other,
            lambda: _run(theirs),
            clock=clock,
        )
        for seconds, clock in (("elapsed", time.perf_counter), ("processor time", _of_children))
        for name, words in started.items()
    ]


def _run(words: tuple[str, ...]) -> None:
    subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL)  # noqa: S603


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    record(starting())
