"""One picture for a custodian: what a miner learns, against what each kind of release promises."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pramana.reproduce.engine.experiment import Experiment, Finding, Result, Setting
from pramana.reproduce.sharkey.cells import Cell, folds, run_cells
from pramana.reproduce.sharkey.published import recorded
from pramana.reproduce.sharkey.tables import SOURCES, table_of
from pramana.simulate.classifiers import simulate as simulate_classifier
from pramana.simulate.inputs.designs import designed
from pramana.simulate.inputs.tables import read_source
from pramana.simulate.trials import Trials
from shared.design import goal
from shared.learn.tree.growth import learn_tree
from shared.model_sharing.anonymity.requirements import Requirement
from shared.pictures import plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TABLES = ("nursery", "car")
OWNERS = 5

ANONYMOUS = "shared trees: anonymity,\nno bound for one record"
DIVERSE = "records made l-diverse,\nno bound for one record"
PRIVATE = "private trees:\nepsilon for one record"
RANDOMIZED = "randomized records (PRAM):\nepsilon = ln gamma"

COLOURS = {
    ANONYMOUS: (plots.ORANGE, "s"),
    DIVERSE: (plots.RED, "x"),
    PRIVATE: (plots.BLUE, "o"),
    RANDOMIZED: (plots.GREEN, "D"),
}
"""The promises, from the weakest kind to those that bound what one record tells."""

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
        yield Way(ANONYMOUS, f"c {c:g}, l {classes}", {"method": "labelled", "requirement": asked,
                                                     "by": "growing"})  # fmt: skip
    for c, classes in DIVERSITIES:
        asked = Requirement(c=c, l=classes)
        yield Way(DIVERSE, f"c {c:g}, l {classes}", {"method": "ldiversity", "requirement": asked,
                                                   "publisher": recorded(table)})  # fmt: skip
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
    randomized = [_randomized(setting, table, gamma) for table in chosen for gamma in GAMMAS]
    found = pd.concat([found, pd.DataFrame(randomized)], ignore_index=True)
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


def _randomized(setting: Setting, table: str, gamma: float) -> dict[str, Any]:
    """Return the row of randomized records: a designed plan, reports pooled over all owners.

    Each record reports by itself under the one plan, so that it does not matter whose it is.
    """
    target = SOURCES[table].target
    source = read_source(setting.file(SOURCES[table].file), None, None, 8)
    wanted = goal(source.domain, "tree", target=target)
    records = table_of(setting, table).records.records
    plan = designed(source.domain, "auto", gamma, wanted, records)
    held_out = 1 / folds(setting)
    trials = Trials(source, plan.plan, records, folds(setting), setting.seed, holdout=held_out)
    found = simulate_classifier(
        "tree",
        target,
        trials,
        lambda marginals, _seed: learn_tree(marginals, target),
        {},
        plan.estimator,
    ).as_dict()
    return {
        "table": table,
        "model": "tree",
        "owners": OWNERS,
        "kind": RANDOMIZED,
        "promise": f"{math.log(gamma):.1f}",
        "curve": "",
        "accuracy": found["accuracy"]["mean"],
        "accuracy_sd": found["accuracy"]["sd"],
        "majority": found["majority"]["mean"],
        "folds": folds(setting),
        "without_model": 0,
    }


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
        axis.set_title(f"{table}, {OWNERS} owners", pad=36 if place == 0 else 6)
    axes[-1].set_xlabel("what is promised: each kind from the weakest to the strongest")


def _panel(axis: Axes, found: pd.DataFrame, *, names: bool) -> None:
    place, ticks, labels = 0.0, [], []
    for kind, (colour, marker) in COLOURS.items():
        rows = found[found["kind"] == kind]
        at = place + np.arange(len(rows))
        heights = 100 * rows["accuracy"].to_numpy(dtype=float)
        spread = 100 * rows["accuracy_sd"].fillna(0).to_numpy(dtype=float)
        axis.axvspan(at[0] - 0.6, at[-1] + 0.6, color=colour, alpha=0.07, linewidth=0)
        axis.errorbar(at, heights, spread, fmt=marker, color=colour, markersize=7, capsize=3)
        for x, height in zip(at, heights, strict=True):
            words = "nothing" if np.isnan(height) else f"{height:.0f}"
            low = 100 * float(found["majority"].mean()) if np.isnan(height) else height
            axis.annotate(words, (x, low), (7, 5), textcoords="offset points", fontsize=8.5)
        if names:
            plots.above(axis, float(at.mean()), kind, "data", "center")
        ticks += list(at)
        labels += list(rows["promise"])
        place = at[-1] + 1.7
    basis, frequent = (100 * found[c].mean() for c in ("basis_accuracy", "majority"))
    axis.axhline(basis, color=plots.BLACK, linewidth=1.2)
    axis.axhline(frequent, color=plots.GREY, linewidth=1.2, linestyle="--")
    right = axis.get_yaxis_transform()
    axis.text(1.005, basis, "all records", transform=right, va="center", fontsize=9)
    axis.text(1.005, frequent, "most frequent\nclass", transform=right, va="center", fontsize=9)
    axis.set_xticks(ticks, labels, fontsize=8.5, rotation=40)
    axis.set_ylabel("right, %")
    plots.no_grid(axis, "x")


EXPERIMENT = Experiment(
    name="sharkey-choice",
    title="What a miner learns, and what is promised to the people in the records",
    source="after Sharkey et al. (2008), section 4",
    run=run,
    needs_data=tuple(SOURCES[table].file for table in TABLES),
    choices=(
        (
            f"{OWNERS} owners have equal parts of the records; dots are means over folds, bars a"
            " standard deviation."
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
            "Randomized records report by the plan that the designer makes for a tree at that gamma"
            " about the whole record. The miner's tree is learned from their estimated counts and"
            " tested on a tenth held out at random, as often as there are folds."
        ),
        "Records are made l-diverse all at one place, by anjana.",
    ),
)
