"""FRAPP's tables CENSUS and HEALTH, and how many of their itemsets are frequent (table 3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pandas as pd

from benchmarks.reproduce.engine import Claim, Figure, Result, Setting
from benchmarks.reproduce.tables import TrueRecords, groupings, read_records
from pramana.simulate.itemsets import Supports, chosen
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.learn.common.options import RuleOptions
from pramana_core.learn.rules.itemsets import items_of
from pramana_core.learn.rules.mining import mine_itemsets
from pramana_core.pictures import plots as style
from pramana_core.plan import Plan

GAMMA = 19.0
"""What (rho_1, rho_2) = (5 %, 50 %) allows (FRAPP 7)."""

RHO_1 = 0.05
"""The prior of the property whose posterior is bounded (FRAPP 7)."""

MINIMUM = 0.02
"""The least support of a frequent itemset (FRAPP 7)."""

CENSUS_FILES = ("adult-train.csv.gz", "adult-test.csv.gz")
HEALTH_FILES = ("health.csv",)


CENSUS, HEALTH = groupings("census"), groupings("health")
"""FRAPP tables 1 and 2."""

PRINTED_CENSUS = (19, 102, 203, 165, 64, 10)
PRINTED_HEALTH = (23, 123, 292, 361, 250, 86, 12)
"""The papers' counts of frequent itemsets by length (table 3)."""


def census(setting: Setting, *, closed: str = "left") -> TrueRecords:
    """Read CENSUS: both parts of the UCI table "adult", all 48,842 records (FRAPP table 1)."""
    return read_records(setting, CENSUS_FILES, CENSUS, closed=closed)


def health(setting: Setting) -> TrueRecords:
    """Read a table of HEALTH's form: numbers of AGE, BDDAY12 and DV12, labels of FRAPP table 2."""
    return read_records(setting, HEALTH_FILES, HEALTH)


def frequent(records: TrueRecords) -> Supports:
    """Return the truly frequent itemsets with their supports; items are all categories."""
    exact = EstimatedMarginals(records.counts(), Plan.unrandomized(records.domain))
    return chosen(mine_itemsets(exact, items_of(records.domain), RuleOptions(MINIMUM)))


def run_table_3(setting: Setting) -> Result:
    """Count frequent itemsets with both readings of the intervals and compare with the table."""
    left, right = census(setting), census(setting, closed="right")
    printed = PRINTED_CENSUS
    table = pd.DataFrame({"length": np.arange(len(printed)) + 1, "printed": printed})
    for column, records in (("computed", left), ("closed_right", right)):
        lengths = Counter(map(len, frequent(records)))
        table[column] = [lengths[k] for k in table["length"]]
    off = {c: int((table[c] - table["printed"]).abs().sum()) for c in ("computed", "closed_right")}
    sides = Claim(
        "Table 1 prints intervals closed on the right. Cut so, the counts are off by"
        f" {off['closed_right']} itemsets in all ({', '.join(map(str, table['closed_right']))});"
        f" closed on the left, by {off['computed']}.",
        off["closed_right"] < off["computed"],
    )
    return Result(
        {"itemsets": table},
        (*by_length(frequent(left), printed), sides),
        _draw,
        facts={"records": left.size},
    )


def by_length(itemsets: Supports, printed: tuple[int, ...]) -> Iterator[Claim]:
    """Compare the counts of frequent itemsets with the printed ones, length by length."""
    lengths = Counter(map(len, itemsets))
    for length, wanted in enumerate(printed, 1):
        yield Claim(
            f"Length {length}: {lengths[length]} itemsets have a support of {MINIMUM:.0%} or more;"
            f" the paper prints {wanted}.",
            lengths[length] == wanted,
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
