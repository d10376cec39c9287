"""One picture for a custodian: what a miner learns, against what each kind of release promises.

Randomized records are asked about the folds of the shared trees: both answer for the same records.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.reproduce.engine import Axes, Experiment, Figure, Finding, Result, Setting
from benchmarks.reproduce.sharkey.cells import SOURCES, Cell, folds, recorded, run_cells, table_of
from pramana.setups import SeededOwner
from pramana.simulate.designs import designed
from pramana.simulate.learners import simulate
from pramana.simulate.model_sharing_options import FullDomain, SimulationOptions
from pramana.simulate.model_sharing_simulation import Fold, PreparedTable
from pramana.simulate.model_sharing_tables import SharingTable
from pramana.simulate.sources import TableSource
from pramana.simulate.study import Trial, Trials
from pramana_core.design import goal
from pramana_core.domain import Domain, Variable
from pramana_core.learn.tree.growth import learn_tree
from pramana_core.marginals.counts import Codes, ReportedCounts
from pramana_core.mixed import CategoricalColumn
from pramana_core.model_sharing.requirements import Requirement
from pramana_core.pictures import plots
from pramana_core.wire.parts import code_dtype


@dataclass(frozen=True, eq=False)
class FoldTrials(Trials):
    """Trials whose runs hold out one fold each.

    Attributes:
        parts: the folds of the source's records, one for each run.
    """

    parts: tuple[Fold, ...] = ()

    def __iter__(self) -> Iterator[Trial]:
        owner = SeededOwner.of("simulate", self.seed, self.records)
        everything = self.source.draw(self.records, np.random.default_rng(self.seed))
        sizes = {v.name: v.size for v in self.source.domain}
        for index, fold in enumerate(self.parts):
            train, test = (_rows(everything, rows) for rows in (fold.train, fold.test))
            reported = owner.report(self.plan, train, index)
            yield Trial(index, ReportedCounts(train, sizes), reported, test)


def randomized(setting: Setting, table: str, gamma: float) -> dict[str, Any]:
    """Return accuracy, its deviation and that of the most frequent class under a designed plan.

    Each record reports by itself under the one plan, so that it does not matter whose it is.

    Args:
        setting: of the experiment.
        table: the name of the table, all of whose columns are of categories.
        gamma: the most by which two records' chances of one report differ, whole records.
    """
    held = table_of(setting, table)
    source = source_of(held)
    parts = tuple(
        PreparedTable(held).folds(SimulationOptions(folds=folds(setting), seed=setting.seed))
    )
    wanted = goal(source.domain, "tree", target=held.target)
    plan = designed(source.domain, "auto", gamma, wanted, len(parts[0].train))
    trials = FoldTrials(
        source, plan.plan, source.records, len(parts), setting.seed,
        holdout=1 / len(parts), parts=parts,
    )  # fmt: skip
    found = simulate(
        "tree",
        held.target,
        trials,
        lambda marginals, _seed: learn_tree(marginals, held.target),
        {},
        plan.estimator,
    ).as_dict()
    return {
        "table": table,
        "model": "tree",
        "promise": f"{math.log(gamma):.1f}",
        "accuracy": found["accuracy"]["mean"],
        "accuracy_sd": found["accuracy"]["sd"],
        "majority": found["majority"]["mean"],
        "folds": len(parts),
        "without_model": 0,
    }


def source_of(table: SharingTable) -> TableSource:
    """Return a table of categories as a source of records, in the same order.

    Raises TypeError for a column of numbers, which would have to be cut first.
    """
    codes: dict[str, Codes] = {}
    variables = []
    for column in table.records.columns:
        if not isinstance(column, CategoricalColumn):
            raise TypeError(f"{column.name} is a column of numbers")
        variables.append(Variable(column.name, column.categories))
        codes[column.name] = column.codes.astype(code_dtype(len(column.categories)))
    return TableSource(table.name, Domain(tuple(variables)), codes, table.note)


def _rows(codes: dict[str, Codes], rows: Any) -> dict[str, Codes]:
    return {name: column[rows] for name, column in codes.items()}


TABLES = ("nursery", "car")
OWNERS = 5

ANONYMOUS = "shared trees: k or (c, l),\nno bound for one record"
DIVERSE = "l-diverse records: (c, l),\nno bound for one record"
BEST = "l-diverse records at the best levels"
PRIVATE = "private trees:\nepsilon for one record"
RANDOMIZED = "randomized records (PRAM):\nepsilon = ln gamma"

COLOURS = {
    ANONYMOUS: (plots.ORANGE, "s"),
    DIVERSE: (plots.RED, "x"),
    BEST: (plots.RED, "P"),
    PRIVATE: (plots.BLUE, "o"),
    RANDOMIZED: (plots.GREEN, "D"),
}
"""The promises, from the weakest kind to those that bound what one record tells."""

BESIDE = {BEST: DIVERSE}
"""Kinds that make another one's promises and are drawn at its places."""

