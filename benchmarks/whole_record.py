"""Measurements of learning under one bound for the whole record, with the product's commands.

python -m benchmarks.whole_record [--only words of a name] [--missing] [--data DIR]

Each setting is a command of `pramana simulate`, run as a user would run it. The results are stored
in whole_record.json, from which the tables and pictures of docs/whole-record.md are made. Trusted
curators run on the same records, diffprivlib in the environment of `make bench`.
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

from benchmarks.bench.measuring import Bench
from benchmarks.reproduce.engine import LOOKS, Axes, Setting, bars
from benchmarks.reproduce.frapp import census
from pramana.simulate.commands.cli import CLASSIFIERS, HOLDOUT
from pramana.simulate.study import Trial, Trials
from pramana.simulate.tables import read_source
from pramana_core.domain import Domain
from pramana_core.pictures import plots
from pramana_core.plan import Plan
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

CENTRAL = (0.25, 0.5, 1, 2)
"""The central epsilons of the pictures."""

PLAIN = {f"gamma {gamma}": ("--design", "auto", "--gamma", str(gamma)) for gamma in GAMMAS} | {
    "p = 0.1": ("--p", "0.1")
}
"""The options for randomizing records drawn from networks."""

WAYS = PLAIN | {f"central {e}": ("--design", "auto", "--central-epsilon", str(e)) for e in CENTRAL}
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
        Command(source, one["label"], one["learner"], way, options, runs)
        for one in SETTINGS[part]
        for source in one.get("sources", TABLES)
        for predicts in [one["learner"] in CLASSIFIERS]
        for target in [("--target", TABLES[source]["target"]) if predicts else ()]
        for options in [(*target, *one.get("options", ()))]
        for way, runs in [(f"gamma {g}", RUNS[g]) for g in one.get("gammas", ())]
        or [(f"central {e}", "5") for e in CENTRAL]
    ]


SPREAD, MINING, LINKING, CLASSIFYING, CURATED = map(
    _commands, ("owners", "itemsets", "structures", "classifiers", "curators")
)
EVERY = [
    Command(source, learner, learner, way, ("--records", "10000", *options))
    for source in NETWORKS
    for learner, options in LEARNERS.items()
    for way in PLAIN
]
"""Every learner on every published network, once; the class is the first variable of the file."""

ALL = (*SPREAD, *MINING, *LINKING, *CLASSIFYING, *CURATED, *EVERY)

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
    if command in CURATED:
        found |= curators(command, data)
    if made.returncode:
        message = made.stderr.strip().splitlines()[-4:]
        return found | {"ended": "died" if made.returncode < 0 else "refused", "message": message}
    return found | _figures(json.loads(made.stdout))


def curators(command: Command, data: Path) -> Found:
    """Return the accuracies of naive Bayes by trusted curators, in the runs of a command.

    The curators have the epsilon of the command. One adds Laplace noise to the tables of the class
    with each attribute, the other is diffprivlib's.
    """
    target, epsilon = TABLES[command.source]["target"], float(command.way.removeprefix("central "))
    source = read_source(source_of(command, data, data), target=target)
    plan, runs = Plan.unrandomized(source.domain), int(command.runs)
    found: dict[str, list[float]] = {"laplace": [], "diffprivlib": []}
    for trial in Trials(source, plan, source.records, runs, seed=1, holdout=HOLDOUT):
        found["laplace"].append(laplace_accuracy(source.domain, trial, target, epsilon))
        with tempfile.TemporaryDirectory() as folder, Bench(Path(folder)) as bench:
            inputs = _inputs(source.domain, trial, target)
            options = {"folder": bench.saved(**inputs), "epsilon": epsilon, "seed": trial.index}
            found["diffprivlib"].append(bench.peer("diffprivlib_bayes", **options)().result)
    return {name: {"mean": np.mean(v), "sd": np.std(v, ddof=1)} for name, v in found.items()}


def laplace_accuracy(domain: Domain, trial: Trial, target: str, epsilon: float) -> float:
    """Return the accuracy on the test records of naive Bayes by a curator with Laplace noise."""
    rng = np.random.default_rng([1, trial.index])
    names = [name for name in domain.names if name != target]
    # Replacing a record changes two cells of each table by one.
    scale = 2 * len(names) / epsilon
    tables = {name: trial.true.table([target, name]).astype(float) for name in names}
    noisy = {name: np.maximum(t + rng.laplace(0, scale, t.shape), 0) for name, t in tables.items()}
    classes = np.mean([table.sum(axis=1) for table in noisy.values()], axis=0)
    scores = np.log(np.maximum(classes, 1))[:, None] + sum(
        np.log((table + 1) / (table + 1).sum(axis=1, keepdims=True))[:, trial.held_out[name]]
        for name, table in noisy.items()
    )
    return float(np.mean(scores.argmax(axis=0) == trial.held_out[target]))


def _inputs(domain: Domain, trial: Trial, target: str) -> dict[str, Any]:
    others = [v for v in domain if v.name != target]

    def indicators(column: Callable[[str], Any]) -> Any:
        return np.hstack([np.eye(v.size, dtype=np.float32)[column(v.name)] for v in others])

    known, tested = trial.true.column, trial.held_out.__getitem__
    train, test = indicators(known), indicators(tested)
    return {"train": train, "classes": known(target), "test": test, "truth": tested(target)}


def _spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _figures(answer: Found) -> Found:
    kept: Found = {key: answer["setting"][key] for key in ("design", "gamma")}
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


def _curated(results: Results) -> Iterator[str]:
    yield f"| table | central epsilon | gamma | {' | '.join(_CURVES.values())} |"
    yield "| --- | ---: | ---: |" + " ---: |" * len(_CURVES)
    for command in CURATED:
        found = results[command.name]
        cells = [_percent(found[key]) if key in found else "refused" for key in _CURVES]
        gamma = f"{found['gamma']:.0f}" if "gamma" in found else "-"
        epsilon = command.way.removeprefix("central ")
        yield f"| {command.source} | {epsilon} | {gamma} | {' | '.join(cells)} |"


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
    yield f"| network, nodes | learner | {' | '.join(PLAIN)} |"
    yield "| --- | --- |" + " --- |" * len(PLAIN)
    for network, nodes in NETWORKS.items():
        for learner in LEARNERS:
            found = [results.get(f"{network}, {learner}, {way}") for way in PLAIN]
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


def picture(source: str, results: Results) -> str:
    """Return the picture of a table: the accuracy over central epsilon, with trusted curators."""
    found = [results[f"{source}, {CURATED[0].label}, central {e}"] for e in CENTRAL]
    known = next(one for one in found if "accuracy" in one)

    def draw(figure: Any) -> None:
        axis: Axes = figure.subplots()
        for (key, label), look, moved in zip(_CURVES.items(), LOOKS, (0.97, 1, 1.03), strict=False):
            mean, sd = (
                [100 * one[key][what] if key in one else np.nan for one in found]
                for what in ("mean", "sd")
            )
            bars(axis, moved * np.array(CENTRAL), mean, sd, look, label)
        for key, label, dash in _LINES:
            axis.axhline(100 * known[key]["mean"], color=plots.GREY, linestyle=dash, label=label)
        for e, one in zip(CENTRAL, found, strict=True):
            if "accuracy" not in one:
                middle = axis.get_xaxis_transform()
                axis.text(e, 0.65, " Pramana: refused,\n too few records", transform=middle)
        axis.set_xscale("log", base=2)
        axis.set_xticks(CENTRAL, [f"{e:g}" for e in CENTRAL])
        axis.set_xlabel("central epsilon")
        axis.set_ylabel("accuracy, %")
        axis.set_title(f"{source}: naive Bayes")
        handles, _ = axis.get_legend_handles_labels()
        figure.legend(handles=handles[2:] + handles[:2], loc="outside right center")

    title = f"Accuracy of naive Bayes over central epsilon, {source}"
    return plots.svg(draw, (8.0, 3.4), source, title)


_CURVES = {
    "accuracy": "Pramana, no curator",
    "laplace": "curator, Laplace noise",
    "diffprivlib": "curator, diffprivlib",
}
_LINES = ("clean_accuracy", "without noise", "--"), ("majority", "most frequent class", ":")


PAGE_TABLES: dict[str, Callable[[Results], Iterator[str]]] = {
    "classifiers": _classifying,
    "curators": _curated,
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
    for source in dict.fromkeys(command.source for command in CURATED):
        file = PAGE.parent / "images" / f"central-{source}.svg"
        file.write_text(picture(source, known) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
