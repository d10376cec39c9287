"""Measurements of learning under one bound for the whole record, with the product's commands.

python -m benchmarks.whole_record [--only words of a name] [--missing] [--data DIR]

Each setting is a command of `pramana simulate`, run as a user would run it. The results are stored
in whole_record.json, from which the tables between the marks in docs/whole-record.md are written.
"""

from __future__ import annotations

import argparse
import gzip
import importlib.resources
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pandas as pd

from benchmarks.reproduce.engine import Setting
from benchmarks.reproduce.frapp import census
from pramana.simulate.commands.cli import CLASSIFIERS
from pramana_core.terminal import console

RESULTS = Path(__file__).with_suffix(".json")
PAGE = Path(__file__).resolve().parents[1] / "docs" / "whole-record.md"
DATA = os.environ.get("PRAMANA_DATA", "../shared/data")
SECONDS = 600.0
"""The time limit of a command on a published network, in seconds."""

GAMMAS = (5, 19, 100)
RUNS = {5: "3", 19: "5", 100: "3"}
SETTINGS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
TABLES, NETWORKS, LEARNERS = (SETTINGS[name] for name in ("tables", "networks", "learners"))
"""Tables with file and class, networks with their nodes, learners with their options."""

WAYS = {f"gamma {gamma}": ("--design", "auto", "--gamma", str(gamma)) for gamma in GAMMAS} | {
    "p = 0.1": ("--p", "0.1")
}
"""The options for randomizing records."""


@dataclass(frozen=True)
class Command:
    """A command of `pramana simulate`: its source, its learner, and the label of its results.

    `way` is a key of `WAYS`; `options` are the options other than source, way, runs and seed.
    """

    source: str
    label: str
    learner: str
    way: str
    options: tuple[str, ...] = ()
    runs: str = "1"

    @property
    def name(self) -> str:
        """The key of the command's results."""
        return f"{self.source}, {self.label}, {self.way}"

    def arguments(self, path: Path) -> list[str]:
        """Return the arguments after `pramana simulate`."""
        given = "--bif" if path.suffix == ".bif" else "--table"
        fixed = (given, str(path), *WAYS[self.way], "--runs", self.runs, "--seed", "1")
        return [self.learner, *fixed, *self.options]


def _commands(part: str) -> list[Command]:
    return [
        Command(source, one["label"], one["learner"], f"gamma {g}", options, RUNS[g])
        for one in SETTINGS[part]
        for source in one.get("sources", TABLES)
        for target in [() if "sources" in one else ("--target", TABLES[source]["target"])]
        for options in [(*target, *one.get("options", ()))]
        for g in one["gammas"]
    ]


SPREAD, MINING, LINKING, CLASSIFYING = map(
    _commands, ("owners", "itemsets", "structures", "classifiers")
)
EVERY = [
    Command(source, learner, learner, way, ("--records", "10000", *options))
    for source in NETWORKS
    for learner, options in LEARNERS.items()
    for way in WAYS
]
"""Every learner on every published network, once; the class is the first variable of the file."""

ALL = (*SPREAD, *MINING, *LINKING, *CLASSIFYING, *EVERY)

Found = dict[str, Any]


def source_of(command: Command, data: Path, scratch: Path) -> Path:
    """Return the file of a command's table or network, created in `scratch` if necessary."""
    if command.source in TABLES:
        return Path(data, TABLES[command.source]["file"])
    if command.source == "census":
        path = scratch / "census.csv"
        if not path.exists():
            survey = census(Setting(data=data))
            labels = {v.name: np.array(v.categories)[survey.codes[v.name]] for v in survey.domain}
            pd.DataFrame(labels).to_csv(path, index=False)
        return path
    path = scratch / f"{command.source}.bif"
    if not path.exists():
        packed = importlib.resources.files("pgmpy") / f"utils/example_models/{path.name}.gz"
        path.write_bytes(gzip.decompress(packed.read_bytes()))
    return path


