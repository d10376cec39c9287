"""Run experiments and write what they found: pictures, tables, JSON and one page with all of it."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from benchmarks.reproduce.engine import Experiment, Figure, Finding, Result, Setting
from pramana_core.errors import OptionError
from pramana_core.pictures.plots import picture
from pramana_core.progress import OnShare

Say = Callable[[str, float], None]
"""Called with the experiment at work and the share of all work that is done."""

INDEX_JSON, INDEX_HTML = "reproduce.json", "index.html"

_WIDTH, _DPI = 10.0, 150
"""Of a picture: inches, and dots in each, legible at 1000 pixels."""


@dataclass(frozen=True)
class ExperimentOutcome:
    """One experiment's findings and the names of its files; `skipped` says why it was not run."""

    experiment: Experiment
    findings: tuple[Finding, ...] = ()
    files: tuple[str, ...] = ()
    seconds: float = 0.0
    skipped: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form; it holds no times, so that a seed always gives the same file."""
        described = describe(self.experiment)
        if self.skipped:
            return described | {"skipped": self.skipped}
        findings = [{"agrees": f.agrees, "text": f.text} for f in self.findings]
        return described | {"findings": findings, "files": list(self.files)}


def describe(experiment: Experiment) -> dict[str, Any]:
    """Return an experiment as JSON: what it shows, of which paper, and what it needs."""
    return {
        "name": experiment.name,
        "title": experiment.title,
        "source": experiment.source,
        "needs_data": list(experiment.needs_data),
        "choices": list(experiment.choices),
    }


def reproduce(
    experiments: Sequence[Experiment],
    setting: Setting,
    out: Path,
    *,
    say: Say = lambda _name, _share: None,
    skip: bool = False,
) -> tuple[ExperimentOutcome, ...]:
    """Run experiments, write their files and an index, and return what was found.

    Args:
        experiments: what to run.
        setting: seed, data and extent; its `progress` is replaced.
        out: the folder for all files; made if it is not there.
        say: told what is being done.
        skip: leave out experiments whose data is absent instead of failing.

    Raises:
        OptionError: there is nothing to run, data is absent (unless `skip`), or `out` cannot be
            made or written.
    """
    if not experiments:
        raise OptionError("There is no experiment to run.", where="NAME")
    wanting = {e.name: _wanting(e, setting) for e in experiments}
    if not skip:
        for missing in filter(None, wanting.values()):
            raise missing
    _make(out)
    outcomes = []
    for index, experiment in enumerate(experiments):
        error = wanting[experiment.name]
        if error is not None:
            outcomes.append(ExperimentOutcome(experiment, skipped=str(error)))
            continue
        outcomes.append(_run(experiment, setting, out, _part(say, experiment, index, experiments)))
    _write_index(out, outcomes, setting)
    return tuple(outcomes)


def _wanting(experiment: Experiment, setting: Setting) -> OptionError | None:
    """Return what is wrong with the data of an experiment, if anything."""
    try:
        for name in experiment.needs_data:
            setting.file(name)
    except OptionError as error:
        return error
    return None


def _make(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OptionError(
            f"The folder {out} cannot be made: {error.strerror}.",
            where="--out",
            remedy="Name another folder with --out.",
        ) from error


def _part(
    say: Say, experiment: Experiment, index: int, experiments: Sequence[Experiment]
) -> OnShare:
    say(experiment.name, index / len(experiments))
    return lambda share: say(experiment.name, (index + share) / len(experiments))


def _run(
    experiment: Experiment, setting: Setting, out: Path, progress: OnShare
) -> ExperimentOutcome:
    started = time.perf_counter()
    result = experiment.run(replace(setting, progress=progress))
    files = _write(experiment, setting, result, out)
    return ExperimentOutcome(experiment, result.findings, files, time.perf_counter() - started)


def _write(experiment: Experiment, setting: Setting, result: Result, out: Path) -> tuple[str, ...]:
    picture = f"{experiment.name}.png"
    (out / picture).write_bytes(
        png(experiment.title, experiment.source, result.draw, result.height)
    )
    single = len(result.tables) == 1
    tables = []
    for name, table in result.tables.items():
        tables.append(f"{experiment.name}.csv" if single else f"{experiment.name}-{name}.csv")
        table.to_csv(out / tables[-1], index=False, float_format="%.10g", lineterminator="\n")
    files = (picture, *tables, f"{experiment.name}.json")
    content = ExperimentOutcome(experiment, result.findings, files).as_dict()
    content |= {"seed": setting.seed, "quick": setting.quick, "facts": dict(result.facts)}
    _write_json(out / files[-1], content)
    return files


def _write_json(path: Path, value: Any) -> None:
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")


def _write_index(out: Path, outcomes: Sequence[ExperimentOutcome], setting: Setting) -> None:
    content = {
        "seed": setting.seed,
        "quick": setting.quick,
        "experiments": [outcome.as_dict() for outcome in outcomes],
    }
    _write_json(out / INDEX_JSON, content)
    environment = Environment(
        loader=PackageLoader("benchmarks.reproduce"), autoescape=True, undefined=StrictUndefined
    )
    pictures = {
        o.experiment.name: base64.b64encode((out / o.files[0]).read_bytes()).decode()
        for o in outcomes
        if o.files
    }
    page = environment.get_template("index.html.j2").render(
        outcomes=outcomes, pictures=pictures, setting=setting, tally=tally(outcomes)
    )
    (out / INDEX_HTML).write_text(page, encoding="utf-8")


def tally(outcomes: Sequence[ExperimentOutcome]) -> tuple[int, int]:
    """Return how many claims of the papers were checked and found to hold, and not to hold."""
    checked = [f.agrees for outcome in outcomes for f in outcome.findings]
    return checked.count(True), checked.count(False)


def png(title: str, source: str, draw: Callable[[Figure], None], height: float) -> bytes:
    """Return a picture as PNG, 1500 pixels wide.

    Args:
        title: written above.
        source: written below, at the right.
        draw: draws on the figure.
        height: in inches.
    """

    def whole(figure: Figure) -> None:
        draw(figure)
        figure.suptitle(title, x=0.01, ha="left", fontsize=13, fontweight="bold")
        figure.supxlabel(source, x=0.995, ha="right", fontsize=9, color="#666666")

    return picture(whole, (_WIDTH, height), "png", title, dpi=_DPI)
