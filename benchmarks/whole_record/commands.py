"""What is simulated for docs/whole-record.md, and the commands run as a person would.

Also here:

* Runs a setting's command as a person would, and keeps what it answers.
* Every learner on pgmpy's example networks under every bound.
* Runs a setting's command as a person would, and says how it ended and what it took.
* The table of docs/whole-record.md: how each command ended and what it took.
"""

from __future__ import annotations

import gzip
import importlib.resources
import json
import multiprocessing
import re
import resource
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from typer.testing import CliRunner

from benchmarks.reproduce.engine import Setting
from benchmarks.reproduce.frapp.data import census
from pramana.cli import app

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

NETWORKS_SEED = 1


@dataclass(frozen=True)
class NetworkCommand:
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
            *("--records", str(records), "--runs", "1", "--seed", str(NETWORKS_SEED)),
            *WAYS[self.way],
            *aimed,
            *LEARNERS[self.learner],
        ]


def settings() -> Iterator[NetworkCommand]:
    """Yield all settings, small networks first."""
    for source in NETWORKS:
        for learner in LEARNERS:
            for way in WAYS:
                yield NetworkCommand(source, learner, way)


# Runs a setting's command as a person would, and says how it ended and what it took.

Outcome = dict[str, Any]

_VARIABLE = re.compile(r"^variable\s+(\S+)", re.MULTILINE)


def network_file(name: str, folder: Path) -> Path:
    """Return one of pgmpy's example networks as a BIF file, made in `folder` where it is made."""
    path = folder / f"{name}.bif"
    if not path.exists():
        packed = importlib.resources.files("pgmpy") / f"utils/example_models/{name}.bif.gz"
        path.write_bytes(gzip.decompress(packed.read_bytes()))
    return path


def arguments_of(setting: NetworkCommand, folder: Path, records: int) -> list[str]:
    """Return a setting's arguments; what classifiers predict is the first variable of the file."""
    path = network_file(setting.source, folder)
    found = _VARIABLE.search(path.read_text(encoding="utf-8"))
    assert found is not None  # noqa: S101 - every network has variables
    return setting.arguments(path, found.group(1), records)


def outcome_of(setting: NetworkCommand, folder: Path, records: int, seconds: float) -> Outcome:
    """Run a setting; return what was designed, the seconds of the processor, and what went wrong.

    The command runs in a process of its own, forked from this one: the program has been started.

    Args:
        setting: what is run.
        folder: where the network's file is made.
        records: how many each command draws.
        seconds: after so many it is ended.
    """
    arguments = ["simulate", *arguments_of(setting, folder, records), "--json"]
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    before = _spent()
    process = context.Process(target=_answer, args=(arguments, sender))
    process.start()
    sender.close()  # so that the end of the process is that of the pipe, too
    answered = receiver.poll(seconds)
    ended = _received(receiver) if answered else {"ended": "unfinished"}
    if not answered:
        process.kill()
    process.join()
    return {"records": records, "seconds": round(_spent() - before, 1), **ended}


def _received(receiver: Connection) -> Outcome:
    """Return what a process sent, or that it died before it did, as for want of memory."""
    try:
        found: Outcome = receiver.recv()
    except EOFError:
        return {"ended": "died"}
    return found


def _answer(arguments: list[str], sender: Connection) -> None:
    """Run a command and send how it ended."""
    made = CliRunner().invoke(app, arguments)
    if made.exit_code:
        said = made.stderr.strip().splitlines()[-3:] or [repr(made.exception)]
        sender.send({"ended": "refused", "said": said})
        return
    answer = json.loads(made.stdout)
    learned = {"ended": "learned", "design": answer["setting"]["design"], **_figure(answer)}
    sender.send(learned)


def _figure(answer: dict[str, Any]) -> Outcome:
    """Return the learner's main figure, from the reports and from the clean records."""
    if answer["learner"] == "bayes-net":
        return {"kl": [answer["mean"]["kl"], answer["clean"]["mean"]["kl"]]}
    if answer["learner"] == "rules":
        rows = answer["by_length"]
        return {"missed_pct": [row["false_negative_pct"] for row in rows]}
    return {"accuracy": [answer[kind]["mean"] for kind in ("accuracy", "clean_accuracy")]}


