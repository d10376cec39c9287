"""Sharkey's figures 5 and 6: accuracy for different counts of owners, and for kinds of models.

Figure 7 uses this module's functions that run simulations of the paper's tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.reproduce.engine import Axes, Claim, Figure, Result, Setting, curves, where
from pramana.simulate.model_sharing_options import SimulationOptions
from pramana.simulate.model_sharing_simulation import PreparedTable, Simulation, Way, simulate
from pramana.simulate.model_sharing_tables import SharingTable, read_sharing_table
from pramana_core.pictures import plots

QUICK_RECORDS = 1_500
"""The maximum number of records of a table with --quick, drawn at random."""


@dataclass(frozen=True)
class Source:
    """A table of the paper: its file, class, count of classes, and the most records used."""

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
    """Return one of the paper's tables. Raises OptionError if the file is missing."""
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
        curve: the name of its curve.
        options: the options of the simulation.
        group: consecutive cells with the same group use the same trees of the owners.
        way: the function that returns the model of a fold, if not that of the options' method.
    """

    table: str
    curve: str
    options: Mapping[str, Any]
    group: str = ""
    way: Way | None = None


def run_cells(setting: Setting, cells: Sequence[Cell]) -> pd.DataFrame:
    """Run the simulations; return a row for each, with mean and deviation over the folds."""
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
    """Return the rows with accuracies and their deviations in percent, for drawing."""
    columns = ["accuracy", "accuracy_sd", "basis_accuracy", "majority"]
    return found.assign(**{name: 100 * found[name].astype(float) for name in columns})


def baselines(axis: Axes, found: pd.DataFrame) -> None:
    """Draw lines at the accuracies of a model of all records and of the most frequent class."""
    for column, colour, dash, label in (
        ("basis_accuracy", plots.BLACK, "-", "BASIS: all records"),
        ("majority", plots.GREY, "--", "most frequent class"),
    ):
        height = float(found[column].mean())
        axis.axhline(height, color=colour, linestyle=dash, linewidth=1.1, label=label)


OWNERS_5, QUICK_OWNERS = (1, 2, 3, 4, 5, 7, 10), (1, 5)
MODELS_5 = {"tree": "decision trees", "naive-bayes": "naive Bayes"}
CURVES_5 = {
    "PGEN": (plots.BLUE, "o", "-"),
    "BASEGEN": (plots.RED, "s", "-"),
}
NEAR = 5.0
"""The largest distance from BASIS, in points, that we call near."""

CHANGE = 0.5
"""The least change of an accuracy from one owner to many, in points, that we call a trend."""


def run_5(setting: Setting) -> Result:
    """Simulate each combination of a table, an owner count, a model and a method."""
    cells = [
        Cell(table, curve, {"owners": owners, "model": model, "method": curve.lower()}, str(owners))
        for table in SOURCES
        for owners in (QUICK_OWNERS if setting.quick else OWNERS_5)
        for model in MODELS_5
        for curve in CURVES_5
    ]
    found = run_cells(setting, cells)
    return Result({"owners": found}, _findings_5(found), _draw_5, height=6.4)


def _curve(found: pd.DataFrame, table: str, model: str, curve: str) -> pd.DataFrame:
    return where(found, table=table, model=model, curve=curve).sort_values("owners")


def _short_of_basis(rows: pd.DataFrame) -> pd.Series[float]:
    return 100 * (rows["basis_accuracy"] - rows["accuracy"])


def _findings_5(found: pd.DataFrame) -> Iterator[Claim]:
    for model, words in MODELS_5.items():
        for table in SOURCES:
            short = _short_of_basis(_curve(found, table, model, "PGEN"))
            yield Claim(
                f"{table}, {words}: the paper says that PGEN performs well against BASIS: over"
                f" all counts of owners it is {short.min():.1f} to {short.max():.1f} points lower"
                f" (near means within {NEAR:g}).",
                short.max() <= NEAR,
            )
    for table in SOURCES:
        short = _short_of_basis(_curve(found, table, "tree", "BASEGEN"))
        yield Claim(
            f"{table}: BASEGEN's trees are always worse than BASIS: by {short.min():.1f} to"
            f" {short.max():.1f} points.",
            short.min() > 0,
        )
    for table in ("car", "nursery"):
        for curve, sign, words in (("PGEN", 1, "rises"), ("BASEGEN", -1, "falls")):
            rows = _curve(found, table, "tree", curve)
            first, last = rows["accuracy"].iloc[0], rows["accuracy"].iloc[-1]
            yield Claim(
                f"{table}: the paper says that {curve}'s accuracy {words} with more owners:"
                f" from {first:.1%} with one to {last:.1%} with {rows['owners'].iloc[-1]} (trees).",
                100 * sign * (last - first) > CHANGE,
            )
        gaps = {}
        for model in MODELS_5:
            pgen, basegen = (
                _curve(found, table, model, curve)["accuracy"].to_numpy() for curve in CURVES_5
            )
            gaps[model] = 100 * float(np.mean(np.abs(pgen - basegen)))
        yield Claim(
            f"{table}: PGEN and BASEGEN differ less for naive Bayes than for trees:"
            f" {gaps['naive-bayes']:.1f} and {gaps['tree']:.1f} points on average.",
            gaps["naive-bayes"] < gaps["tree"],
        )
    rows = _curve(found, "adult", "tree", "PGEN")
    change = 100 * (rows["accuracy"].iloc[-1] - rows["accuracy"].iloc[0])
    yield Claim(
        f"adult has no such trend: PGEN's trees change by {change:+.1f} points from one to"
        f" {rows['owners'].iloc[-1]} owners.",
        abs(change) < NEAR,
    )
    most = float(where(found, model="tree", curve="PGEN")["path_match"].max())
    yield Claim(
        f"Trees of pseudo-data share typically less than 30 % of their paths with BASIS: at most"
        f" {most:.1%} here.",
        most < 0.3,
    )


def _draw_5(figure: Figure, found: pd.DataFrame) -> None:
    axes = figure.subplots(2, 3).ravel()
    for place, axis in enumerate(axes):
        model, table = list(MODELS_5)[place // 3], list(SOURCES)[place % 3]
        rows = percent(where(found, table=table, model=model))
        how: dict[str, Any] = {"error": "accuracy_sd", "looks": CURVES_5, "elinewidth": 0.7}
        curves(axis, rows, "owners", "accuracy", "curve", **how)
        baselines(axis, rows)
        axis.set_title(f"{table}, {MODELS_5[model]}")
        if place >= 3:
            axis.set_xlabel("owners")
        if place % 3 == 0:
            axis.set_ylabel("right, %")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)


OWNERS_6 = 5
TABLES = ("adult", "nursery")
MODELS_6 = {
    "conjunctive": "conjunctive rule",
    "tree": "decision tree",
    "naive-bayes": "naive Bayes",
}
CURVES_6 = {
    "BASEGEN": ("basegen", plots.RED),
    "BASIS": ("pooled", plots.BLACK),
    "PGEN": ("pgen", plots.BLUE),
}

ALIKE = 2.0
"""The largest difference in points that we call equally good."""


def run_6(setting: Setting) -> Result:
    """Simulate each kind of model on the pseudo-data of each method."""
    found = run_cells(
        setting,
        [
            Cell(table, curve, {"owners": OWNERS_6, "model": model, "method": method})
            for table in TABLES
            for model in MODELS_6
            for curve, (method, _) in CURVES_6.items()
        ],
    )
    return Result({"models": found}, _findings_6(found), _draw_6, height=4.2)


def _findings_6(found: pd.DataFrame) -> Iterator[Claim]:
    right = (100 * found.set_index(["table", "model", "curve"])["accuracy"]).to_dict()
    for model, better, other in (
        ("tree", "nursery", "adult"),
        ("naive-bayes", "nursery", "adult"),
        ("conjunctive", "adult", "nursery"),
    ):
        pairs = {c: (right[better, model, c], right[other, model, c]) for c in CURVES_6}
        listed = ", ".join(f"{one:.1f} and {two:.1f} % ({c})" for c, (one, two) in pairs.items())
        yield Claim(
            f"The paper says that the {MODELS_6[model]} is better on {better} than on {other}:"
            f" {listed}.",
            all(one > two for one, two in pairs.values()),
        )
    for table in TABLES:
        yield Claim(
            f"{table}: the paper says that trees are the best of the three models: with PGEN's data"
            f" they have {right[table, 'tree', 'PGEN']:.1f} %, naive Bayes"
            f" {right[table, 'naive-bayes', 'PGEN']:.1f} %, the rule"
            f" {right[table, 'conjunctive', 'PGEN']:.1f} %.",
            all(
                right[table, "tree", curve] >= right[table, model, curve] - 1e-9
                for curve in ("BASEGEN", "PGEN")
                for model in MODELS_6
            ),
        )
    pgen, base = (right["nursery", "naive-bayes", curve] for curve in ("PGEN", "BASEGEN"))
    yield Claim(
        f"nursery: naive Bayes is equally good with both: {pgen:.1f} % with PGEN, {base:.1f} % with"
        f" BASEGEN (within {ALIKE:g} points).",
        abs(pgen - base) <= ALIKE,
    )
    pgen, base = (right["adult", "naive-bayes", curve] for curve in ("PGEN", "BASEGEN"))
    yield Claim(
        f"adult: naive Bayes is better with PGEN than with BASEGEN: {pgen:.1f} and {base:.1f} %.",
        pgen > base,
    )
    pgen, base = (right["adult", "conjunctive", curve] for curve in ("PGEN", "BASEGEN"))
    majority = 100 * float(where(found, table="adult")["majority"].mean())
    yield Claim(
        "adult: the paper says that the conjunctive rule is much better with BASEGEN than PGEN:"
        f" {base:.1f} and {pgen:.1f} % (the most frequent class has {majority:.1f} %).",
        base - pgen > ALIKE,
    )
    worst = float(np.max(100 * np.abs(found["class_match"] - found["accuracy"])))
    yield Claim(
        f"Class match and accuracy differ by up to {worst:.1f} points; the paper finds them very"
        " similar.",
    )


def _draw_6(figure: Figure, found: pd.DataFrame) -> None:
    axes = figure.subplots(1, 2)
    for axis, table in zip(axes, TABLES, strict=True):
        _bars(axis, found[found["table"] == table])
        axis.set_title(f"{table}, {OWNERS_6} owners")
    axes[0].set_ylabel("right, %")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)


def _bars(axis: Axes, found: pd.DataFrame) -> None:
    places = np.arange(len(MODELS_6))
    for shift, (curve, (_, colour)) in enumerate(CURVES_6.items()):
        rows = [where(found, model=m, curve=curve).iloc[0] for m in MODELS_6]
        at = places + 0.27 * (shift - 1)
        heights = [100 * row["accuracy"] for row in rows]
        spread = [100 * (row["accuracy_sd"] or 0) for row in rows]
        axis.bar(at, heights, 0.24, yerr=spread, color=colour, label=curve, ecolor=plots.GREY)
        for x, height in zip(at, heights, strict=True):
            axis.text(x, 2, f"{height:.0f}", ha="center", color="white", fontsize=9)
    axis.axhline(
        100 * float(found["majority"].mean()), color=plots.GREY, linestyle="--",
        label="most frequent class",
    )  # fmt: skip
    axis.set_xticks(places, list(MODELS_6.values()))
    axis.set_ylim(0, 100)
    plots.no_grid(axis, "x")
