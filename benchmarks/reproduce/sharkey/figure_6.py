"""Sharkey figure 6: conjunctive rules, trees and naive Bayes of the same pseudo-data."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from benchmarks.reproduce.engine import Axes, Experiment, Figure, Finding, Result, Setting, where
from benchmarks.reproduce.sharkey.cells import ADULT_WORDS, SOURCES, Cell, run_cells, value
from pramana_core.pictures import plots

OWNERS = 5
TABLES = ("adult", "nursery")
MODELS = {"conjunctive": "conjunctive rule", "tree": "decision tree", "naive-bayes": "naive Bayes"}
CURVES = {
    "BASEGEN": ("basegen", plots.RED),
    "BASIS": ("pooled", plots.BLACK),
    "PGEN": ("pgen", plots.BLUE),
}

ALIKE = 2.0
"""So many points apart is equally good."""


def run(setting: Setting) -> Result:
    """Simulate each model of each method's pseudo-data."""
    found = run_cells(
        setting,
        [
            Cell(table, curve, {"owners": OWNERS, "model": model, "method": method})
            for table in TABLES
            for model in MODELS
            for curve, (method, _) in CURVES.items()
        ],
    )
    return Result(
        {"models": found}, tuple(_findings(found)), lambda figure: _draw(figure, found), height=4.2
    )


def _findings(found: pd.DataFrame) -> Iterator[Finding]:
    def right(table: str, model: str, curve: str) -> float:
        return 100 * value(found, table=table, model=model, curve=curve)

    for model, better, other in (
        ("tree", "nursery", "adult"),
        ("naive-bayes", "nursery", "adult"),
        ("conjunctive", "adult", "nursery"),
    ):
        pairs = [(right(better, model, c), right(other, model, c)) for c in CURVES]
        yield Finding(
            all(one > two for one, two in pairs),
            f"The {MODELS[model]} is better on {better} than on {other}, the paper says: "
            + ", ".join(
                f"{one:.1f} and {two:.1f} % ({c})"
                for c, (one, two) in zip(CURVES, pairs, strict=True)
            )
            + ".",
        )
    for table in TABLES:
        best = all(
            right(table, "tree", curve) >= right(table, model, curve) - 1e-9
            for curve in ("BASEGEN", "PGEN")
            for model in MODELS
        )
        yield Finding(
            best,
            f"{table}: trees are the best of the three models, the paper says: of PGEN's data they"
            f" have {right(table, 'tree', 'PGEN'):.1f} %, naive Bayes"
            f" {right(table, 'naive-bayes', 'PGEN'):.1f} %, the rule"
            f" {right(table, 'conjunctive', 'PGEN'):.1f} %.",
        )
    one, two = right("nursery", "naive-bayes", "PGEN"), right("nursery", "naive-bayes", "BASEGEN")
    yield Finding(
        abs(one - two) <= ALIKE,
        f"nursery: naive Bayes is equally good with both: {one:.1f} % with PGEN, {two:.1f} % with"
        f" BASEGEN (within {ALIKE:g} points).",
    )
    one, two = right("adult", "naive-bayes", "PGEN"), right("adult", "naive-bayes", "BASEGEN")
    yield Finding(
        one > two,
        f"adult: naive Bayes is better with PGEN than with BASEGEN: {one:.1f} and {two:.1f} %.",
    )
    one, two = right("adult", "conjunctive", "BASEGEN"), right("adult", "conjunctive", "PGEN")
    yield Finding(
        one - two > ALIKE,
        f"adult: the conjunctive rule is much better with BASEGEN than with PGEN, the paper says:"
        f" {one:.1f} and {two:.1f} % (the most frequent class has"
        f" {100 * float(found[found['table'] == 'adult']['majority'].mean()):.1f} %).",
    )
    worst = float(np.max(100 * np.abs(found["class_match"] - found["accuracy"])))
    yield Finding(
        None,
        f"Class match and accuracy differ by up to {worst:.1f} points; the paper finds them very"
        " similar.",
    )


def _draw(figure: Figure, found: pd.DataFrame) -> None:
    axes = plots.facets(figure, [1.0, 1.0], 2)
    for axis, table in zip(axes, TABLES, strict=True):
        _bars(axis, found[found["table"] == table])
        axis.set_title(f"{table}, {OWNERS} owners")
    axes[0].set_ylabel("right, %")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)


def _bars(axis: Axes, found: pd.DataFrame) -> None:
    places = np.arange(len(MODELS))
    for shift, (curve, (_, colour)) in enumerate(CURVES.items()):
        rows = [where(found, model=m, curve=curve).iloc[0] for m in MODELS]
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
    axis.set_xticks(places, list(MODELS.values()))
    axis.set_ylim(0, 100)
    plots.no_grid(axis, "x")


EXPERIMENT = Experiment(
    name="sharkey-6",
    title="Conjunctive rules, trees and naive Bayes learned from the same pseudo-data",
    source="Sharkey et al. (2008), figure 6",
    run=run,
    needs_data=tuple(SOURCES[table].file for table in TABLES),
    choices=(
        f"The number of owners is not told; here it is {OWNERS}.",
        ADULT_WORDS,
        "One run of ten folds, where the paper has five; bars are a standard deviation of folds.",
    ),
)
