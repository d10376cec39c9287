"""AlAhmadi figures 2 and 4: the hump of expenditure over age, and what each method makes of it."""

from __future__ import annotations

import numpy as np
import pandas as pd

from benchmarks.reproduce.alahmadi.pilot import colour_of
from benchmarks.reproduce.alahmadi.versions import (
    CONFIDENTIAL,
    EXISTING,
    Relation,
    kept,
    store_tables,
    versions,
)
from benchmarks.reproduce.engine import Experiment, Figure, Finding, Result, Setting
from pramana_core.mask.pictures import share, trend
from pramana_core.mixed.table import MixedTable
from pramana_core.pictures import plots

PRINTED = {"expenditure": (296.775, 59.299), "debt": (504.692, 59.054)}
"""Mean and standard deviation in dollars (table 1)."""

FLAT, KEPT = 0.1, 0.99
"""Below the first slope the hump is gone; the issue asks of NMEGADP at least the second."""

COLUMNS = 5
"""So many pictures stand beside each other."""

_RELATION = Relation("1", (), told=True)


def run(setting: Setting) -> Result:
    """Mask the store by every method and compare E(Y1 | S) with E(X1 | S)."""
    s, x = store_tables(setting)
    clouds: dict[str, MixedTable] = {"true records": x}
    rows = []
    for done, version in enumerate(versions(s, x, setting, "store")):
        if version.masked is not None:
            clouds[version.method] = version.masked
            fit = kept(_RELATION, s, x.matrix(), version.masked.matrix(), setting)
            rows.append((version.method, fit.slope, fit.r_squared))
        setting.progress((done + 1) / (done + 3))
    found = pd.DataFrame(rows, columns=["method", "slope", "r_squared"])
    return Result(
        {"hump": found},
        (*_moments(x), *(_destroys(found, name) for name in EXISTING), *_keeps(found)),
        lambda figure: _draw(figure, s, clouds, found),
        height=0.9 + 2.0 * -(-len(clouds) // COLUMNS),
    )


def _moments(x: MixedTable) -> list[Finding]:
    """Hold the generator's table against table 1: within what chance explains."""
    found = []
    for name in CONFIDENTIAL:
        values = x.project([name]).matrix()[:, 0]
        mean, deviation = PRINTED[name]
        z = (values.mean() - mean) / (deviation / np.sqrt(len(values)))
        found.append(
            Finding(
                bool(abs(z) < 4 and abs(values.std() / deviation - 1) < 0.15),
                f"{name}: mean {values.mean():.1f} and standard deviation {values.std():.1f}; table"
                f" 1 prints {mean:.1f} and {deviation:.1f} (drawn, not the paper's own records).",
            )
        )
    return found


def _destroys(found: pd.DataFrame, method: str) -> Finding:
    slope, r_squared = _of(found, method)
    return Finding(
        abs(slope) < FLAT,
        f"{method} destroys the hump (figure 4): slope of E(Y1 | S) on E(X1 | S) {slope:.3f}, R²"
        f" {r_squared:.3f} (destroyed below a slope of {FLAT:g}).",
    )


def _keeps(found: pd.DataFrame) -> list[Finding]:
    told = []
    for method in ("nmegadp", "nmegadp-shuffle"):
        slope, r_squared = _of(found, method)
        told.append(
            Finding(
                min(slope, r_squared) >= KEPT,
                f"{method} keeps the hump: slope {slope:.3f}, R² {r_squared:.3f} (kept from"
                f" {KEPT:g}).",
            )
        )
    return told


def _of(found: pd.DataFrame, method: str) -> tuple[float, float]:
    row = found[found["method"] == method].iloc[0]
    return float(row["slope"]), float(row["r_squared"])


def _draw(
    figure: Figure, s: MixedTable, clouds: dict[str, MixedTable], found: pd.DataFrame
) -> None:
    lines = -(-len(clouds) // COLUMNS)
    axes = list(figure.subplots(lines, COLUMNS, squeeze=False).ravel())
    age = s.project(["age"])
    slopes = found.set_index("method")["slope"]
    for axis, (name, table) in zip(axes, clouds.items(), strict=False):
        values = table.project(["expenditure"]).matrix()[:, 0]
        colour = plots.GREY if name not in slopes else colour_of(name)
        axis.plot(age.matrix()[:, 0], values, ".", markersize=2.5, color=colour, alpha=0.5,
                  markeredgewidth=0, rasterized=True)  # fmt: skip
        axis.plot(*trend(age.columns[0], values), color=plots.BLACK, linewidth=1.4)
        slope = (
            f"\nslope {abs(slopes[name]) if abs(slopes[name]) < 0.005 else slopes[name]:.2f}"
            if name in slopes
            else "\n "
        )
        axis.set_title(f"{name}{slope}", fontsize=9)
        axis.tick_params(labelsize=8)
    for axis in axes[len(clouds) :]:
        axis.set_visible(False)
    share(axes[: len(clouds)])
    for place, axis in enumerate(axes[: len(clouds)]):
        if place % COLUMNS:
            axis.set_yticklabels([])
        else:
            axis.set_ylabel("expenditure, $", fontsize=8.5)
        if place + COLUMNS < len(clouds):
            axis.set_xticklabels([])
        else:
            axis.set_xlabel("age, years", fontsize=8.5)


EXPERIMENT = Experiment(
    name="alahmadi-4",
    title="Expenditure over age: the true records, and masked by every method",
    source="AlAhmadi (2006), figures 2 and 4, table 1",
    run=run,
    choices=(
        "The store's own records are not published; these are drawn in the likeness of table 1.",
        (
            "The line joins means of 20 groups of age. The slope is that of fitted E(Y1 | S) on"
            " E(X1 | S), both by kernel ridge regression."
        ),
    ),
)