def arguments_of(command: Command, data: Path, scratch: Path) -> list[str]:
    """Return all arguments after `pramana simulate`; missing files are created in `scratch`."""
    path = source_of(command, data, scratch)
    arguments = command.arguments(path)
    if command.learner in CLASSIFIERS and "--target" not in arguments:
        variables = re.findall(r"^variable\s+(\S+)", path.read_text("utf-8"), re.MULTILINE)
        arguments += ["--target", variables[0]]
    return arguments


def figures_of(command: Command, data: Path, scratch: Path) -> Found:
    """Run a command; return its results and processor seconds, or the way in which it failed."""
    arguments = arguments_of(command, data, scratch)
    shown = " ".join(["pramana simulate", *arguments])
    found: Found = {
        "command": shown.replace(str(data), "DATA").replace(str(scratch), "SCRATCH"),
        "ended": "learned",
    }
    limit = SECONDS if command in EVERY else None
    before = _spent()
    try:
        made = subprocess.run(  # noqa: S603
            [sys.executable, "-m", "pramana", "simulate", *arguments, "--json"],
            capture_output=True, text=True, check=False, timeout=limit,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return found | {"ended": "unfinished", "seconds": SECONDS}
    found["seconds"] = round(_spent() - before, 1)
    if made.returncode:
        message = made.stderr.strip().splitlines()[-4:]
        return found | {"ended": "died" if made.returncode < 0 else "refused", "message": message}
    return found | _figures(json.loads(made.stdout))


def _spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _figures(answer: Found) -> Found:
    kept: Found = {"design": answer["setting"]["design"]}
    if answer["learner"] == "association-rules":
        return kept | {"by_length": answer["by_length"]}
    if answer["learner"] == "bayes-net-structure":
        means = {"randomized": answer["mean"], "clean": answer["clean"]["mean"]}
        return kept | {"links": answer["true_links"]} | means
    return kept | {key: answer[key] for key in ("accuracy", "clean_accuracy", "majority")}


# The tables of docs/whole-record.md.

Results = Mapping[str, Found]


def _percent(value: Mapping[str, float | None]) -> str:
    if value["mean"] is None:
        return "-"
    spread = "" if value["sd"] is None else f" ± {100 * value['sd']:.1f}"
    return f"{100 * value['mean']:.1f}{spread}"


def _classifying(results: Results) -> Iterator[str]:
    yield f"| table | learner | {' | '.join(f'gamma {g}' for g in GAMMAS)} | clean | majority |"
    yield "| --- | --- |" + " ---: |" * (len(GAMMAS) + 2)
    for table, label in dict.fromkeys((s.source, s.label) for s in _by_table(CLASSIFYING)):
        found = [results.get(f"{table}, {label}, gamma {g}", {}) for g in GAMMAS]
        cells = [_percent(one["accuracy"]) if "accuracy" in one else "-" for one in found]
        known = next(one for one in found if "accuracy" in one)
        cells += [_percent(known[key]) for key in ("clean_accuracy", "majority")]
        yield f"| {table} | {label} | {' | '.join(cells)} |"


def _by_table(commands: list[Command]) -> list[Command]:
    return sorted(commands, key=lambda command: list(TABLES).index(command.source))


def _spread(results: Results) -> Iterator[str]:
    yield "| table | naive Bayes, gamma 19 over all owners | clean | majority |"
    yield "| --- | ---: | ---: | ---: |"
    for command in SPREAD:
        found = results[command.name]
        cells = [_percent(found[key]) for key in ("accuracy", "clean_accuracy", "majority")]
        yield f"| {command.source} | {' | '.join(cells)} |"


def _mining(results: Results) -> Iterator[str]:
    yield "| table | gamma | items | frequent | support error | missed | false |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    for command in MINING:
        for row in results[command.name]["by_length"]:
            error = row["support_error_pct"]
            shown = "-" if error is None else f"{error:.1f}"
            wrong = f"{row['false_negative_pct']:.1f} | {row['false_positive_pct']:.1f}"
            counted = f"{row['length']} | {row['frequent']:.0f}"
            yield f"| {command.source}, {command.label} | 19 | {counted} | {shown} | {wrong} |"


def _linking(results: Results) -> Iterator[str]:
    yield "| network | gamma | links | missing | wrong | reversed | KL | clean: missing, wrong |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    for command in LINKING:
        found = results[command.name]
        noisy, clean = found["randomized"], found["clean"]
        what = f"{command.source}, {command.label.removeprefix('structure of ')}"
        kl = "-" if noisy["kl"] is None else f"{noisy['kl']:.3g}"
        errors = " | ".join(f"{noisy[key]:.1f}" for key in ("missing", "extra", "reversed"))
        last = f"{clean['missing']:.1f}, {clean['extra']:.1f}"
        gamma = command.way.removeprefix("gamma ")
        yield f"| {what} | {gamma} | {found['links']} | {errors} | {kl} | {last} |"


def _every(results: Results) -> Iterator[str]:
    yield f"| network, nodes | learner | {' | '.join(WAYS)} |"
    yield "| --- | --- |" + " --- |" * len(WAYS)
    for network, nodes in NETWORKS.items():
        for learner in LEARNERS:
            found = [results.get(f"{network}, {learner}, {way}") for way in WAYS]
            if any(found):
                yield f"| {network}, {nodes} | {learner} | {' | '.join(map(_cell, found))} |"


def _cell(found: Found | None) -> str:
    if found is None:
        return "-"
    if found["ended"] != "learned":
        return f"{found['ended']}, {found['seconds']:.0f} s"
    if "randomized" in found:
        noisy, clean = (found[kind]["kl"] for kind in ("randomized", "clean"))
        figures = "{} ({})".format(*("-" if kl is None else f"{kl:.3g}" for kl in (noisy, clean)))
    elif "by_length" in found:
        missed = [row["false_negative_pct"] for row in found["by_length"]]
        figures = " ".join("-" if one is None else f"{one:.0f}" for one in missed)
    else:
        noisy, clean = (100 * found[key]["mean"] for key in ("accuracy", "clean_accuracy"))
        figures = f"{noisy:.1f} ({clean:.1f})"
    return f"{found['seconds']:.1f} s, {figures}"


PAGE_TABLES: dict[str, Callable[[Results], Iterator[str]]] = {
    "classifiers": _classifying,
    "owners": _spread,
    "itemsets": _mining,
    "structures": _linking,
    "networks": _every,
}


def page(text: str, results: Results) -> str:
    """Return the page's text with new tables between the marks."""
    for name, table in PAGE_TABLES.items():
        begin, end = f"<!-- {name} -->\n", f"\n<!-- end of {name} -->"
        before, rest = text.split(begin)
        text = before + begin + "\n".join(table(results)) + end + rest.split(end)[1]
    return text


def main() -> None:
    """Run the chosen settings, store their results, and write the tables of all settings."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="settings whose name contains these words")
    parser.add_argument("--networks", action="store_true", help="every learner on every network")
    parser.add_argument("--missing", action="store_true", help="only settings without figures")
    parser.add_argument("--data", type=Path, default=Path(DATA), help="the public tables")
    options = parser.parse_args()
    known: dict[str, Found] = json.loads(RESULTS.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        for command in ALL:
            kept = options.missing and command.name in known
            if options.only in command.name and (command in EVERY) == options.networks and not kept:
                known[command.name] = figures_of(command, options.data, Path(folder))
                listed = {one.name: known[one.name] for one in ALL if one.name in known}
                RESULTS.write_text(json.dumps(listed, indent=1, ensure_ascii=False) + "\n", "utf-8")
                console().print_json(json.dumps({command.name: known[command.name]}))
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), known), encoding="utf-8")


if __name__ == "__main__":
    main()
