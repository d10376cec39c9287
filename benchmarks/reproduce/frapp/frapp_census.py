"""FRAPP figure 1: errors of frequent itemsets on CENSUS, and our designed plan beside them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from benchmarks.reproduce.engine.experiment import Experiment, Finding, Result, Setting
from benchmarks.reproduce.frapp.data import CENSUS_FILES, CLOSED_LEFT, census
from benchmarks.reproduce.frapp.mining import (
    DESIGNER,
    LEVEL_BY_LEVEL,
    MASK_INVERSE,
    PASTED,
    mine,
)

TRIAL_ERROR = (2.9, 6.7, 8.0, 7.6, 7.2, 7.0)
TRIAL_NEGATIVES, TRIAL_POSITIVES, TRIAL_RUNS = 7.0, 8.0, 8
"""A trial with sampled pairs and plain maximum likelihood, in percent: what is to be reached."""


def run(setting: Setting) -> Result:
    """Mine CENSUS under every mechanism; compare with the paper and with the trial."""
    result = mine(setting, "frapp-census", census(setting), mask_finds=4)
    means, runs = result.tables["means"], result.tables["runs"]
    ours = means[means["mechanism"] == result.facts["designed"]]
    return replace(
        result, findings=(*result.findings, *against_trial(ours, int(runs["run"].nunique())))
    )


def against_trial(ours: pd.DataFrame, runs: int) -> tuple[Finding, Finding]:
    """Compare means of some runs with the trial's, which are means too.

    Args:
        ours: a row per length, with the columns of `summary`.
        runs: how many runs the means are of.
    """
    # The trial's means are of 8 runs that vary as ours do.
    noise = ours["support_error_se"].to_numpy() * np.sqrt(1 + runs / TRIAL_RUNS)
    larger = ours["support_error"].to_numpy() > np.array(TRIAL_ERROR) + 3 * noise
    lengths = ", ".join(str(k) for k in ours["length"][larger])
    errors = " ".join(f"{e:.1f}" for e in ours["support_error"])
    negatives, positives = ours["false_negatives"].max(), ours["false_positives"].max()
    kept = negatives <= TRIAL_NEGATIVES and positives <= TRIAL_POSITIVES
    return (
        Finding(
            None,
            f"The designed plan's support errors {errors} % {'miss' if lengths else 'reach'} the"
            f" trial's {' '.join(f'{e:.1f}' for e in TRIAL_ERROR)} %"
            + (f" at length {lengths}" if lengths else "")
            + " (up to three standard errors of the difference).",
        ),
        Finding(
            None,
            f"Its false negatives are at most {negatives:.1f} % and its false positives at most"
            f" {positives:.1f} %, {'as' if kept else 'not as'} in the trial ({TRIAL_NEGATIVES:g}"
            f" and {TRIAL_POSITIVES:g} %).",
        ),
    )


EXPERIMENT = Experiment(
    name="frapp-census",
    title="Errors of frequent itemsets on CENSUS, mechanism by mechanism",
    source="FRAPP (2005), figure 1",
    run=run,
    needs_data=CENSUS_FILES,
    choices=(CLOSED_LEFT, LEVEL_BY_LEVEL, MASK_INVERSE, PASTED, DESIGNER),
)
