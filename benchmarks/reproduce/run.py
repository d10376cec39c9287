"""The list of experiments; running them writes pictures, tables, JSON and an index page.

To add an experiment, write a function in a module and name it in the list, `experiments.toml`.
"""

from __future__ import annotations

import base64
import math
import time
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from json import dumps, loads
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from rich.table import Table

from benchmarks.reproduce.engine import Claim, Experiment, Figure, Result, Setting
from pramana_core.csv_text import csv_text
from pramana_core.errors import OptionError
from pramana_core.pictures.plots import picture
from pramana_core.terminal import console, print_json, progress_bar

INDEX_JSON, INDEX_HTML = "reproduce.json", "index.html"

_WIDTH, _DPI = 10.0, 150
"""The width of a picture in inches, and its dots per inch; it is legible at 1000 pixels."""


@dataclass(frozen=True)
class ExperimentOutcome:
    """An experiment's findings and file names; `skipped` is the reason if it did not run."""

    experiment: Experiment
    findings: Sequence[Claim] = ()
    files: tuple[str, ...] = ()
    seconds: float = 0.0
    skipped: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form, without times, so a seed always gives the same file."""
        described = describe(self.experiment)
        if self.skipped:
            return described | {"skipped": self.skipped}
        findings = [{"agrees": f.agrees, "text": f.text} for f in self.findings]
        return described | {"findings": findings, "files": list(self.files)}


def describe(experiment: Experiment) -> dict[str, Any]:
    """Return the title, the paper and the data of an experiment as JSON."""
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
    say: Callable[[str, float], object] = lambda _name, _share: None,
    skip: bool = False,
) -> tuple[ExperimentOutcome, ...]:
    """Run experiments, write their files and an index, and return the outcomes.

    `say` receives the name of the running experiment and the finished share of all work. With
    `skip`, experiments with missing tables are skipped.

    Raises:
        OptionError: a table is missing, or the folder cannot be created.
    """
    absent = {e.name: _absent(e, setting) for e in experiments}
    for missing in filter(None, absent.values()):
        if not skip:
            raise missing
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OptionError(
            f"The folder {out} cannot be created: {error.strerror}.",
            where="--out",
            remedy="Name another folder with --out.",
        ) from error
    outcomes = []
    for index, experiment in enumerate(experiments):
        if reason := absent[experiment.name]:
            outcomes.append(ExperimentOutcome(experiment, skipped=str(reason)))
            continue

        def progress(share: float, name: str = experiment.name, done: int = index) -> None:
            say(name, (done + share) / len(experiments))

        progress(0.0)
        started = time.perf_counter()
        result = experiment.run(replace(setting, progress=progress))
        files = _write(experiment, setting, result, out)
        spent = time.perf_counter() - started
        outcomes.append(ExperimentOutcome(experiment, tuple(result.findings), files, spent))
    _write_index(out, outcomes, setting)
    return tuple(outcomes)


def _absent(experiment: Experiment, setting: Setting) -> OptionError | None:
    try:
        for name in experiment.needs_data:
            setting.file(name)
    except OptionError as error:
        return error
    return None


def _write(experiment: Experiment, setting: Setting, result: Result, out: Path) -> tuple[str, ...]:
    drawn = f"{experiment.name}.png"
    (out / drawn).write_bytes(
        png(experiment.title, experiment.source, result.picture, result.height)
    )
    tables = []
    for name, table in result.tables.items():
        end = "" if len(result.tables) == 1 else f"-{name}"
        tables.append(f"{experiment.name}{end}.csv")
        rows = ([_cell(value) for value in row] for row in table.itertuples(index=False))
        (out / tables[-1]).write_text(csv_text(table.columns, rows), encoding="utf-8")
    files = (drawn, *tables, f"{experiment.name}.json")
    content = ExperimentOutcome(experiment, tuple(result.findings), files).as_dict()
    content |= {"seed": setting.seed, "quick": setting.quick, "facts": dict(result.facts)}
    _write_json(out / files[-1], content)
    return files


def _cell(value: Any) -> Any:
    return f"{value:.10g}" if isinstance(value, float) and math.isfinite(value) else value


def _write_json(path: Path, value: Any) -> None:
    text = dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")


def _write_index(out: Path, outcomes: Sequence[ExperimentOutcome], setting: Setting) -> None:
    listed = [outcome.as_dict() for outcome in outcomes]
    content = {"seed": setting.seed, "quick": setting.quick, "experiments": listed}
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
    """Return how many of the papers' claims agree with our results, and how many differ."""
    checked = [f.agrees for outcome in outcomes for f in outcome.findings]
    return checked.count(True), checked.count(False)


