"""Cells of an experiment: a method, a model and a number of owners, over all folds.

The tables are those of the paper that are public.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.reproduce.engine import Axes, Setting
from pramana.simulate.model_sharing_options import SimulationOptions
from pramana.simulate.model_sharing_simulation import PreparedTable, Simulation, Way, simulate
from pramana.simulate.model_sharing_tables import SharingTable, read_sharing_table
from pramana_core.pictures import plots

QUICK_RECORDS = 1_500
"""With --quick every table has at most this many records, drawn at random."""


@dataclass(frozen=True)
class Source:
    """A table of the paper: its file, its class, how many classes, and the most records used."""

    file: str
    target: str
    classes: int
    most: int | None = None


SOURCES = {
    "adult": Source("adult-train.csv.gz", "income", 2, 6_000),
    "car": Source("car.csv", "class", 4),
    "nursery": Source("nursery.csv.gz", "class", 5),
}

FILES = tuple(source.file for source in SOURCES.values())


def table_of(setting: Setting, name: str) -> SharingTable:
    """Return one of the paper's tables. Raises OptionError where its file is not there."""
    source = SOURCES[name]
    table = read_sharing_table(setting.file(source.file), source.target)
    limits = [source.most or table.records.records, table.records.records]
    most = min([*limits, QUICK_RECORDS] if setting.quick else limits)
    if most < table.records.records:
        chosen = setting.rng("sharkey", name).permutation(table.records.records)[:most]
        table = replace(table, records=table.records.rows(np.sort(chosen)))
    return table


FOLDS, QUICK_FOLDS = 10, 2


@dataclass(frozen=True)
class Cell:
    """One simulation of an experiment.

    Attributes:
        table: the name of its table.
        curve: what its curve is called.
        options: what is simulated.
        group: cells of one group that follow one another share the owners' trees.
        way: what makes the model of a fold, where it is not the method.
    """

    table: str
    curve: str
    options: Mapping[str, Any]
    group: str = ""
    way: Way | None = None


def run_cells(setting: Setting, cells: Sequence[Cell]) -> pd.DataFrame:
    """Return a row for each cell: its accuracies with their deviations over the folds."""
    rows = []
    tables = {name: table_of(setting, name) for name in dict.fromkeys(c.table for c in cells)}
    folds = QUICK_FOLDS if setting.quick else FOLDS
    at, prepared = ("", ""), None
    for cell in setting.steps(cells):
        if prepared is None or at != (cell.table, cell.group):
            at = cell.table, cell.group
            prepared = PreparedTable(tables[cell.table])
        options = SimulationOptions(**{"folds": folds, "seed": setting.seed, **cell.options})
        found = simulate(prepared.table, options, kept=prepared, way=cell.way)
        rows.append(_row(cell, options, found))
    return pd.DataFrame(rows)


def _row(cell: Cell, options: SimulationOptions, found: Simulation) -> dict[str, Any]:
    row: dict[str, Any] = {
        "table": cell.table,
        "model": options.model,
        "curve": cell.curve,
        "owners": options.owners,
    }
    if options.requirement is not None:
        requirement = options.requirement
        row |= {"k": requirement.k, "c": requirement.c, "l": requirement.l}
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


def percent(found: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with accuracies and their deviations in percent, to be drawn."""
    columns = ["accuracy", "accuracy_sd", "basis_accuracy", "majority"]
    return found.assign(**{name: 100 * found[name].astype(float) for name in columns})


def baselines(axis: Axes, found: pd.DataFrame) -> None:
    """Draw the accuracies of a model of all records and of the most frequent class as levels."""
    for column, colour, dash, label in (
        ("basis_accuracy", plots.BLACK, "-", "BASIS: all records"),
        ("majority", plots.GREY, "--", "most frequent class"),
    ):
        height = float(found[column].mean())
        axis.axhline(height, color=colour, linestyle=dash, linewidth=1.1, label=label)
