"""Commands: a learner, one of pgmpy's example networks and how its records are randomized.

Each is run as a person would, and the page says how it ended and what it took.

Also here:

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
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

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

SEED = 1


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
            *("--records", str(records), "--runs", "1", "--seed", str(SEED)),
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

RESULTS = Path(__file__).parent / "results.json"


def read() -> dict[str, Any]:
    """Return the outcomes by the names of their settings."""
    found: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))
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