def png(title: str, source: str, draw: Callable[[Figure], None], height: float) -> bytes:
    """Return a picture as PNG, 1500 pixels wide, with its title above and its source below."""

    def whole(figure: Figure) -> None:
        draw(figure)
        figure.suptitle(title, x=0.01, ha="left", fontsize=13, fontweight="bold")
        figure.supxlabel(source, x=0.995, ha="right", fontsize=9, color="#666666")

    return picture(whole, (_WIDTH, height), "png", title, dpi=_DPI)


_EXPERIMENTS = Path(__file__).with_name("experiments.toml")

ALL = "all"
"""The name for all experiments."""


@cache
def catalogue() -> tuple[Experiment, ...]:
    """Return every experiment, in the order of the papers."""
    listed = tomllib.loads(_EXPERIMENTS.read_text(encoding="utf-8"))
    texts = listed["texts"]
    return tuple(
        Experiment(
            one["name"],
            one["title"],
            one["source"],
            resolve_name(f"benchmarks.reproduce.{one['run']}"),
            tuple(one.get("data", ())),
            tuple(texts.get(choice, choice) for choice in one.get("choices", ())),
        )
        for one in listed["experiment"]
    )


def select(names: Sequence[str]) -> tuple[Experiment, ...]:
    """Return the experiments with these names, in the catalogue's order and each once.

    A paper's name, such as `alahmadi`, selects all experiments whose names begin with it. Raises
    OptionError: an unknown name.
    """
    known = [experiment.name for experiment in catalogue()]
    unknown = sorted(set(names) - set(known) - set(papers()) - {ALL})
    if unknown:
        raise OptionError(
            f"Unknown experiment {', '.join(unknown)}.",
            where="NAME",
            remedy=f"Choose from {', '.join([*known, *papers()])} and {ALL}.",
        )
    return tuple(e for e in catalogue() if not {ALL, e.name, _paper_of(e)}.isdisjoint(names))


def papers() -> tuple[str, ...]:
    """Return the names that select all experiments of a paper."""
    return tuple(dict.fromkeys(map(_paper_of, catalogue())))


def _paper_of(experiment: Experiment) -> str:
    return experiment.name.partition("-")[0]


_MARKS = {
    True: "[green]agrees[/]",
    False: "[bold yellow]differs[/]",
    None: "[dim]note[/]",
}


def list_experiments(*, json: bool = False) -> None:
    """Print every experiment with a line on its content and the data it needs."""
    if json:
        print_json({"experiments": [describe(e) for e in catalogue()]})
        return
    shown = Table(box=None, pad_edge=False)
    shown.add_column("name", style="bold", no_wrap=True)
    for heading in ("what it shows", "source", "data"):
        shown.add_column(heading)
    for e in catalogue():
        shown.add_row(e.name, e.title, e.source, ", ".join(e.needs_data) or "none")
    out = console()
    out.print(shown)
    out.print(
        f"\nRun some with `pramana reproduce NAME...`, all of a paper with {', '.join(papers())},"
        f" or all experiments with `{ALL}`."
    )


def run_experiments(
    names: Sequence[str],
    out: Path,
    *,
    seed: int = 1,
    data: Path | None = None,
    quick: bool = False,
    json: bool = False,
) -> None:
    """Run experiments by name with a progress bar and print the outcomes."""
    chosen = select(names)
    setting = Setting(seed=seed, data=data, quick=quick)
    with progress_bar(patience=0) as bar:
        outcomes = reproduce(
            chosen,
            setting,
            out,
            skip=not {ALL, *papers()}.isdisjoint(names),
            say=lambda name, share: bar.stage(name, share, 1.0),
        )
    if json:
        print_json(loads((out / INDEX_JSON).read_text(encoding="utf-8")))
        return
    for outcome in outcomes:
        _show(outcome)
    agree, differ = tally(outcomes)
    console().print(f"{agree} agree with the papers, {differ} differ.", style="bold")
    console().print(f"Index   {out / INDEX_HTML}", markup=False, soft_wrap=True)


def _show(outcome: ExperimentOutcome) -> None:
    experiment = outcome.experiment
    spent = "" if outcome.skipped else f"  [dim]{outcome.seconds:.1f} s[/]"
    grid = Table.grid(padding=(0, 2, 0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    if outcome.skipped:
        grid.add_row("[yellow]skipped[/]", outcome.skipped)
    else:
        for finding in outcome.findings:
            grid.add_row(_MARKS[finding.agrees], finding.text)
        for choice in experiment.choices:
            grid.add_row("[dim]chosen[/]", f"[dim]{choice}[/]")
    console().print(f"[bold]{experiment.name}[/]  {experiment.title}{spent}")
    console().print(grid)
    console().print()
