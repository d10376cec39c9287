"""Classification accuracy against p: means over runs, their deviations, and a picture of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from benchmarks.reproduce.engine import Axes, Finding
from pramana_core.pictures import plots as style

AT = 0.3
RUNS, RUNS_AT, QUICK_RUNS = 5, 20, 2
"""Runs at every p, as in the paper; at `AT`, where models are compared; and with --quick."""

CLEAN = 0.0
"""The level of a model learned from the clean records."""

LOOKS = (
    (style.BLUE, "o", "-"),
    (style.GREEN, "s", "-"),
    (style.RED, "^", "--"),
    (style.ORANGE, "v", "--"),
    (style.PURPLE, "D", "-."),
)


def runs_at(p: float, *, quick: bool) -> int:
    """Return how many runs a level has."""
    if p == CLEAN:
        return 1
    return QUICK_RUNS if quick else RUNS_AT if p == AT else RUNS


def summarized(runs: pd.DataFrame) -> pd.DataFrame:
    """Return mean and deviation of `accuracy` (and the number of runs) by `curve` and `p`."""
    groups = runs.groupby(["curve", "p"], sort=False)["accuracy"]
    return groups.agg(accuracy="mean", sd="std", runs="size").reset_index()


def at(means: pd.DataFrame, curve: str, p: float) -> float:
    """Return a curve's mean accuracy at a level."""
    rows = means[(means["curve"] == curve) & (means["p"] == p)]
    return float(rows["accuracy"].iloc[0])


def within(means: pd.DataFrame, curve: str, p: float, points: float, clean: str = "") -> Finding:
    """Report whether a curve is within some points of the clean model's."""
    found, best = at(means, curve, p), at(means, clean or curve, CLEAN)
    rows = means[(means["curve"] == curve) & (means["p"] == p)]
    held = found >= best - points / 100
    return Finding(
        None,
        f"{curve}: {found:.1%} at p = {p:g} (mean of {rows['runs'].iloc[0]:g} runs), the clean"
        f" model {best:.1%}: {'within' if held else 'not within'} {points:g} points.",
    )


def spreads(means: pd.DataFrame, curve: str) -> Finding:
    """Check that the deviation grows with p (Ma 7.2.3)."""
    rows = means[(means["curve"] == curve) & (means["p"] > CLEAN)]
    first, last = rows.iloc[0], rows.iloc[-1]
    return Finding(
        last["sd"] > first["sd"],
        f"The deviation over the runs grows with p, the paper says: {first['sd']:.3f} at p ="
        f" {first['p']:g}, {last['sd']:.3f} at p = {last['p']:g} ({curve}).",
    )


def draw(
    axis: Axes, means: pd.DataFrame, curves: Sequence[str], levels: Mapping[str, float]
) -> None:
    """Draw curves with bars of a standard deviation, and levels as horizontal lines."""
    for name, (colour, marker, dash) in zip(curves, LOOKS, strict=False):
        rows = means[means["curve"] == name]
        axis.errorbar(
            rows["p"],
            100 * rows["accuracy"],
            100 * rows["sd"].fillna(0.0),
            color=colour,
            marker=marker,
            linestyle=dash,
            markersize=5,
            elinewidth=1,
            capsize=2,
            label=name,
        )
    for (name, level), colour in zip(levels.items(), (style.GREY, style.BLACK), strict=False):
        axis.axhline(100 * level, color=colour, linestyle=":", linewidth=1.2, label=name)
    low, high = axis.get_ylim()
    axis.set(
        ylim=(max(low, 0.0), min(high, 102.0)),
        xlabel="p, the probability of another category",
        ylabel="records classified right, percent",
    )
