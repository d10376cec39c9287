"""Sharkey's figures: models against owners (5), of one data set (6), against privacy (7)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.reproduce.engine import Axes, Experiment, Figure, Finding, Result, Setting, where
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
from benchmarks.reproduce.sharkey.publishing import REQUIREMENTS, Publisher
from pramana_core.model_sharing.requirements import Requirement
from pramana_core.pictures import plots

OWNERS_5, QUICK_OWNERS = (1, 2, 3, 4, 5, 7, 10), (1, 5)
MODELS_5 = {"tree": "decision trees", "naive-bayes": "naive Bayes"}
CURVES_5 = {
    "PGEN": ({"method": "pgen"}, plots.BLUE, "o", "-"),
    "BASEGEN": ({"method": "basegen"}, plots.RED, "s", "-"),
}
NEAR = 5.0
"""Points from BASIS that are called near."""

CHANGE = 0.5
"""Points by which an accuracy must move from one owner to many to be called a trend."""


def cells(setting: Setting) -> Iterator[Cell]:
    """Yield what is simulated."""
    for table in SOURCES:
        for owners in QUICK_OWNERS if setting.quick else OWNERS_5:
            for model in MODELS_5:
                for curve, (options, *_) in CURVES_5.items():
                    chosen = {"owners": owners, "model": model, **options}
                    yield Cell(table, curve, chosen, str(owners))


def run_5(setting: Setting) -> Result:
    """Simulate all tables, methods and numbers of owners."""
    found = run_cells(setting, list(cells(setting)))
    return Result(
        {"owners": found},
        tuple(_findings_5(found)),
        lambda figure: _draw_5(figure, found),
        height=6.4,
    )


def _findings_5(found: pd.DataFrame) -> Iterator[Finding]:
    for model in MODELS_5:
        for table in SOURCES:
            yield _near(found, table, model)
    for table in SOURCES:
        yield _worse(found, table)
    for table in ("car", "nursery"):
        yield _trend(found, table, "PGEN", 1)
        yield _trend(found, table, "BASEGEN", -1)
        yield _gap(found, table)
    yield _no_trend(found)
    yield _paths(found)


def _curve(found: pd.DataFrame, table: str, model: str, curve: str) -> pd.DataFrame:
    return where(found, table=table, model=model, curve=curve).sort_values("owners")


def _near(found: pd.DataFrame, table: str, model: str) -> Finding:
    rows = _curve(found, table, model, "PGEN")
    short = 100 * (rows["basis_accuracy"] - rows["accuracy"])
    return Finding(
        bool(short.max() <= NEAR),
        f"{table}, {MODELS_5[model]}: PGEN performs well against BASIS, the paper says: over all"
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


def _change(rows: pd.DataFrame) -> float:
    return float(100 * (rows["accuracy"].iloc[-1] - rows["accuracy"].iloc[0]))


def _trend(found: pd.DataFrame, table: str, curve: str, sign: int) -> Finding:
    rows = _curve(found, table, "tree", curve)
    change = _change(rows)
    words = "rises" if sign > 0 else "falls"
    return Finding(
        bool(sign * change > CHANGE),
        f"{table}: {curve}'s accuracy {words} with the number of owners, the paper says: from"
        f" {rows['accuracy'].iloc[0]:.1%} with one to {rows['accuracy'].iloc[-1]:.1%} with"
        f" {rows['owners'].iloc[-1]} (trees).",
    )


def _no_trend(found: pd.DataFrame) -> Finding:
    rows = _curve(found, "adult", "tree", "PGEN")
    change = _change(rows)
    return Finding(
        bool(abs(change) < NEAR),
        f"adult has no such trend: PGEN's trees change by {change:+.1f} points from one to"
        f" {rows['owners'].iloc[-1]} owners.",
    )


def _gap(found: pd.DataFrame, table: str) -> Finding:
    gaps = {}
    for model in MODELS_5:
        one = _curve(found, table, model, "PGEN")["accuracy"].to_numpy()
        other = _curve(found, table, model, "BASEGEN")["accuracy"].to_numpy()
        gaps[model] = 100 * float(np.mean(np.abs(one - other)))
    return Finding(
        gaps["naive-bayes"] < gaps["tree"],
        f"{table}: PGEN and BASEGEN differ less for naive Bayes than for trees:"
        f" {gaps['naive-bayes']:.1f} and {gaps['tree']:.1f} points on average.",
    )


def _paths(found: pd.DataFrame) -> Finding:
    most = float(where(found, model="tree", curve="PGEN")["path_match"].max())
    return Finding(
        most < 0.3,
        f"Trees of pseudo-data share typically less than 30 % of their paths with BASIS: at most"
        f" {most:.1%} here.",
    )


def _draw_5(figure: Figure, found: pd.DataFrame) -> None:
    axes = plots.facets(figure, [1.0] * 6, 3)
    for place, axis in enumerate(axes):
        model, table = list(MODELS_5)[place // 3], list(SOURCES)[place % 3]
        for curve, (_, colour, marker, dash) in CURVES_5.items():
            line(axis, _curve(found, table, model, curve), "owners", colour, marker, curve, dash)
        basis = _curve(found, table, model, "PGEN")["basis_accuracy"].mean()
        level(axis, basis, plots.BLACK, "-", "BASIS: all records")
        majority = _curve(found, table, model, "PGEN")["majority"].mean()
        level(axis, float(majority), plots.GREY, "--", "most frequent class")
        axis.set_title(f"{table}, {MODELS_5[model]}")
        if place >= 3:
            axis.set_xlabel("owners")
        if place % 3 == 0:
            axis.set_ylabel("right, %")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)


FIGURE_5 = Experiment(
    name="sharkey-5",
    title="Trees and naive Bayes learned from pseudo-data, against the number of owners",
    source="Sharkey et al. (2008), figure 5",
    run=run_5,
    needs_data=FILES,
    choices=(
        "One run of ten folds, where the paper has five; bars are a standard deviation of folds.",
        ADULT_WORDS,
        "BASEGEN draws records evenly over the declared domain and labels them by each tree.",
    ),
)


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
"""The difference in points that counts as equally good."""


def run_6(setting: Setting) -> Result:
    """Simulate each model of each method's pseudo-data."""
    found = run_cells(
        setting,
        [
            Cell(table, curve, {"owners": OWNERS_6, "model": model, "method": method})
            for table in TABLES
            for model in MODELS_6
            for curve, (method, _) in CURVES_6.items()
        ],
    )
    return Result(
        {"models": found},
        tuple(_findings_6(found)),
        lambda figure: _draw_6(figure, found),
        height=4.2,
    )


