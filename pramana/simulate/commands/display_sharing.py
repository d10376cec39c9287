"""The results of simulated sharing at the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from pramana_core.terminal import console

if TYPE_CHECKING:
    from pramana.simulate.model_sharing.options import SimulationOptions
    from pramana.simulate.model_sharing.simulation import Simulation

_ROWS = {
    "accuracy": "right",
    "class_match": "as the global basis model says",
    "path_match": "paths shared with the global basis tree",
    "basis_accuracy": "the global basis model, right",
    "majority": "the most frequent class, right",
    "leaves": "leaves of a released tree",
}


def show_sharing(outcome: Simulation) -> None:
    """Print the means over all folds, and what was refused."""
    out, options = console(), outcome.options
    runs = "1 run" if options.runs == 1 else f"{options.runs} runs"
    out.print(
        f"{outcome.table.name}: {outcome.table.records.records:,} records, target"
        f" {outcome.table.target}, {_owners(options)}, {options.method}, global {options.model},"
        f" {_requirement(options)}, {runs} of {options.folds} folds\n",
        style="bold",
        markup=False,
        soft_wrap=True,
    )
    shown = Table(box=None, pad_edge=False)
    shown.add_column("share of the records held out")
    shown.add_column("mean", justify="right")
    shown.add_column("sd", justify="right")
    for name, label in _ROWS.items():
        both = outcome.spread(name)
        if both["mean"] is not None:
            digits = 1 if name == "leaves" else 4
            cells = ["n/a" if v is None else f"{v:.{digits}f}" for v in both.values()]
            shown.add_row(label, *cells)
    out.print(shown)
    out.print("\nsd is the deviation over all folds of all runs.", soft_wrap=True)
    if outcome.refused:
        trees = options.owners * len(outcome.folds)
        out.print(
            f"{outcome.refused} of {trees} trees could not meet the requirement and were not"
            f" released.{_advice(options)}",
            style="yellow",
            soft_wrap=True,
        )
    if outcome.without_model:
        out.print(
            f"In {outcome.without_model} of {len(outcome.folds)} folds nothing was released: they"
            " count as told by the most frequent class.",
            style="yellow",
            soft_wrap=True,
        )
    if outcome.table.note:
        out.print(outcome.table.note, markup=False, soft_wrap=True)


def _advice(options: SimulationOptions) -> str:
    """Return what may help where trees are refused."""
    if options.by == "growing":
        return ""
    return " With --by growing only splits are made whose parts can meet it."


def _owners(options: SimulationOptions) -> str:
    return "1 owner" if options.owners == 1 else f"{options.owners} owners"


def _requirement(options: SimulationOptions) -> str:
    asked = options.requirement
    if options.epsilon is not None:
        return f"epsilon {options.epsilon:g}"
    if asked is None:
        return "unpruned"
    told = [f"{n} {v:g}" for n, v in (("k", asked.k), ("c", asked.c), ("l", asked.l)) if v]
    return ", ".join(told)
