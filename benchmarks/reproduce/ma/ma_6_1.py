"""Ma figure 6.1: a linear classifier of lenses from randomized records."""

from __future__ import annotations

import numpy as np
import pandas as pd

from benchmarks.reproduce.accuracy_curves import AT, CLEAN, at, summarized, within
from benchmarks.reproduce.data.ma_tables import TrueRecords
from benchmarks.reproduce.engine import Experiment, Finding, Result, Setting
from benchmarks.reproduce.ma import linear_runs as linear
from pramana_core.domain import Domain, Variable
from pramana_core.errors import TableError

RECORDS = 6_000
FILE = "lenses.csv"

SHARES = {
    "age": (0.5, 0.3, 0.2),
    "spectacle-prescription": (0.9, 0.1),
    "astigmatic": (0.2, 0.8),
    "tear-production-rate": (0.2, 0.8),
}
"""Table 6.1."""

NONE = "3"
"""The class that stays; 1 and 2 are joined."""

LEVELS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45)


def sample(setting: Setting) -> TrueRecords:
    """Draw records by table 6.1 and give them their class in the lenses file.

    Raises:
        OptionError: the file is not in the data folder.
        TableError: it does not have each combination once.
    """
    table = pd.read_csv(setting.file(FILE), dtype=str)
    keys = table[list(SHARES)].apply(lambda column: column.astype(int) - 1)
    none = np.full([len(shares) for shares in SHARES.values()], -1)
    none[tuple(keys[name].to_numpy() for name in SHARES)] = table["class"] == NONE
    if len(table) != none.size or none.min() < 0:
        raise TableError(f"{FILE} does not have each combination once.", where=FILE)
    rng = setting.rng("ma-6.1")
    codes = {
        name: rng.choice(len(shares), RECORDS, p=shares).astype(np.uint8)
        for name, shares in SHARES.items()
    }
    codes[linear.TARGET] = none[tuple(codes.values())].astype(np.uint8)
    return TrueRecords(_domain(), codes)


def _domain() -> Domain:
    variables = [
        Variable(name, labels, tuple(map(float, labels)))
        for name, shares in SHARES.items()
        for labels in (tuple(str(k + 1) for k in range(len(shares))),)
    ]
    return Domain((*variables, Variable(linear.TARGET, ("lenses", "none"))))


def run(setting: Setting) -> Result:
    """Learn from one sample, randomized anew at every p and in every run."""
    records = sample(setting)
    levels = (0.1, AT, 0.45) if setting.quick else LEVELS
    runs = linear.learned(setting, "ma-6.1", records, levels)
    means = summarized(runs)
    findings = (
        _clean(means),
        within(means, linear.LIKELY, AT, 3),
        within(means, linear.MOMENTS, AT, 3),
        _reasonable(means),
        linear.better_than_direct(means),
        *linear.rules(means),
        linear.estimates(means, AT),
    )
    return Result(
        {"means": means, "runs": runs},
        findings,
        lambda figure: linear.picture(figure, means, records),
        facts={"majority": linear.majority(records)},
    )


def _clean(means: pd.DataFrame) -> Finding:
    return Finding(
        None,
        f"From the clean records the pocket algorithm has {at(means, linear.LIKELY, CLEAN):.1%}"
        " right.",
    )


def _reasonable(means: pd.DataFrame) -> Finding:
    """6.3 calls the accuracies reasonable: we ask for more than the direct weights have."""
    levels = [p for p in sorted(set(means["p"])) if p > CLEAN]
    better = [p for p in levels if at(means, linear.LIKELY, p) > at(means, linear.DIRECT, p)]
    return Finding(
        len(better) == len(levels),
        "The accuracies are reasonable, the paper says. They are above those of weights learned"
        f" directly from the reports at {len(better)} of {len(levels)} levels.",
    )


EXPERIMENT = Experiment(
    name="ma-6.1",
    title="A linear classifier of lenses from randomized records",
    source="Ma (2006), figure 6.1",
    run=run,
    needs_data=(FILE,),
    choices=(
        (
            "Classes 1 and 2 are joined. The categories are the numbers 1 to 3, the class is not"
            " randomized (table 6.2)."
        ),
        "p ends at 0.45: at 0.5 the reports on the binary variables say nothing.",
        linear.CHOICE,
        linear.RULE,
        linear.TESTED,
    ),
)