HEADS = {DIVERSE: DIVERSE.replace("\n", "\n× anjana, + best levels,\n")}
"""What stands above a group where it is more than the kind."""

NEAR = 1.5
"""A number so many percent from a line would be written over it."""

DIVERSITIES = ((10.0, 2), (10.0, 3), (5.0, 3))
LEAST = (5, 20, 100)
EPSILONS = (8.0, 4.0, 2.0, 1.0, 0.5)
GAMMAS = (99.0, 19.0, 9.0)


@dataclass(frozen=True)
class Way:
    """A way of release: its kind of promise, how much is promised, and how it is simulated."""

    kind: str
    promise: str
    options: dict[str, Any]


def ways(table: str) -> Iterator[Way]:
    """Yield the ways that are simulated with owners, each kind from the weakest promise on."""
    yield Way(ANONYMOUS, "unpruned", {"method": "labelled"})
    for k in LEAST:
        yield Way(ANONYMOUS, f"k = {k}", {"method": "labelled", "requirement": Requirement(k=k),
                                          "by": "growing"})  # fmt: skip
    for c, classes in DIVERSITIES:
        asked = Requirement(c=c, l=classes)
        yield Way(ANONYMOUS, f"({c:g}, {classes})", {"method": "labelled", "requirement": asked,
                                                     "by": "growing"})  # fmt: skip
    for c, classes in DIVERSITIES:
        asked = Requirement(c=c, l=classes)
        yield Way(DIVERSE, f"({c:g}, {classes})", {"method": "ldiversity", "requirement": asked,
                                                   "publisher": recorded(table)})  # fmt: skip
    for c, classes in DIVERSITIES:
        asked = Requirement(c=c, l=classes)
        yield Way(BEST, f"({c:g}, {classes})", {"method": "ldiversity", "requirement": asked,
                                                "publisher": FullDomain()})  # fmt: skip
    for epsilon in EPSILONS:
        yield Way(PRIVATE, f"{epsilon:g}", {"method": "votes", "epsilon": epsilon})


def run(setting: Setting) -> Result:
    """Simulate every way on every table."""
    chosen = TABLES[:1] if setting.quick else TABLES
    cells = [
        Cell(table, f"{way.kind}|{way.promise}", {"owners": OWNERS, "model": "tree", **way.options})
        for table in chosen
        for way in ways(table)
    ]
    found = run_cells(setting, cells)
    found["kind"] = [curve.partition("|")[0] for curve in found["curve"]]
    found["promise"] = [curve.partition("|")[2] for curve in found["curve"]]
    more = [
        {"curve": "", "kind": RANDOMIZED, "owners": OWNERS, **randomized(setting, table, gamma)}
        for table in chosen
        for gamma in GAMMAS
    ]
    found = pd.concat([found, pd.DataFrame(more)], ignore_index=True)
    found.loc[found["without_model"] == found["folds"], ["accuracy", "accuracy_sd"]] = np.nan
    shown = found.drop(columns=["curve"]).assign(
        kind=[kind.replace("\n", " ") for kind in found["kind"]]
    )
    return Result(
        {"ways": shown},
        tuple(_findings(found)),
        lambda figure: _draw(figure, found),
        height=1.0 + 3.9 * len(chosen),
    )


def _findings(found: pd.DataFrame) -> Iterator[Finding]:
    for table in dict.fromkeys(found["table"]):
        here = found[found["table"] == table]
        parts = []
        for kind in COLOURS:
            rows = here[here["kind"] == kind]
            words = ", ".join(
                f"{row.promise}: " + ("nothing" if np.isnan(row.accuracy) else
                                      f"{100 * row.accuracy:.1f}")
                for row in rows.itertuples()
            )  # fmt: skip
            parts.append(f"{kind.replace(chr(10), ' ')} ({words})")
        yield Finding(
            None,
            f"{table}, {OWNERS} owners, percent right; a tree of all records has"
            f" {100 * here['basis_accuracy'].mean():.1f}, the most frequent class"
            f" {100 * here['majority'].mean():.1f}: " + "; ".join(parts) + ".",
        )


