"""FRAPP table 3: how many itemsets of each length are frequent in CENSUS."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd

from benchmarks.reproduce.engine import Experiment, Figure, Finding, Result, Setting
from benchmarks.reproduce.frapp.data import CENSUS_FILES, MINIMUM, Survey, census
from pramana_core.pictures import plots as style


def run(setting: Setting) -> Result:
    """Count frequent itemsets with both readings of the intervals and compare with the table."""
    left, right = census(setting), census(setting, side="right")
    table = pd.DataFrame(
        {
            "length": np.arange(len(left.printed)) + 1,
            "printed": left.printed,
            "computed": counts(left),
            "closed_right": counts(right),
        }
    )
    return Result(
        {"itemsets": table},
        (*by_length(left), _sides(table)),
        lambda figure: _draw(figure, table),
        facts={"records": left.records},
    )


def counts(survey: Survey) -> list[int]:
    """Return the number of frequent itemsets of each length the paper prints."""
    lengths = Counter(map(len, survey.itemsets))
    return [lengths[k + 1] for k in range(len(survey.printed))]


def by_length(survey: Survey) -> list[Finding]:
    """Compare the numbers of frequent itemsets with the printed ones, length by length."""
    return [
        Finding(
            found == printed,
            f"Length {k}: {found} itemsets have a support of {MINIMUM:.0%} or more; the paper"
            f" prints {printed}.",
        )
        for k, (found, printed) in enumerate(zip(counts(survey), survey.printed, strict=True), 1)
    ]


def _sides(table: pd.DataFrame) -> Finding:
    """Table 1 prints intervals closed on the right: is that how they were cut?"""
    left = int((table["computed"] - table["printed"]).abs().sum())
    right = int((table["closed_right"] - table["printed"]).abs().sum())
    return Finding(
        right < left,
        "Table 1 prints intervals closed on the right. Cut so, the counts are off by"
        f" {right} itemsets in all ({', '.join(map(str, table['closed_right']))}); closed on the"
        f" left, by {left}.",
    )


def _draw(figure: Figure, table: pd.DataFrame) -> None:
    axis = figure.subplots()
    bars = (
        ("printed", "printed in table 3", style.GREY),
        ("computed", "computed, intervals closed on the left", style.BLUE),
        ("closed_right", "computed, closed on the right", style.SKY),
    )
    for offset, (column, name, colour) in enumerate(bars):
        drawn = axis.bar(
            table["length"] + 0.27 * (offset - 1), table[column], 0.25, color=colour, label=name
        )
        axis.bar_label(drawn, fontsize=9, padding=2)
    style.no_grid(axis, "x")
    axis.set(xticks=table["length"], xlabel="itemset length", ylabel="frequent itemsets")
    axis.legend(loc="upper right")


EXPERIMENT = Experiment(
    name="frapp-table-3",
    title="Numbers of frequent itemsets in CENSUS",
    source="FRAPP (2005), table 3",
    run=run,
    needs_data=CENSUS_FILES,
    choices=(
        "native-country has the categories United-States and every other value, unknown ones too.",
    ),
)
