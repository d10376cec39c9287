"""FRAPP figures 1 and 2: itemset mining under every mechanism, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from benchmarks.reproduce.experiment import Result, Setting
from benchmarks.reproduce.frapp import findings as say
from benchmarks.reproduce.frapp.accuracy import APRIORI, DIRECT, measure, summary
from benchmarks.reproduce.frapp.data import Survey
from benchmarks.reproduce.frapp.mechanisms import (
    Mechanism,
    designed,
    independent_columns,
    papers_mechanisms,
    with_our_estimator,
)
from pramana.simulate.rules import MEASURES
from pramana_core.pictures import plots as style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_DESIGN_SHARE = 0.1
"""The share of the progress bar that the designer has."""

LEVEL_BY_LEVEL = (
    "All mechanisms are mined by Apriori, as in the paper: an itemset is looked at only if its"
    " subsets were found frequent, and the support error is over the itemsets rightly found."
)
MASK_INVERSE = (
    "MASK's supports are estimated by a least-squares left inverse of each variable's one-hot"
    " channel, which is at least as accurate as the 2 x 2 inverses per item of its paper."
)
PASTED = (
    "C&P stands twice: with the smallest rho of gamma 19 that our exact amplification gives for"
    " K = 3, and with the paper's rho. Of the itemsets longer than K its reports tell nothing."
)
DESIGNER = (
    "The designed plan is the designer's choice for itemsets of all lengths at equal gamma, from"
    " uniform reference distributions: it has not seen the data."
)


def mine(setting: Setting, label: str, survey: Survey, mask_finds: int) -> Result:
    """Mine a survey under every mechanism and compare with the paper.

    Args:
        setting: seed, extent and progress.
        label: names the keys.
        survey: the records.
        mask_finds: the longest itemsets that MASK finds according to the paper.
    """
    choice, compared = designed(
        survey.domain, survey.records, lambda share: setting.progress(_DESIGN_SHARE * share)
    )
    mechanisms = _mechanisms(survey, choice, quick=setting.quick)
    runs = measure(
        setting,
        label,
        survey,
        mechanisms,
        lambda share: setting.progress(_DESIGN_SHARE + (1 - _DESIGN_SHARE) * share),
    )
    means, direct = summary(runs), summary(runs, DIRECT)
    findings = (
        say.table(means, runs["run"].nunique()),
        *(say.better(means, rival) for rival in ("MASK", "C&P")),
        *(say.degrades(means, rival) for rival in ("MASK", "C&P")),
        say.longest(means, "MASK", mask_finds),
        say.longest(means, "C&P", 3),
        say.same_law(runs[runs["mining"] == APRIORI]),
        say.printed_rho(mechanisms),
        say.designers_choice(compared),
        say.ratio(means, choice.name),
        *(say.directly(direct, name) for name in ("DET-GD", "independent", choice.name)),
    )
    return Result(
        {"means": means, "direct": direct, "runs": runs},
        findings,
        lambda figure: _draw(figure, means, choice.name),
        height=5.6,
        facts={"gamma": {m.name: m.gamma for m in mechanisms}, "designed": choice.name},
    )


def _mechanisms(survey: Survey, choice: Mechanism, *, quick: bool) -> list[Mechanism]:
    papers, alone = papers_mechanisms(survey.domain), independent_columns(survey.domain)
    made = [*papers, alone, choice]
    return made if quick else [*made, with_our_estimator(papers[0]), with_our_estimator(alone)]


_LINES = {
    "DET-GD": (style.BLUE, "o", "-"),
    "RAN-GD": (style.SKY, "s", "--"),
    "MASK": (style.RED, "^", "-"),
    "C&P": (style.PURPLE, "D", "-"),
    "independent": (style.ORANGE, "v", "-"),
    "DET-GD*": (style.BLUE, "o", ":"),
    "independent*": (style.ORANGE, "v", ":"),
}


def _draw(figure: Figure, means: pd.DataFrame, designed_name: str) -> None:
    panels = figure.subplots(1, 3)
    lines = _LINES | {designed_name: (style.GREEN, "*", "-")}
    titles = ("(a) support error", "(b) false negatives", "(c) false positives")
    for axis, measured, title in zip(panels, MEASURES, titles, strict=True):
        for name, (colour, marker, dash) in lines.items():
            own = means[means["mechanism"] == name]
            _line(axis, own, measured, name, (colour, marker, dash))
        axis.set_title(title)
        axis.set_xlabel("itemset length")
        axis.set_xticks(sorted(set(means["length"])))
    panels[0].set_ylabel("percent")
    panels[0].set_yscale("log")
    panels[0].yaxis.set_major_formatter("{x:g}")
    for axis in panels[1:]:
        axis.set_ylim(-3, max(105, axis.get_ylim()[1]))
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower left", ncols=4, fontsize=9)


def _line(
    axis: Axes, own: pd.DataFrame, measured: str, name: str, look: tuple[str, str, str]
) -> None:
    if own.empty:
        return
    colour, marker, dash = look
    axis.errorbar(
        own["length"],
        own[measured],
        own[f"{measured}_se"].fillna(0.0),
        color=colour,
        marker=marker,
        markersize=10 if marker == "*" else 5,
        linestyle=dash,
        capsize=2,
        label=name.replace("*", ", log-linear"),
    )
