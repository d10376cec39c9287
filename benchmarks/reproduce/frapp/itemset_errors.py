"""FRAPP figures 1 and 2: errors of frequent itemsets by mechanism, and of our plan."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from benchmarks.reproduce.engine import Experiment, Figure, Result, Setting, claim, curves
from benchmarks.reproduce.frapp import mechanisms as frapp
from benchmarks.reproduce.frapp.data import (
    CENSUS_FILES,
    CLOSED_LEFT,
    GAMMA,
    HEALTH_FILES,
    MINIMUM,
    Survey,
    by_length,
    census,
    health,
)
from pramana.simulate.itemsets import MEASURES
from pramana_core.pictures import plots as style

_DESIGN_SHARE = 0.1
"""The share of the progress bar that the designer has."""

CHOICES = (
    (
        "All mechanisms are mined by Apriori, as in the paper: an itemset is looked at only if its"
        " subsets were found frequent, and the support error is over the itemsets rightly found."
    ),
    (
        "MASK's supports are estimated by a least-squares left inverse of each variable's one-hot"
        " channel, which is at least as accurate as the 2 x 2 inverses per item of its paper."
    ),
    (
        "C&P stands twice: with the smallest rho of gamma 19 that our exact amplification gives for"
        " K = 3, and with the paper's rho. Its reports do not cover itemsets longer than K."
    ),
    (
        "The designed plan is the designer's choice for itemsets of all lengths at equal gamma,"
        " for uniform distributions: it has not seen the data."
    ),
)


def mine(setting: Setting, label: str, survey: Survey, mask_finds: int) -> Result:
    """Mine a survey under every mechanism and compare with the paper."""
    first, rest = setting.part(0.0, _DESIGN_SHARE), setting.part(_DESIGN_SHARE, 1.0)
    choice, compared = frapp.designed(survey.domain, survey.records, first.progress)
    mechanisms = [*frapp.papers_mechanisms(survey.domain), choice]
    runs = frapp.measure(rest, label, survey, mechanisms)
    means = frapp.summary(runs)
    findings = (
        claim(
            f"Percent by length of the itemsets; gamma {GAMMA:g}, minimum support {MINIMUM:.0%};"
            f" means of {runs['run'].nunique()} runs ± standard errors.\n\n"
            + frapp.side_by_side(means)
        ),
        *(frapp.better(means, rival) for rival in ("MASK", "C&P")),
        *(frapp.degrades(means, rival) for rival in ("MASK", "C&P")),
        frapp.longest(means, "MASK", mask_finds),
        frapp.longest(means, "C&P", 3),
        frapp.same_law(runs),
        frapp.printed_rho(mechanisms),
        frapp.designers_choice(means, compared),
    )
    return Result(
        {"means": means, "runs": runs},
        findings,
        lambda figure: _draw(figure, means),
        height=5.6,
        facts={"gamma": {m.name: m.gamma for m in mechanisms}, "designed": compared.chosen.family},
    )


LOOKS = {
    "DET-GD": (style.BLUE, "o", "-"),
    "RAN-GD": (style.SKY, "s", "--"),
    "MASK": (style.RED, "^", "-"),
    "C&P": (style.PURPLE, "D", "-"),
    frapp.OURS: (style.GREEN, "*", "-"),
}


def _draw(figure: Figure, means: pd.DataFrame) -> None:
    panels = figure.subplots(1, 3)
    titles = ("(a) support error", "(b) false negatives", "(c) false positives")
    for axis, measured, title in zip(panels, MEASURES, titles, strict=True):
        curves(
            axis,
            means,
            "length",
            measured,
            "mechanism",
            error=f"{measured}_se",
            looks=LOOKS,
            capsize=2,
        )
        axis.set(title=title, xlabel="itemset length", xticks=sorted(set(means["length"])))
    panels[0].set(ylabel="percent", yscale="log")
    panels[0].yaxis.set_major_formatter("{x:g}")
    for axis in panels[1:]:
        axis.set_ylim(-3, max(105, axis.get_ylim()[1]))
    figure.legend(
        *panels[0].get_legend_handles_labels(), loc="outside lower left", ncols=4, fontsize=9
    )


def mine_health(setting: Setting) -> Result:
    """Mine the user's table under every mechanism and count its frequent itemsets."""
    survey = health(setting)
    result = mine(setting, "frapp-health", survey, mask_finds=5)
    return replace(result, findings=(*by_length(survey), *result.findings))


CENSUS = Experiment(
    name="frapp-census",
    title="Errors of frequent itemsets on CENSUS, mechanism by mechanism",
    source="FRAPP (2005), figure 1",
    run=lambda setting: mine(setting, "frapp-census", census(setting), mask_finds=4),
    needs_data=CENSUS_FILES,
    choices=(CLOSED_LEFT, *CHOICES),
)

HEALTH = Experiment(
    name="frapp-health",
    title="Errors of frequent itemsets on HEALTH, mechanism by mechanism",
    source="FRAPP (2005), figure 2",
    run=mine_health,
    needs_data=HEALTH_FILES,
    choices=CHOICES,
)
