"""What is simulated for docs/whole-record.md, and the commands run as a person would.

Also here:

* Runs a setting's command as a person would, and keeps what it answers.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.networks.commands import network_file
from benchmarks.reproduce.engine import Setting
from benchmarks.reproduce.frapp.data import census

GAMMAS = (5, 19, 100)
RUNS = {5: 3, 19: 5, 100: 3}
"""How often each setting is run, by its gamma."""

SEED = 1


@dataclass(frozen=True)
class SimulationCommand:
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
    SimulationCommand(table, learner, label, gamma, ("--target", target, *options))
    for learner, label, gammas, options in _CLASSIFIERS
    for table, target in TARGETS.items()
    for gamma in gammas
)

SPREAD = tuple(
    SimulationCommand(table, "classifier", "naive Bayes over three owners", 19, (
        "--target", target, "--model", "naive-bayes", "--owners", "3",
    ))
    for table, target in TARGETS.items()
)  # fmt: skip

MINING = tuple(
    SimulationCommand(source, "rules", label, 19, options)
    for source, label, options in (
        ("adult", "itemsets at 10 %", ("--intervals", "8", "--min-support", "0.1")),
        ("mushroom", "itemsets at 20 %", ("--min-support", "0.2", "--max-length", "4")),
        ("census", "itemsets at 2 %", ("--min-support", "0.02")),
    )
)

LINKING = tuple(
    SimulationCommand(network, "bayes-net", f"structure of {records:,} records", gamma, (
        "--records", str(records),
    ))
    for network, records, gammas in (
        ("child", 50_000, GAMMAS), ("child", 500_000, (19,)), ("asia", 500_000, (19,)),
    )
    for gamma in gammas
)  # fmt: skip

ALL = (*SPREAD, *MINING, *LINKING, *CLASSIFYING)


# Runs a setting's command as a person would, and keeps what it answers.

Found = dict[str, Any]


def source_of(setting: SimulationCommand, data: Path, scratch: Path) -> Path:
    """Return the file of a setting's table or network, made in `scratch` where it is made."""
    if setting.source in FILES:
        return data / FILES[setting.source]
    if setting.source == "census":
        path = scratch / "census.csv"
        if not path.exists():
            survey = census(Setting(data=data))
            labels = {v.name: np.array(v.categories)[survey.codes[v.name]] for v in survey.domain}
            pd.DataFrame(labels).to_csv(path, index=False)
        return path
    return network_file(setting.source, scratch)


def figures_of(setting: SimulationCommand, data: Path, scratch: Path, runs: int) -> Found:
    """Run a setting; return its figures, or what was said where it was refused."""
    arguments = setting.arguments(source_of(setting, data, scratch), runs)
    command = [sys.executable, "-m", "pramana", "simulate", *arguments, "--json"]
    made = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    told = {"name": setting.name, "command": " ".join(["pramana simulate", *arguments])}
    told["command"] = told["command"].replace(str(data), "DATA").replace(str(scratch), "SCRATCH")
    if made.returncode:
        return told | {"refused": made.stderr.strip().splitlines()[-4:]}
    answer = json.loads(made.stdout)
    kept = {"design": answer["setting"]["design"], "estimator": answer["setting"].get("estimator")}
    return told | kept | _figures(setting, answer)


def _figures(setting: SimulationCommand, answer: Found) -> Found:
    if setting.learner == "rules":
        return {"by_length": answer["by_length"]}
    if setting.learner == "bayes-net":
        means = {"links": answer["true_links"], "randomized": answer["mean"]}
        return means | {"clean": answer["clean"]["mean"]}
    return {key: answer[key] for key in ("accuracy", "clean_accuracy", "majority")}
