"""More categories and groups of them (Ma 2.2): variances by the closed form, verdicts both ways."""

from __future__ import annotations

import pandas as pd
import pytest

from benchmarks.reproduce.engine import Setting
from benchmarks.reproduce.ma import grouping
from pramana_core.privacy import gamma, gamma_within_groups

pytestmark = pytest.mark.calibration


@pytest.mark.parametrize("size", grouping.SIZES)
def test_the_variance_of_symmetric_randomization_in_closed_form(size: int):
    """Every category keeps lambda = 1 - p K / (K - 1) of itself: errors grow by 1 / lambda."""
    table = grouping.run(Setting()).tables["sizes"]
    row = table[(table["kind"] == grouping.SAME_P) & (table["categories"] == size)].iloc[0]
    p = grouping.P
    kept = 1 - p * size / (size - 1)
    # Reports are uniform, too: their variance, divided by lambda^2, less that of the records.
    q = 1 / size
    given = size * q * (1 - q) / kept**2 - size * q * (1 - q)
    assert row["variance"] == pytest.approx(given, rel=1e-6)


def test_channels_have_what_is_kept():
    for size in grouping.SIZES:
        assert gamma(grouping.channel(grouping.SAME_GAMMA, size)) == pytest.approx(19, rel=1e-6)
    within = gamma_within_groups(grouping.grouped(grouping.SAME_GAMMA))
    assert within == pytest.approx(19, rel=1e-6)
    assert gamma_within_groups(grouping.grouped(grouping.SAME_P)) == pytest.approx(2 * 0.7 / 0.3)


@pytest.mark.parametrize(("last", "agrees"), [(3.0, True), (1.5, False)])
def test_verdict_on_variances(last: float, agrees: bool):
    table = pd.DataFrame({"kind": "k", "variance": [1.0, 2.0, last]})
    assert grouping.more_categories(table, "k").agrees is agrees


@pytest.mark.parametrize(("yes", "agrees"), [(0.5, True), (1.5, False)])
def test_verdict_on_groups(yes: float, agrees: bool):
    table = pd.DataFrame({"kind": "k", "grouped": ["no", "yes"], "variance": [1.0, yes]})
    assert grouping.less_variance(table, "k").agrees is agrees


def test_seven_verdicts(quick):
    findings = quick("ma-2.2-grouping").result.findings
    assert [f.agrees for f in findings] == [True, False, True, False, True, True, True]