def _draw(figure: Figure, found: pd.DataFrame) -> None:
    tables = list(dict.fromkeys(found["table"]))
    axes = plots.facets(figure, [1.0] * len(tables), 1)
    for place, (axis, table) in enumerate(zip(axes, tables, strict=True)):
        _panel(axis, found[found["table"] == table], names=place == 0)
        axis.set_title(f"{table}, {OWNERS} owners", pad=50 if place == 0 else 6)
    axes[-1].set_xlabel("what is promised: each kind from the weakest to the strongest")


def _panel(axis: Axes, found: pd.DataFrame, *, names: bool) -> None:
    place, ticks, labels = 0.0, [], []
    places: dict[str, Any] = {}
    basis, frequent = (100 * found[c].mean() for c in ("basis_accuracy", "majority"))
    near = {basis: -11, frequent: 4}
    for kind, (colour, marker) in COLOURS.items():
        rows = found[found["kind"] == kind]
        if kind in BESIDE:
            _dots(axis, places[BESIDE[kind]], rows, colour, marker, near)
            continue
        at = places[kind] = place + np.arange(len(rows))
        axis.axvspan(at[0] - 0.6, at[-1] + 0.6, color=colour, alpha=0.07, linewidth=0)
        _dots(axis, at, rows, colour, marker, near)
        for x, right in zip(at, rows["accuracy"], strict=True):
            if np.isnan(right):
                axis.annotate("nothing", (x, frequent), (0, 16), textcoords="offset points",
                              ha="center", fontsize=8.5)  # fmt: skip
        if names:
            plots.above(axis, float(at.mean()), HEADS.get(kind, kind), "data", "center")
        ticks += list(at)
        labels += list(rows["promise"])
        place = at[-1] + 1.7
    axis.axhline(basis, color=plots.BLACK, linewidth=1.2, zorder=1)
    axis.axhline(frequent, color=plots.GREY, linewidth=1.2, linestyle="--", zorder=1)
    right_edge = axis.get_yaxis_transform()
    axis.text(1.005, basis, "a tree of\nall records", transform=right_edge, va="center", fontsize=9)
    axis.text(
        1.005, frequent, "most frequent\nclass", transform=right_edge, va="center", fontsize=9
    )
    axis.set_xticks(ticks, labels, fontsize=8.5, rotation=40)
    axis.set_ylabel("right, %")
    axis.margins(y=0.1)
    plots.no_grid(axis, "x")


def _dots(
    axis: Axes, at: Any, rows: pd.DataFrame, colour: str, marker: str, near: dict[float, int]
) -> None:
    """Draw accuracies in percent with a standard deviation, and write each at its right.

    `near` says how many points up numbers are written whose dots are near a line, by its height.
    """
    heights = 100 * rows["accuracy"].to_numpy(dtype=float)
    spread = 100 * rows["accuracy_sd"].fillna(0).to_numpy(dtype=float)
    axis.errorbar(at, heights, spread, fmt=marker, color=colour, markersize=7, capsize=3)
    for x, height in zip(at, heights, strict=True):
        if not np.isnan(height):
            up = next((n for line, n in near.items() if abs(line - height) < NEAR), -3)
            axis.annotate(f"{height:.0f}", (x, height), (7, up), textcoords="offset points",
                          fontsize=8.5)  # fmt: skip


EXPERIMENT = Experiment(
    name="sharkey-choice",
    title="What a miner learns, and what is promised to the people in the records",
    source="after Sharkey et al. (2008), section 4",
    run=run,
    needs_data=tuple(SOURCES[table].file for table in TABLES),
    choices=(
        (
            f"{OWNERS} owners have equal parts of the records; dots are means over folds, bars a"
            " standard deviation. All kinds are asked about the same folds."
        ),
        (
            "Shared trees tell the counts of all classes, are grown with their requirement, by the"
            " exact counts, and label pseudo-data by their votes. Private trees vote themselves."
        ),
        (
            "Epsilon, and the logarithm of gamma, bound what is told of one record by replacing it"
            " with any other. k and (c, l) bound nothing of that kind."
        ),
        (
            "Which attributes and categories there are is public: private trees and plans take"
            " them from the table, where owners have to declare them."
        ),
        (
            "Randomized records report by the plan that the designer makes for a tree at that gamma"
            " about the whole record. The miner's tree is learned from their estimated counts."
        ),
        (
            "Records are made l-diverse all at one place: by anjana (crosses), and at the levels"
            " that have the most records in the most frequent class of their group (plus signs)."
        ),
    ),
)