def _findings_6(found: pd.DataFrame) -> Iterator[Finding]:
    def right(table: str, model: str, curve: str) -> float:
        return 100 * value(found, table=table, model=model, curve=curve)

    for model, better, other in (
        ("tree", "nursery", "adult"),
        ("naive-bayes", "nursery", "adult"),
        ("conjunctive", "adult", "nursery"),
    ):
        pairs = [(right(better, model, c), right(other, model, c)) for c in CURVES_6]
        yield Finding(
            all(one > two for one, two in pairs),
            f"The {MODELS_6[model]} is better on {better} than on {other}, the paper says: "
            + ", ".join(
                f"{one:.1f} and {two:.1f} % ({c})"
                for c, (one, two) in zip(CURVES_6, pairs, strict=True)
            )
            + ".",
        )
    for table in TABLES:
        best = all(
            right(table, "tree", curve) >= right(table, model, curve) - 1e-9
            for curve in ("BASEGEN", "PGEN")
            for model in MODELS_6
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


def _draw_6(figure: Figure, found: pd.DataFrame) -> None:
    axes = plots.facets(figure, [1.0, 1.0], 2)
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


FIGURE_6 = Experiment(
    name="sharkey-6",
    title="Conjunctive rules, trees and naive Bayes learned from the same pseudo-data",
    source="Sharkey et al. (2008), figure 6",
    run=run_6,
    needs_data=tuple(SOURCES[table].file for table in TABLES),
    choices=(
        f"The number of owners is not given; here it is {OWNERS_6}.",
        ADULT_WORDS,
        "One run of ten folds, where the paper has five; bars are a standard deviation of folds.",
    ),
)


PANELS = (("nursery", "tree"), ("nursery", "naive-bayes"), ("car", "tree"))
OWNERS_7 = (1, 5, 10)
FOLDS = 3
MAIN = 5
MARGIN = 20
"""Points by which shared trees must be better at one requirement for the finding to hold."""


LD = "LD by anjana"
PRUNED = f"pruned, hits, {MAIN} owners"
PGEN = f"PGEN, hits, {MAIN} owners"
HITS = {number: f"by votes, hits, {number} owner{'s'[: number > 1]}" for number in OWNERS_7}
EXACT = f"by votes, exact, {MAIN} owners"

LOOKS = {
    LD: (plots.GREY, "x", "-"),
    PRUNED: (plots.ORANGE, "v", "-"),
    PGEN: (plots.BLUE, "o", "-"),
    HITS[1]: (plots.RED, "<", ":"),
    HITS[5]: (plots.RED, "s", "-"),
    HITS[10]: (plots.RED, ">", "--"),
    EXACT: (plots.GREEN, "^", "-"),
}

AT_7 = "(10, 3)"
"""Where distances are listed one by one."""

CLAIMED = 30.0
"""Points that the paper claims, and more."""


def named(required: Requirement) -> str:
    """Return a requirement as the axis calls it."""
    return f"({required.c:g}, {required.l})"


def ways(required: Requirement) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each curve's name and options under a requirement by the exact counts."""
    hits = Requirement(c=required.c, l=required.l, exact=False)
    yield LD, {"method": "pooled", "requirement": required}
    yield PRUNED, {"method": "pgen", "requirement": hits, "counts": "propagated",
                   "owners": MAIN}  # fmt: skip
    yield PGEN, {"method": "pgen", "requirement": hits, "by": "growing", "owners": MAIN}
    for number in OWNERS_7:
        # A requirement on hits and misses does not cover a leaf that counts all classes.
        yield HITS[number], {"method": "labelled", "requirement": hits, "by": "growing",
                             "owners": number, "tell": "hits"}  # fmt: skip
    yield EXACT, {"method": "labelled", "requirement": required, "by": "growing", "owners": MAIN}


def run_7(setting: Setting) -> Result:
    """Simulate every way under every requirement."""
    chosen = REQUIREMENTS[::3] if setting.quick else REQUIREMENTS
    more = {} if setting.quick else {"folds": FOLDS}
    cells = [
        Cell(
            table,
            curve,
            {"owners": 1, "model": model, **more, **options},
            named(required),
            Publisher.of(table).way if curve == LD else None,
        )
        for table in dict.fromkeys(table for table, _ in PANELS)
        for required in chosen
        if (required.l or 0) <= SOURCES[table].classes
        for _, model in [panel for panel in PANELS if panel[0] == table]
        for curve, options in ways(required)
    ]
    found = run_cells(setting, cells)
    found["requirement"] = [f"({c:g}, {classes:g})" for c, classes in zip(found["c"], found["l"],
                                                                    strict=True)]  # fmt: skip
    found.loc[found["without_model"] == found["folds"], ["accuracy", "accuracy_sd"]] = np.nan
    return Result(
        {"privacy": found},
        tuple(_findings_7(found)),
        lambda figure: _draw_7(figure, found),
        height=10.5,
    )


def _findings_7(found: pd.DataFrame) -> Iterator[Finding]:
    yield _stops(found)
    yield _beats_7(found, PGEN, "tree")
    yield _beats_7(found, PGEN, "naive-bayes")
    yield _beats_7(found, HITS[MAIN], "tree")
    yield _goes_on(found)
    yield from _distances(found)
    yield _refused(found)
    yield _owners(found)


def _rows(found: pd.DataFrame, table: str, model: str, curve: str) -> pd.DataFrame:
    return where(found, table=table, model=model, curve=curve).set_index("requirement")


def _stops(found: pd.DataFrame) -> Finding:
    """LD publishes nothing from l = 4, c = 10 on."""
    rows = _rows(found, "nursery", "tree", LD)
    nothing = [required for required, right in rows["accuracy"].items() if np.isnan(right)]
    expected = [
        named(r) for r in REQUIREMENTS
        if (r.l or 0) > 4 or ((r.l or 0) == 4 and (r.c or 0) <= 10)
    ]  # fmt: skip
    return Finding(
        set(nothing) == set(expected) & set(rows.index),
        f"nursery: {LD} stops to publish at l = 4 and c = 10, the paper says: nothing at"
        f" {', '.join(map(str, nothing)) or 'no requirement'}.",
    )


def _beats_7(found: pd.DataFrame, curve: str, model: str) -> Finding:
    rows, other = (_rows(found, "nursery", model, c)["accuracy"] for c in (curve, LD))
    gaps = (100 * (rows - other)).dropna()
    return Finding(
        bool(gaps.min() > CLAIMED),
        f"nursery, {model}: {curve} is more than {CLAIMED:g} points better than {LD} wherever that"
        f" publishes, the paper says: by {gaps.min():.1f} ({gaps.idxmin()}) to {gaps.max():.1f}"
        f" points ({gaps.idxmax()}).",
    )


def _goes_on(found: pd.DataFrame) -> Finding:
    rows, other = (_rows(found, "nursery", "tree", c)["accuracy"] for c in (PGEN, LD))
    going = rows[other.isna()].dropna()
    words = ", ".join(f"{100 * right:.1f} % at {required}" for required, right in going.items())
    return Finding(
        len(going) > 0,
        f"nursery: shared trees go on where {LD} has stopped, with some 30 %, the paper says: PGEN"
        f" has {words or 'nothing there'}.",
    )


def _distances(found: pd.DataFrame) -> Iterator[Finding]:
    for curve in (EXACT, HITS[MAIN], PGEN):
        rows, other = (_rows(found, "nursery", "tree", c)["accuracy"] for c in (curve, LD))
        if AT_7 not in rows.index:
            continue
        gap = 100 * (rows[AT_7] - other[AT_7])
        yield Finding(
            bool(gap >= MARGIN),
            f"nursery at l = 3, c = 10: {curve} has {100 * rows[AT_7]:.1f} %, {LD}"
            f" {100 * other[AT_7]:.1f} %: {gap:+.1f} points.",
        )


def _refused(found: pd.DataFrame) -> Finding:
    rows = _rows(found, "nursery", "tree", PRUNED)
    return Finding(
        None,
        f"nursery: grown first and then pruned, {int(rows['refused'].sum())} of"
        f" {int(rows['trees'].sum())} trees are refused. Their first question takes out the records"
        " whose health is not recommended, all of one class; merged with the rest, nothing of the"
        " tree is left. Trees that are grown with the requirement ask something else.",
    )


def _owners(found: pd.DataFrame) -> Finding:
    means = {n: _rows(found, "nursery", "tree", HITS[n])["accuracy"].mean() for n in OWNERS_7}
    words = ", ".join(f"{100 * right:.1f} % with {n}" for n, right in means.items())
    first, second = means[5] - means[1], means[10] - means[5]
    return Finding(
        bool(abs(second) < abs(first)),
        "The number of owners has a diminishing effect, the paper says: labelled by votes, over all"
        f" requirements {words}.",
    )


def _draw_7(figure: Figure, found: pd.DataFrame) -> None:
    axes = plots.facets(figure, [1.0] * len(PANELS), 1)
    for axis, (table, model) in zip(axes, PANELS, strict=True):
        _panel(axis, where(found, table=table, model=model))
        axis.set_title(f"{table}, {'decision tree' if model == 'tree' else 'naive Bayes'}")
    axes[-1].set_xlabel("(c, l), from the weakest requirement to the strongest of each l")
    figure.legend(
        *axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=9
    )


def _panel(axis: Axes, found: pd.DataFrame) -> None:
    order = list(dict.fromkeys(found["requirement"]))
    for curve, (colour, marker, dash) in LOOKS.items():
        rows = found[found["curve"] == curve].assign(
            place=lambda r: [order.index(required) for required in r["requirement"]]
        )
        line(axis, rows, "place", colour, marker, curve, dash)
    level(axis, float(found["basis_accuracy"].mean()), plots.BLACK, "-", "BASIS")
    level(axis, float(found["majority"].mean()), plots.GREY, "--", "most frequent class")
    axis.set_xticks(range(len(order)), order, fontsize=8.5)
    axis.set_ylabel("right, %")


FIGURE_7 = Experiment(
    name="sharkey-7",
    title="Accuracy against privacy: shared trees, and records made l-diverse",
    source="Sharkey et al. (2008), figure 7",
    run=run_7,
    needs_data=tuple(SOURCES[table].file for table in dict.fromkeys(t for t, _ in PANELS)),
    choices=(
        (
            "LD is full-domain generalization of all training records at one place. By anjana"
            " 1.2.3 it is greedy, the attribute of most values first; its levels were found once"
            " and are checked on the records here."
        ),
        "A model of published records classifies test records generalized to the same levels.",
        (
            "'hits' is the paper's measure, by hits and misses alone; 'exact' and LD take the"
            " counts of all classes. 'pruned' is grown freely and pruned with equation 1; the"
            " others are grown with the requirement."
        ),
        f"One run of {FOLDS} folds, where the paper has five of ten.",
        "A point that is not there: nothing could be published, or no owner could release a tree.",
    ),
)
