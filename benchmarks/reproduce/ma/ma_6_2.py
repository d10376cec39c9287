"""Ma figure 6.2: a linear classifier of iris plants from randomized groups of measurements."""

from __future__ import annotations

import pandas as pd

from benchmarks.reproduce.accuracy_curves import CLEAN, at, summarized, within
from benchmarks.reproduce.engine import Experiment, Finding, Result, Setting
from benchmarks.reproduce.ma import iris
from benchmarks.reproduce.ma import linear_runs as linear

LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
HIGH = 0.6
NEAR = 0.02

NO_STUDY = (
    "Repeating 150 records is the paper's device and no honest study: no hundred times as many"
    " flowers are so alike. The same 150 records once, at p = 0.3, stand beside it."
)


def run(setting: Setting) -> Result:
    """Learn from one sample, randomized anew at every p and in every run."""
    records = iris.sample(setting).records
    levels = (HIGH,) if setting.quick else LEVELS
    most = len(levels) / (len(levels) + 1)
    runs = linear.learned(setting.part(0.0, most), "ma-6.2", records, levels)
    means = summarized(runs)
    sizes = ", ".join(str(size) for size in records.domain.shape[:-1])
    findings = (
        Finding(None, f"MGAS makes {sizes} groups of the measurements. {NO_STUDY}"),
        _as_good(means, linear.LIKELY, "our rule, the fewest wrong"),
        _as_good(means, linear.LONGEST, "the paper's rule, the longest run"),
        within(means, linear.MOMENTS, HIGH, 2),
        linear.better_than_direct(means),
        *linear.rules(means),
        linear.estimates(means, HIGH),
        _once(setting.part(most, 1.0)),
    )
    return Result(
        {"means": means, "runs": runs},
        findings,
        lambda figure: linear.picture(figure, means, records),
    )


def _as_good(means: pd.DataFrame, curve: str, rule: str) -> Finding:
    """6.3: "almost as good as the weighting vector learned from the original data"."""
    clean, found = at(means, curve, CLEAN), at(means, curve, HIGH)
    return Finding(
        found >= clean - NEAR,
        "Even with large randomization the accuracy is almost as good as from the original data,"
        f" the paper says; by {rule}: {found:.1%} at p = {HIGH:g}, {clean:.1%} clean (we call up to"
        f" {100 * NEAR:.0f} points almost as good).",
    )


def _once(setting: Setting) -> Finding:
    """Learn from the 150 records as they are, in the groups of the repeated ones."""
    records = iris.once(setting)
    runs = linear.learned(setting, "ma-6.2 once", records, (0.3,))
    means = summarized(runs)
    return Finding(
        None,
        f"From the table once, {records.size} records at p = 0.3, the accuracy is"
        f" {at(means, linear.LIKELY, 0.3):.1%}; clean {at(means, linear.LIKELY, CLEAN):.1%}, the"
        f" most frequent class {linear.majority(records):.1%}.",
    )


EXPERIMENT = Experiment(
    name="ma-6.2",
    title="A linear classifier of iris plants from randomized groups of measurements",
    source="Ma (2006), figure 6.2",
    run=run,
    needs_data=(iris.FILE,),
    choices=(
        iris.CHOICE,
        (
            "Setosa and versicolor are joined; the class is not randomized. Accuracy is of the"
            " grouped measurements."
        ),
        linear.CHOICE,
        linear.RULE,
        linear.TESTED,
    ),
)
