"""What is run: networks, learners, and how records are randomized."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

NETWORKS = {
    "cancer": 5,
    "earthquake": 5,
    "survey": 6,
    "asia": 8,
    "sachs": 11,
    "child": 20,
    "insurance": 27,
    "water": 32,
    "mildew": 35,
    "alarm": 37,
    "barley": 48,
    "hailfinder": 56,
    "hepar2": 70,
    "win95pts": 76,
}
"""pgmpy's example networks of up to 80 nodes, with their nodes."""

LEARNERS = {
    "bayes-net": (),
    "rules": ("--max-length", "3"),
    "tree": (),
    "linear": (),
    "classifier": (),
}
"""The commands of `pramana simulate` that learn from reports, with their options."""

WAYS = {
    "gamma 5": ("--design", "auto", "--gamma", "5"),
    "gamma 19": ("--design", "auto", "--gamma", "19"),
    "gamma 100": ("--design", "auto", "--gamma", "100"),
    "p = 0.1": ("--p", "0.1"),
}
"""How records are randomized."""

RECORDS = 10_000
"""What each command draws from the network, unless told otherwise."""

SECONDS = 600.0
"""So long a command may take, unless told otherwise."""

SEED = 1


@dataclass(frozen=True)
class Setting:
    """One command: what it learns from which network's records, and how these are randomized."""

    source: str
    learner: str
    way: str

    @property
    def name(self) -> str:
        """What its outcome is kept under."""
        return f"{self.source}, {self.learner}, {self.way}"

    def arguments(self, path: Path, target: str, records: int) -> list[str]:
        """Return the arguments after `pramana simulate`; `target` is what classifiers predict."""
        aimed = ("--target", target) if self.learner in ("tree", "linear", "classifier") else ()
        return [
            self.learner,
            *("--bif", str(path)),
            *("--records", str(records), "--runs", "1", "--seed", str(SEED)),
            *WAYS[self.way],
            *aimed,
            *LEARNERS[self.learner],
        ]


def settings() -> Iterator[Setting]:
    """Yield all settings, small networks first."""
    for source in NETWORKS:
        for learner in LEARNERS:
            for way in WAYS:
                yield Setting(source, learner, way)
