"""`pramana reproduce` at the terminal: the list of experiments, progress, and what was found."""

from __future__ import annotations

import json as json_format
from collections.abc import Sequence
from pathlib import Path

from rich.table import Table

from benchmarks.reproduce.catalogue import ALL, catalogue, papers, select
from benchmarks.reproduce.engine import Finding, Setting
from benchmarks.reproduce.run import (
    INDEX_HTML,
    INDEX_JSON,
    ExperimentOutcome,
    describe,
    reproduce,
    tally,
)
from pramana_core.terminal import console, print_json, progress_bar

_MARKS = {True: ("agrees", "green"), False: ("differs", "bold yellow"), None: ("note", "dim")}


def list_experiments(*, json: bool = False) -> None:
    """Print every experiment with a line on what it shows and the data it needs."""
    if json:
        print_json({"experiments": [describe(e) for e in catalogue()]})
        return
    shown = Table(box=None, pad_edge=False)
    shown.add_column("name", style="bold", no_wrap=True)
    shown.add_column("what it shows")
    shown.add_column("source")
    shown.add_column("data")
    for experiment in catalogue():
        needs = ", ".join(experiment.needs_data) or "none"
        shown.add_row(experiment.name, experiment.title, experiment.source, needs)
    out = console()
    out.print(shown)
    out.print(
        f"\nRun some with `pramana reproduce NAME...`, a paper's with {', '.join(papers())}, every"
        f" one with `{ALL}`."
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
    """Run experiments by name with a progress bar and print what was found.

    Raises:
        OptionError: an unknown name, a negative seed, a folder that is none, or data that is
            absent for an experiment that was named.
    """
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
        print_json(json_format.loads((out / INDEX_JSON).read_text(encoding="utf-8")))
        return
    _show(outcomes, out)


def _show(outcomes: Sequence[ExperimentOutcome], out: Path) -> None:
    terminal = console()
    for outcome in outcomes:
        _show_one(outcome)
    agree, differ = tally(outcomes)
    terminal.print(f"{agree} agree with the papers, {differ} differ.", style="bold")
    terminal.print(f"Index   {out / INDEX_HTML}", markup=False, soft_wrap=True)


def _show_one(outcome: ExperimentOutcome) -> None:
    terminal = console()
    experiment = outcome.experiment
    spent = "" if outcome.skipped else f"  [dim]{outcome.seconds:.1f} s[/]"
    terminal.print(f"[bold]{experiment.name}[/]  {experiment.title}{spent}")
    grid = Table.grid(padding=(0, 2, 0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    if outcome.skipped:
        grid.add_row("[yellow]skipped[/]", outcome.skipped)
    for finding in outcome.findings:
        grid.add_row(*_row(finding))
    if outcome.findings:
        for choice in experiment.choices:
            grid.add_row("[dim]chosen[/]", f"[dim]{choice}[/]")
    terminal.print(grid)
    terminal.print()


def _row(finding: Finding) -> tuple[str, str]:
    word, colour = _MARKS[finding.agrees]
    return f"[{colour}]{word}[/]", finding.text
