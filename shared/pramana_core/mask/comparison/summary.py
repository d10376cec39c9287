"""The few measures that a comparison shows of each method, out of all that are taken."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from pramana_core.mask.measures.core.compared import Measure, Measures

Group = Literal["utility", "security"]
Reduce = Callable[[Sequence[float]], float]


@dataclass(frozen=True)
class Column:
    """A column of the comparison.

    Attributes:
        name: its heading.
        group: whether it is about use or about what is given away.
        measure: the measure that it shows.
        given: of which models, by what they predict from: "S" or "others"; None for measures that
            are of no model.
        reduce: what makes one number of those of several columns of X.
        words: what it says, and which value is best.
    """

    name: str
    group: Group
    measure: str
    given: Literal["S", "others"] | None
    reduce: Reduce
    words: str


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


COLUMNS: tuple[Column, ...] = (
    Column(
        "line slope",
        "utility",
        "relationship-slope-linear",
        "S",
        _mean,
        "How far fitted lines over S rise in the masked table where they rise by 1 in the true"
        " one; 1 is right. The mean over X; NaN where there are no such lines.",
    ),
    Column(
        "curve slope",
        "utility",
        "relationship-slope-kernel",
        "S",
        _mean,
        "The same of kernel fits over S.",
    ),
    Column(
        "curve R2",
        "utility",
        "relationship-r2-kernel",
        "S",
        _mean,
        "How closely kernel fits over S follow those of the true table; 1 is right.",
    ),
    Column(
        "error given S",
        "utility",
        "mse-ratio-kernel",
        "S",
        max,
        "Squared errors on true records of a kernel model over S that was learned on the masked"
        " table, over those of one learned on the true table; 1 is right. The worst of X.",
    ),
    Column(
        "error given all others",
        "utility",
        "mse-ratio-kernel",
        "others",
        max,
        "The same of models over S and the other columns of X.",
    ),
    Column(
        "correlation moved",
        "utility",
        "pearson-largest",
        None,
        max,
        "How far the Pearson correlation that moved most did; 0 is right.",
    ),
    Column(
        "distribution moved",
        "utility",
        "distribution-distance",
        None,
        max,
        "The Kolmogorov-Smirnov distance of masked from true columns; 0 is right. The worst of X.",
    ),
    Column(
        "kernel gain",
        "security",
        "snooper-gain-kernel",
        None,
        _mean,
        "How much more of X a snooper with curves of any shape explains from S and Y than from S"
        " alone; 0 is safe, and negative numbers are chance. The mean over X.",
    ),
    Column(
        "linear gain",
        "security",
        "snooper-gain-linear",
        None,
        _mean,
        "The same of a snooper who knows the curves of X over S and has straight lines over what Y"
        " adds.",
    ),
    Column(
        "canonical correlation",
        "security",
        "canonical-correlation",
        None,
        max,
        "The largest of X with Y beyond curves in S; 0 is safe, and chance leaves some.",
    ),
    Column(
        "security index",
        "security",
        "security-index",
        None,
        min,
        "The share of the most exposed combination of X that stays unknown given Y and curves over"
        " S; compare the methods, for S alone leaves less than 1 unknown.",
    ),
    Column(
        "linked",
        "security",
        "linkage-among-alike",
        None,
        max,
        "How often Y points to the right one of ten people alike in S; a tenth is guessing.",
    ),
    Column(
        "near true values",
        "security",
        "near-true-values",
        None,
        max,
        "Records whose masked value is within 1 % of a standard deviation of their own true one;"
        " about 6 of 1,000 are chance where S tells little.",
    ),
)
"""What a comparison shows, utility before security."""


@dataclass(frozen=True)
class ColumnScore:
    """A column's number for one method.

    Attributes:
        value: the number, the mean over repetitions; NaN where it does not exist.
        error: its standard error: over repetitions of the masking if there are several (the table
            stays the same); of one repetition the measure's own, over records, where it has one
            and no other column of X shares the number.
    """

    value: float
    error: float | None


def shown(column: Column, runs: Sequence[Measures], told: Sequence[str]) -> ColumnScore:
    """Return a column's number of the measures of one or more repetitions."""
    found = [list(_of(column, run, told)) for run in runs]
    values = [_reduced(column, rows) for rows in found]
    if any(math.isnan(value) for value in values):
        return ColumnScore(math.nan, None)
    if len(values) > 1:
        return ColumnScore(
            float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values)))
        )
    only = found[0]
    return ColumnScore(values[0], only[0].error if len(only) == 1 else None)


def _reduced(column: Column, rows: Sequence[Measure]) -> float:
    values = [row.value for row in rows if not math.isnan(row.value)]
    return float(column.reduce(values)) if values else math.nan


def _of(column: Column, run: Measures, told: Sequence[str]) -> Iterable[Measure]:
    """Yield the measures of a column; of models, those given all of S or given all others."""
    rows = run.named(column.measure)
    if column.given is None:
        yield from rows
        return
    for row in rows:
        used = row.about.partition(" given ")[2].split(", ")
        if set(used) <= set(told) if column.given == "S" else not set(used) <= set(told):
            yield row