def _spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


# The table of docs/whole-record.md: how each command ended and what it took.

NETWORKS_RESULTS = Path(__file__).parent / "networks.json"


def read() -> dict[str, Any]:
    """Return the outcomes by the names of their settings."""
    found: dict[str, Any] = json.loads(NETWORKS_RESULTS.read_text(encoding="utf-8"))
    return found


def section(found: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the section of the page."""
    return f"{_told(found)}\n\n" + "\n".join(_rows(found)) + "\n"


def _told(found: Mapping[str, Mapping[str, Any]]) -> str:
    every = list(settings())
    learned = sum(outcome["ended"] == "learned" for outcome in found.values())
    sizes = sorted({outcome["records"] for outcome in found.values()})
    most = max((o["seconds"] for o in found.values() if o["ended"] == "learned"), default=0.0)
    missing = [n for n in NETWORKS if not any(one.startswith(f"{n},") for one in found)]
    left = f"\nNot measured: {', '.join(missing)}." if missing else ""
    return (
        "Each command draws records from one of pgmpy's example networks, has a plan designed for\n"
        "gamma (or replaces each category with probability p), randomizes and learns, once; what\n"
        "classifiers predict is the first variable of the file. A cell is the processor's seconds\n"
        "on one core, the program having started, and what was learned: the Kullback-Leibler\n"
        "distance in nats from the network, the percentage of frequent itemsets of 1, 2 and 3\n"
        "items missed, or the percentage of the class that is right; in brackets that from the\n"
        "clean records.\n"
        f"Of {len(every)} commands {len(found)} were run, with"
        f" {' or '.join(f'{size:,}' for size in sizes)} records; {learned} of them learned,\n"
        f"in at most {most:.0f} s. `make networks` runs them all.{left}"
    )


def _rows(found: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    yield f"| network, nodes | learner | {' | '.join(WAYS)} |"
    yield "| --- | --- |" + " --- |" * len(WAYS)
    for network, nodes in NETWORKS.items():
        for learner in LEARNERS:
            cells = [found.get(NetworkCommand(network, learner, way).name) for way in WAYS]
            if any(cells):
                yield f"| {network}, {nodes} | {learner} | {' | '.join(map(_cell, cells))} |"


def _cell(outcome: Mapping[str, Any] | None) -> str:
    if outcome is None:
        return "-"
    if outcome["ended"] != "learned":
        return f"{outcome['ended']}, {outcome['seconds']:.0f} s"
    return f"{outcome['seconds']:.1f} s, {_shown_figure(outcome)}"


def _shown_figure(outcome: Mapping[str, Any]) -> str:
    if "kl" in outcome:
        noisy, clean = ("-" if kl is None else f"{kl:.3g}" for kl in outcome["kl"])
        return f"{noisy} ({clean})"
    if "missed_pct" in outcome:
        return " ".join("-" if one is None else f"{one:.0f}" for one in outcome["missed_pct"])
    noisy, clean = (f"{100 * share:.1f}" for share in outcome["accuracy"])
    return f"{noisy} ({clean})"


RESULTS = Path(__file__).parent / "results.json"
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
    figures = {"name": setting.name, "command": " ".join(["pramana simulate", *arguments])}
    figures["command"] = (
        figures["command"].replace(str(data), "DATA").replace(str(scratch), "SCRATCH")
    )
    if made.returncode:
        return figures | {"refused": made.stderr.strip().splitlines()[-4:]}
    answer = json.loads(made.stdout)
    kept = {"design": answer["setting"]["design"], "estimator": answer["setting"].get("estimator")}
    return figures | kept | _figures(setting, answer)


def _figures(setting: SimulationCommand, answer: Found) -> Found:
    if setting.learner == "rules":
        return {"by_length": answer["by_length"]}
    if setting.learner == "bayes-net":
        means = {"links": answer["true_links"], "randomized": answer["mean"]}
        return means | {"clean": answer["clean"]["mean"]}
    return {key: answer[key] for key in ("accuracy", "clean_accuracy", "majority")}
