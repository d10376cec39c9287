"""AlAhmadi figures 31 to 36: six relationships of the store, true against masked, all methods."""

from __future__ import annotations

import numpy as np
import pandas as pd

from benchmarks.reproduce.alahmadi import grids
from benchmarks.reproduce.alahmadi.pilot import TINY, colour_of
from benchmarks.reproduce.alahmadi.versions import (
    PROPOSED,
    PreservedRelation,
    kept,
    relations_of,
    store_tables,
    versions,
)
from benchmarks.reproduce.engine import Axes, Experiment, Figure, Finding, Result, Setting
from pramana_core.pictures import plots
from pramana_core.ties import first_smallest

KEPT = 0.95
"""A relationship is called kept if slope and R^2 of the fitted values are at least this."""


def run(setting: Setting) -> Result:
    """Compare the fitted values of six relationships under every method."""
    s, x = store_tables(setting)
    fits: dict[tuple[str, int], PreservedRelation] = {}
    rows = []
    for done, version in enumerate(versions(s, x, setting, "store")):
        if version.masked is None:
            continue
        for place, relation in enumerate(relations_of(x)):
            fit = kept(relation, s, x.matrix(), version.masked.matrix(), setting)
            fits[version.method, place] = fit
            rows.append((version.method, relation.words(), fit.slope, fit.r_squared))
        setting.progress((done + 1) / (done + 2))
    found = pd.DataFrame(rows, columns=["method", "relationship", "slope", "r_squared"])
    return Result(
        {"relationships": found},
        (
            *(_all_kept(found, name) for name in PROPOSED if name in set(found["method"])),
            *(_among_x(found, name) for name in ("egadp", "shuffle")),
        ),
        lambda figure: _draw(figure, fits),
        height=grids.height(found["method"].nunique()),
    )


def _all_kept(found: pd.DataFrame, method: str) -> Finding:
    rows = found[found["method"] == method]
    least = rows[["slope", "r_squared"]].min(axis=1)
    worst = rows.iloc[first_smallest(least, scale=1.0)]
    return Finding(
        bool((least >= KEPT).all() and (rows["slope"] <= 2 - KEPT).all()),
        f"{method} keeps all six relationships: the one kept least is {worst['relationship']},"
        f" slope {worst['slope']:.3f}, R² {worst['r_squared']:.3f} (kept from {KEPT:g}).",
    )


def _among_x(found: pd.DataFrame, method: str) -> Finding:
    rows = found[(found["method"] == method) & ~found["relationship"].str.contains("S")]
    told = "; ".join(
        f"{r.relationship} slope {r.slope:.3f}, R² {r.r_squared:.3f}" for r in rows.itertuples()
    )
    return Finding(
        bool(((rows["slope"] - 1).abs() <= 1 - KEPT).all() and (rows["r_squared"] >= KEPT).all()),
        f"{method} keeps what is linear, the relationship among the confidential columns: {told}.",
    )


def _draw(figure: Figure, fits: dict[tuple[str, int], PreservedRelation]) -> None:
    rows = list(dict.fromkeys(method for method, _ in fits))
    relations = [fits[rows[0], place].relation for place in range(6)]

    def draw(axis: Axes, row: int, column: int) -> None:
        fit = fits[rows[row], column]
        ends = [float(np.min(fit.true)), float(np.max(fit.true))]
        axis.plot(ends, ends, color=plots.BLACK, linewidth=1.0)
        grids.dots(axis, fit.true, fit.masked, colour_of(rows[row]))
        grids.note(
            axis,
            f"{abs(fit.slope) if abs(fit.slope) < TINY else fit.slope:.2f}, {fit.r_squared:.2f}",
        )

    grids.grid(figure, rows, [relation.words() for relation in relations], draw)


EXPERIMENT = Experiment(
    name="alahmadi-31",
    title="Six relationships of the store: fitted values, true across, masked upwards ($)",
    source="AlAhmadi (2006), figures 31 to 36",
    run=run,
    choices=(
        "The store's 1,000 records are not published; these are drawn in its likeness.",
        (
            "X1 is expenditure, X2 debt, S age and gender. Fitted values are by kernel ridge"
            " regression, those of the masked records at the true records' values; the line is"
            " where both are equal, the numbers are slope and R²."
        ),
        f"Called kept: slope between {KEPT:g} and {2 - KEPT:g} and R² of at least {KEPT:g}.",
    ),
)
