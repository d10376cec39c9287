"""Sharkey figure 5: trees and naive Bayes of pseudo-data, against the number of owners."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from benchmarks.reproduce.engine import Experiment, Figure, Finding, Result, Setting, where
from benchmarks.reproduce.sharkey.cells import (
    ADULT_WORDS,
    FILES,
    SOURCES,
    Cell,
    level,
    line,
    run_cells,
    value,
)
from pramana_core.pictures import plots

OWNERS, QUICK_OWNERS = (1, 2, 3, 4, 5, 7, 10), (1, 5)
MODELS = {"tree": "decision trees", "naive-bayes": "naive Bayes"}
CURVES = {
    "PGEN": ({"method": "pgen"}, plots.BLUE, "o", "-"),
    "BASEGEN": ({"method": "basegen"}, plots.RED, "s", "-"),
    "labelled by votes (ours)": ({"method": "labelled"}, plots.GREEN, "^", "-"),
}
OURS, LOCAL = "labelled by votes (ours)", "own tree"

AT = 5
"""Owners at which methods are compared, as in figure 6."""

NEAR = 5.0
"""So many points from BASIS are called near."""

WORTH = 0.01
"""A distance below this cannot be said to be halved."""

CHANGE = 0.5
"""Points by which an accuracy must move from one owner to many to be called a trend."""


def cells(setting: Setting) -> Iterator[Cell]:
    """Yield what is simulated."""
    for table in SOURCES:
        for owners in QUICK_OWNERS if setting.quick else OWNERS:
            for model in MODELS:
                for curve, (options, *_) in CURVES.items():
                    chosen = {"owners": owners, "model": model, **options}
                    yield Cell(table, curve, chosen, str(owners))
            alone = {"owners": owners, "model": "tree", "method": "local"}
            yield Cell(table, LOCAL, alone, str(owners))


def run(setting: Setting) -> Result:
    """Simulate all tables, methods and numbers of owners."""
    found = run_cells(setting, list(cells(setting)))
    return Result(
        {"owners": found},
        tuple(_findings(found)),
        lambda figure: _draw(figure, found),
        height=6.4,
    )


def _findings(found: pd.DataFrame) -> Iterator[Finding]:
    for model in MODELS:
        for table in SOURCES:
            yield _near(found, table, model)
    for table in SOURCES:
        yield _worse(found, table)
    for table in ("car", "nursery"):
        yield _trend(found, table, "PGEN", 1)
        yield _trend(found, table, "BASEGEN", -1)
        yield _gap(found, table)
    yield _no_trend(found)
    for table in SOURCES:
        yield _beats(found, table)
        yield _halves(found, table)
    yield _paths(found)


def _curve(found: pd.DataFrame, table: str, model: str, curve: str) -> pd.DataFrame:
    return where(found, table=table, model=model, curve=curve).sort_values("owners")


def _near(found: pd.DataFrame, table: str, model: str) -> Finding:
    rows = _curve(found, table, model, "PGEN")
    short = 100 * (rows["basis_accuracy"] - rows["accuracy"])
    return Finding(
        bool(short.max() <= NEAR),
        f"{table}, {MODELS[model]}: PGEN performs well beside BASIS, the paper says: over all"
        f" numbers of owners it has {short.min():.1f} to {short.max():.1f} points less (near is"
        f" within {NEAR:g}).",
    )


def _worse(found: pd.DataFrame, table: str) -> Finding:
    rows = _curve(found, table, "tree", "BASEGEN")
    short = 100 * (rows["basis_accuracy"] - rows["accuracy"])
    return Finding(
        bool(short.min() > 0),
        f"{table}: BASEGEN's trees are always worse than BASIS: by {short.min():.1f} to"
        f" {short.max():.1f} points.",
    )


def _trend(found: pd.DataFrame, table: str, curve: str, sign: int) -> Finding:
    rows = _curve(found, table, "tree", curve)
    change = 100 * (rows["accuracy"].iloc[-1] - rows["accuracy"].iloc[0])
    words = "rises" if sign > 0 else "falls"
    return Finding(
        bool(sign * change > CHANGE),
        f"{table}: {curve}'s accuracy {words} with the number of owners, the paper says: from"
        f" {rows['accuracy'].iloc[0]:.1%} with one to {rows['accuracy'].iloc[-1]:.1%} with"
        f" {rows['owners'].iloc[-1]} (trees).",
    )


def _no_trend(found: pd.DataFrame) -> Finding:
    rows = _curve(found, "adult", "tree", "PGEN")
    change = 100 * (rows["accuracy"].iloc[-1] - rows["accuracy"].iloc[0])
    return Finding(
        bool(abs(change) < NEAR),
        f"adult has no such trend: PGEN's trees change by {change:+.1f} points from one to"
        f" {rows['owners'].iloc[-1]} owners.",
    )


def _gap(found: pd.DataFrame, table: str) -> Finding:
    gaps = {}
    for model in MODELS:
        one = _curve(found, table, model, "PGEN")["accuracy"].to_numpy()
        other = _curve(found, table, model, "BASEGEN")["accuracy"].to_numpy()
        gaps[model] = 100 * float(np.mean(np.abs(one - other)))
    return Finding(
        gaps["naive-bayes"] < gaps["tree"],
        f"{table}: PGEN and BASEGEN differ less for naive Bayes than for trees:"
        f" {gaps['naive-bayes']:.1f} and {gaps['tree']:.1f} points on average.",
    )


def _at(found: pd.DataFrame, table: str, curve: str, column: str = "accuracy") -> float:
    return value(found, column, table=table, curve=curve, model="tree", owners=AT)


def _beats(found: pd.DataFrame, table: str) -> Finding:
    pgen, base, own = (_at(found, table, curve) for curve in ("PGEN", "BASEGEN", LOCAL))
    return Finding(
        None,
        f"{table}, {AT} owners: trees of PGEN's data have {pgen:.1%}, of BASEGEN's {base:.1%}; an"
        f" owner's own tree has {own:.1%} on average.",
    )


def _halves(found: pd.DataFrame, table: str) -> Finding:
    ours, own = _at(found, table, OURS), _at(found, table, LOCAL)
    basis = _at(found, table, OURS, "basis_accuracy")
    if basis - own < WORTH:
        return Finding(
            None,
            f"{table}, {AT} owners: a tree of all records ({basis:.1%}) is hardly better than an"
            f" owner's own ({own:.1%}); of data labelled by votes: {ours:.1%}.",
        )
    left = (basis - ours) / (basis - own)
    return Finding(
        None,
        f"{table}, {AT} owners: a tree of data labelled by the votes of all trees has {ours:.1%};"
        f" of the distance between an owner's own tree and one of all records ({basis:.1%})"
        f" {left:.0%} is left: {'at most' if left <= 0.5 else 'more than'} half.",
    )


def _paths(found: pd.DataFrame) -> Finding:
    most = float(where(found, model="tree", curve="PGEN")["path_match"].max())
    return Finding(
        most < 0.3,
        f"Trees of pseudo-data share typically less than 30 % of their paths with BASIS: at most"
        f" {most:.1%} here.",
    )


def _draw(figure: Figure, found: pd.DataFrame) -> None:
    axes = plots.facets(figure, [1.0] * 6, 3)
    for place, axis in enumerate(axes):
        model, table = list(MODELS)[place // 3], list(SOURCES)[place % 3]
        for curve, (_, colour, marker, dash) in CURVES.items():
            line(axis, _curve(found, table, model, curve), "owners", colour, marker, curve, dash)
        basis = _curve(found, table, model, "PGEN")["basis_accuracy"].mean()
        level(axis, basis, plots.BLACK, "-", "BASIS: all records")
        own = _curve(found, table, "tree", LOCAL)
        if model == "tree":
            line(axis, own, "owners", plots.GREY, "x", "an owner's own tree", ":")
        level(axis, float(own["majority"].mean()), plots.GREY, "--", "most frequent class")
        axis.set_title(f"{table}, {MODELS[model]}")
        if place >= 3:
            axis.set_xlabel("owners")
        if place % 3 == 0:
            axis.set_ylabel("right, %")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)


EXPERIMENT = Experiment(
    name="sharkey-5",
    title="Trees and naive Bayes learned from pseudo-data, against the number of owners",
    source="Sharkey et al. (2008), figure 5",
    run=run,
    needs_data=FILES,
    choices=(
        "One run of ten folds, where the paper has five; bars are a standard deviation of folds.",
        ADULT_WORDS,
        "BASEGEN draws records evenly over the declared domain and labels them by each tree.",
    ),
)
