"""Accuracy against epsilon: a small picture for each table, a curve for each learner."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from benchmarks.whole_record.settings import GAMMAS, TARGETS
from pramana_core.pictures.plots import (
    BLUE,
    GREEN,
    GREY,
    MARKERS,
    ORANGE,
    RED,
    curve,
    facets,
    picture,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Results = Mapping[str, Mapping[str, Any]]

COLOURS = {"naive Bayes": BLUE, "auto": GREEN, "tree": ORANGE, "linear": RED}
_EPSILONS = [math.log(gamma) for gamma in GAMMAS]


def accuracy(results: Results, ceilings: Mapping[str, Sequence[float]]) -> bytes:
    """Return the picture (PNG) of all tables: accuracy of each learner against epsilon.

    Args:
        results: figures by setting.
        ceilings: the accuracies of a trusted curator's naive Bayes at the same epsilons, by table.
    """

    def draw(figure: Figure) -> None:
        axes = facets(figure, [1.0] * len(TARGETS), 3)
        for axis, table in zip(axes, TARGETS, strict=True):
            _table(axis, table, results, ceilings.get(table, ()))
        axes[0].set_ylabel("right, %")
        axes[3].set_ylabel("right, %")
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="lower right", bbox_to_anchor=(0.98, 0.1), fontsize=9)

    return picture(draw, (10.5, 6.2), "png", "accuracy", dpi=110)


def _table(axis: Axes, table: str, results: Results, ceiling: Sequence[float]) -> None:
    for marker, (label, colour) in zip(MARKERS, COLOURS.items(), strict=False):
        points = [results.get(f"{table}, {label}, gamma {g}", {}) for g in GAMMAS]
        known = [(e, p) for e, p in zip(_EPSILONS, points, strict=True) if "accuracy" in p]
        if not known:
            continue
        means = [100 * p["accuracy"]["mean"] for _, p in known]
        curve(axis, [e for e, _ in known], means, colour, marker, label)
        clean = 100 * known[-1][1]["clean_accuracy"]["mean"]
        axis.axhline(clean, color=colour, linewidth=0.9, linestyle=":")
        majority = 100 * known[-1][1]["majority"]["mean"]
    if ceiling:
        values = [100 * value for value in ceiling]
        curve(axis, _EPSILONS, values, GREY, "x", "trusted curator", "--")
    axis.axhline(majority, color=GREY, linewidth=0.9)
    axis.set_title(table)
    axis.set_xticks(_EPSILONS, [f"{e:.2g}\n({g})" for e, g in zip(_EPSILONS, GAMMAS, strict=True)])
    axis.set_xlabel("epsilon (gamma) of the record")


NETWORK = "child, structure of 50,000 records"


def links(results: Results) -> bytes:
    """Return the picture (PNG) of a structure: missing and wrong links against epsilon."""
    found = [results[f"{NETWORK}, gamma {g}"] for g in GAMMAS]

    def draw(figure: Figure) -> None:
        (axis,) = facets(figure, [1.0], 1)
        for of, label, colour, mark in (
            ("missing", "missing", BLUE, "o"),
            ("extra", "wrong", RED, "s"),
        ):
            curve(axis, _EPSILONS, [f["randomized"][of] for f in found], colour, mark, label)
            clean = sum(f["clean"][of] for f in found) / len(found)
            axis.axhline(clean, color=colour, linewidth=0.9, linestyle=":")
        axis.axhline(found[0]["links"], color=GREY, linewidth=0.9)
        axis.set_title("child: 25 links, 50,000 records")
        axis.set_xticks(
            _EPSILONS, [f"{e:.2g}\n({g})" for e, g in zip(_EPSILONS, GAMMAS, strict=True)]
        )
        axis.set_xlabel("epsilon (gamma) of the record")
        axis.set_ylabel("links")
        axis.legend()

    return picture(draw, (6.0, 3.6), "png", "links", dpi=110)
