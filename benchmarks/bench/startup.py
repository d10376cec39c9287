"""How long a person waits for a command's help and for `import pramana`, beside other starts."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from functools import partial

from benchmarks.bench.measuring import Bench, Comparison, Spent

STARTED = {
    "owner-agent --help": ("-m", "owner_agent", "--help"),
    "miner-service --help": ("-m", "miner_service", "--help"),
    "pramana --help": ("-m", "pramana", "--help"),
    "python -c 'import pramana'": ("-c", "import pramana"),
}
FIRST_USE = {
    "the first use of pm.DecisionTree": ("-c", "import pramana as pm; pm.DecisionTree"),
}


def commands(bench: Bench) -> list[Comparison]:  # noqa: ARG001
    """Start each command, beside Python with numpy."""
    return _beside(STARTED, "python -c 'import numpy'", ("-c", "import numpy"))


def first_use(bench: Bench) -> list[Comparison]:  # noqa: ARG001
    """Use a name for the first time, beside what scikit-learn loads for the same."""
    theirs = ("-c", "from sklearn.tree import DecisionTreeClassifier")
    return _beside(FIRST_USE, "importing scikit-learn's tree", theirs)


def _beside(
    started: Mapping[str, Sequence[str]], other: str, theirs: Sequence[str]
) -> list[Comparison]:
    return [
        Comparison(name, other, partial(_run, words), partial(_run, theirs), rounds=9)
        for name, words in started.items()
    ]


def _run(words: Sequence[str]) -> Spent:
    began, used = time.perf_counter(), _of_children()
    subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL)  # noqa: S603
    return Spent(time.perf_counter() - began, _of_children() - used)


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


GROUPS = (commands, first_use)
