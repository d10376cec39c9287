"""FRAPP's tables CENSUS and HEALTH, and how many of their itemsets are frequent (table 3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from benchmarks.reproduce.engine import Experiment, Figure, Finding, Result, Setting, claim
from pramana.simulate.itemsets import Supports, chosen
from pramana_core.discretize import interval_labels
from pramana_core.domain import Domain, Variable
from pramana_core.errors import MissingColumn, TableError
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.learn.common.options import RuleOptions
from pramana_core.learn.rules.itemsets import items_of
from pramana_core.learn.rules.mining import mine_itemsets
from pramana_core.marginals.counts import Codes, ReportedCounts
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

CLOSED_LEFT = (
    "Intervals are closed on the left: table 3's counts come out so, and not with the right-closed"
    " ones that table 1 prints."
)


@dataclass(frozen=True)
class Attribute:
    """A column and how it becomes categories.

    Numbers are cut at `cuts`; labels must be among `labels`. With `rest`, the last label stands for
    every value that is not another label.
    """

    name: str
    cuts: tuple[float, ...] = ()
    labels: tuple[str, ...] = ()
    rest: bool = False

    @property
    def variable(self) -> Variable:
        """The categories in code order."""
        if self.labels:
            return Variable(self.name, self.labels)
        return Variable(self.name, interval_labels(self.cuts))

    def codes(self, column: pd.Series[str], *, side: str = "left") -> Codes:
        """Replace values by codes; `side` is the side on which intervals are closed."""
        made = self._of_labels(column) if self.labels else self._of_numbers(column, side)
        if bad := int((made < 0).sum()):
            raise TableError(
                f"Column {self.name!r} has {bad} values that are not"
                f" {'among its categories' if self.labels else 'numbers'}.",
                where=self.name,
                remedy=f"Its categories are {list(self.variable.categories)}.",
            )
        return made.astype(np.uint8)

    def _of_labels(self, column: pd.Series[str]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        values = pd.Index(column.str.strip())
        made = np.asarray(pd.Index(self.labels).get_indexer(values), dtype=np.int64)
        return np.where(made < 0, len(self.labels) - 1, made) if self.rest else made

    def _of_numbers(
        self, column: pd.Series[str], side: str
    ) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64)
        # numpy names the side on which equal values are put: right of a cut is closed on the left.
        put = np.searchsorted(self.cuts, numbers, side="right" if side == "left" else "left")
        return np.where(np.isfinite(numbers), put, -1)


CENSUS = (
    Attribute("age", cuts=(35, 55, 75)),
    Attribute("fnlwgt", cuts=(1e5, 2e5, 3e5, 4e5)),
    Attribute("hours-per-week", cuts=(20, 40, 60, 80)),
    Attribute(
        "race", labels=("White", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other", "Black")
    ),
    Attribute("sex", labels=("Female", "Male")),
    Attribute("native-country", labels=("United-States", "Other"), rest=True),
)
"""FRAPP table 1."""

HEALTH = (
    Attribute("AGE", cuts=(20, 40, 60, 80)),
    Attribute("BDDAY12", cuts=(7, 15, 30, 60)),
    Attribute("DV12", cuts=(7, 15, 30, 60)),
    Attribute("PHONE", labels=("Yes, phone number given", "Yes, no phone number given", "No")),
    Attribute("SEX", labels=("Male", "Female")),
    Attribute("INCFAM20", labels=("Less than $20,000", "$20,000 or more")),
    Attribute("HEALTH", labels=("Excellent", "Very Good", "Good", "Fair", "Poor")),
)
"""FRAPP table 2."""


@dataclass(frozen=True)
class Survey:
    """Records ready to be randomized; `printed` are the paper's counts of itemsets by length."""

    domain: Domain
    codes: Mapping[str, Codes]
    printed: tuple[int, ...]

    @cached_property
    def _counts(self) -> ReportedCounts:
        return ReportedCounts(self.codes, {v.name: v.size for v in self.domain})

    @property
    def records(self) -> int:
        """The number of records."""
        return self._counts.records

    @cached_property
    def itemsets(self) -> Supports:
        """The truly frequent itemsets with their supports; items are all categories."""
        exact = EstimatedMarginals(self._counts, Plan.unrandomized(self.domain))
        return chosen(mine_itemsets(exact, items_of(self.domain), RuleOptions(MINIMUM)))


def domain_of(attributes: Sequence[Attribute]) -> Domain:
    """Return the domain of some attributes: no data needed."""
    return Domain(tuple(attribute.variable for attribute in attributes))


def census(setting: Setting, *, side: str = "left") -> Survey:
    """Read CENSUS: both parts of the UCI table "adult", all 48,842 records (FRAPP table 1)."""
    return _survey(setting, CENSUS_FILES, CENSUS, (19, 102, 203, 165, 64, 10), side)


def health(setting: Setting) -> Survey:
    """Read a table of HEALTH's form: numbers of AGE, BDDAY12 and DV12, labels of FRAPP table 2."""
    return _survey(setting, HEALTH_FILES, HEALTH, (23, 123, 292, 361, 250, 86, 12), "left")


def _survey(
    setting: Setting,
    files: Sequence[str],
    attributes: Sequence[Attribute],
    printed: tuple[int, ...],
    side: str,
) -> Survey:
    frame = pd.concat([_read(setting, name, attributes) for name in files])
    codes = {a.name: a.codes(frame[a.name], side=side) for a in attributes}
    return Survey(domain_of(attributes), codes, printed)


def _read(setting: Setting, name: str, attributes: Sequence[Attribute]) -> pd.DataFrame:
    frame = pd.read_csv(setting.file(name), dtype=str, keep_default_na=False)
    missing = [a.name for a in attributes if a.name not in frame.columns]
    if missing:
        raise MissingColumn(
            f"The table {name} has no column {', '.join(missing)}.",
            where=missing[0],
            remedy=f"It needs {', '.join(a.name for a in attributes)}.",
        )
    return frame


def run_table_3(setting: Setting) -> Result:
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
    off = {c: int((table[c] - table["printed"]).abs().sum()) for c in ("computed", "closed_right")}
    sides = claim(
        "Table 1 prints intervals closed on the right. Cut so, the counts are off by"
        f" {off['closed_right']} itemsets in all ({', '.join(map(str, table['closed_right']))});"
        f" closed on the left, by {off['computed']}.",
        off["closed_right"] < off["computed"],
    )
    return Result(
        {"itemsets": table},
        (*by_length(left), sides),
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
        claim(
            f"Length {k}: {found} itemsets have a support of {MINIMUM:.0%} or more; the paper"
            f" prints {printed}.",
            found == printed,
        )
        for k, (found, printed) in enumerate(zip(counts(survey), survey.printed, strict=True), 1)
    ]


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


TABLE_3 = Experiment(
    name="frapp-table-3",
    title="Numbers of frequent itemsets in CENSUS",
    source="FRAPP (2005), table 3",
    run=run_table_3,
    needs_data=CENSUS_FILES,
    choices=(
        "native-country has the categories United-States and every other value, unknown ones too.",
    ),
)
