"""What is simulated: tables and networks, learners, and bounds on the whole record."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

GAMMAS = (5, 19, 100)
RUNS = {5: 3, 19: 5, 100: 3}
"""How often each setting is run, by its gamma."""

SEED = 1


@dataclass(frozen=True)
class Setting:
    """One command: what it learns of which source, under which bound on the record.

    `options` are those of `pramana simulate LEARNER` besides source, design, runs and seed.
    """

    source: str
    learner: str
    label: str
    gamma: int
    options: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What the figures are kept under."""
        return f"{self.source}, {self.label}, gamma {self.gamma}"

    def arguments(self, path: Path, runs: int) -> list[str]:
        """Return the command's arguments after `pramana simulate`."""
        given = "--bif" if path.suffix == ".bif" else "--table"
        return [
            self.learner,
            *(given, str(path)),
            *("--design", "auto", "--gamma", str(self.gamma)),
            *("--runs", str(runs), "--seed", str(SEED)),
            *self.options,
        ]


TARGETS = {
    "nursery": "class",
    "car": "class",
    "mushroom": "class",
    "adult": "income",
    "breast-cancer-wisconsin": "class",
}
"""The tables whose class is predicted, with the class."""

FILES = {
    "nursery": "nursery.csv.gz",
    "car": "car.csv",
    "mushroom": "mushroom.csv",
    "adult": "adult-train.csv.gz",
    "breast-cancer-wisconsin": "breast-cancer-wisconsin.csv",
}
"""Their files in the folder of public data."""

_CLASSIFIERS = (
    ("classifier", "naive Bayes", GAMMAS, ("--model", "naive-bayes")),
    ("tree", "tree", GAMMAS, ()),
    ("classifier", "auto", (19,), ("--model", "auto")),
    ("linear", "linear", (19,), ()),
)

CLASSIFYING = tuple(
    Setting(table, learner, label, gamma, ("--target", target, *options))
    for learner, label, gammas, options in _CLASSIFIERS
    for table, target in TARGETS.items()
    for gamma in gammas
)

SPREAD = tuple(
    Setting(table, "classifier", "naive Bayes over three owners", 19, (
        "--target", target, "--model", "naive-bayes", "--owners", "3",
    ))
    for table, target in TARGETS.items()
)  # fmt: skip

MINING = tuple(
    Setting(source, "rules", label, 19, options)
    for source, label, options in (
        ("adult", "itemsets at 10 %", ("--intervals", "8", "--min-support", "0.1")),
        ("mushroom", "itemsets at 20 %", ("--min-support", "0.2", "--max-length", "4")),
        ("census", "itemsets at 2 %", ("--min-support", "0.02")),
    )
)

LINKING = tuple(
    Setting(network, "bayes-net", f"structure of {records:,} records", gamma, (
        "--records", str(records),
    ))
    for network, records, gammas in (
        ("child", 50_000, GAMMAS), ("child", 500_000, (19,)), ("asia", 500_000, (19,)),
    )
    for gamma in gammas
)  # fmt: skip

ALL = (*SPREAD, *MINING, *LINKING, *CLASSIFYING)
