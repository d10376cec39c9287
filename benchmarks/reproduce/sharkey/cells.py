"""Cells of an experiment: one method with one model and so many owners, over all folds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from benchmarks.reproduce.experiment import Setting
from benchmarks.reproduce.sharkey.tables import kept_of
from pramana.simulate.model_sharing_options import SimulationOptions
from pramana.simulate.model_sharing_simulation import Simulation, simulate
from pramana_core.pictures import plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FOLDS, QUICK_FOLDS = 10, 2


@dataclass(frozen=True)
class Cell:
    """One simulation of an experiment.

    Attributes:
        table: the name of its table.
        curve: what its curve is called.
        options: what is simulated.
        group: cells of one group that follow one another share the owners' trees.
    """

    table: str
    curve: str
    options: Mapping[str, Any]
    group: str = ""


def run_cells(setting: Setting, cells: Sequence[Cell]) -> pd.DataFrame:
    """Return a row for each cell: its accuracies with their deviations over the folds."""
    rows = []
    at, held = ("", ""), None
    for done, cell in enumerate(cells):
        if held is None or at != (cell.table, cell.group):
            at, held = (cell.table, cell.group), kept_of(setting, cell.table)
        options = SimulationOptions(
            **{"folds": folds(setting), "seed": setting.seed, **cell.options}
        )
        found = simulate(held.table, options, kept=held)
        rows.append(_row(cell, options, found))
        setting.progress((done + 1) / len(cells))
    return pd.DataFrame(rows)


def folds(setting: Setting) -> int:
    """Return how many folds there are."""
    return QUICK_FOLDS if setting.quick else FOLDS


def _row(cell: Cell, options: SimulationOptions, found: Simulation) -> dict[str, Any]:
    row: dict[str, Any] = {
        "table": cell.table,
        "model": options.model,
        "curve": cell.curve,
        "owners": options.owners,
    }
    if options.requirement is not None:
        asked = options.requirement
        row |= {"k": asked.k, "c": asked.c, "l": asked.l}
    for name in ("accuracy", "class_match", "path_match", "basis_accuracy", "majority", "leaves"):
        known = found.spread(name)
        row[name], row[f"{name}_sd"] = known["mean"], known["sd"]
    row |= {
        "refused": found.refused,
        "trees": options.owners * len(found.folds),
        "without_model": found.without_model,
        "folds": len(found.folds),
    }
    return row


def value(found: pd.DataFrame, column: str = "accuracy", **where: Any) -> float:
    """Return the number of the one row that has these values."""
    chosen = found
    for name, wanted in where.items():
        chosen = chosen[chosen[name] == wanted]
    if len(chosen) != 1:
        raise KeyError(f"{len(chosen)} rows have {where}")
    return float(chosen[column].iloc[0])


def line(
    axis: Axes, rows: pd.DataFrame, x: str, colour: str, marker: str, label: str, dash: str = "-"
) -> None:
    """Draw a curve of accuracies in percent with thin bars of a standard deviation."""
    heights = 100 * rows["accuracy"].to_numpy(dtype=float)
    spread = 100 * rows["accuracy_sd"].fillna(0).to_numpy(dtype=float)
    plots.curve(axis, rows[x], heights, colour, marker, label, dash)
    axis.errorbar(rows[x], heights, spread, fmt="none", ecolor=colour, elinewidth=0.7, alpha=0.6)


def level(axis: Axes, height: float, colour: str, dash: str, label: str = "") -> None:
    """Draw a horizontal line at an accuracy."""
    axis.axhline(100 * height, color=colour, linestyle=dash, linewidth=1.1, label=label or None)
