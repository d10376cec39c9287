"""PRAM reports by the measures of masking: the more noise, the less they tell and keep."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pramana_core.channels import Dense, Symmetric
from pramana_core.discretize.binnings import equal_width
from pramana_core.domain import Variable
from pramana_core.errors import MissingColumn, OptionError, TableError, UnknownVariable
from pramana_core.mask.comparison import measure_reports
from pramana_core.mask.comparison.comparing import BOUND, RAW
from pramana_core.plan import Block, Plan

CHANGED = (0.01, 0.3, 0.6, 0.95)
"""How often a report is another category than the true one: from hardly ever to pure noise."""


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(61)
    s = rng.standard_normal(800)
    x = pd.DataFrame({"income": 100 + 20 * (s + rng.standard_normal(800))})
    x["group"] = np.where(x["income"] > 100, "high", "low")
    return s, x


def binned(x, groups=8):
    found = equal_width(x["income"].to_numpy(), groups, 40.0, 160.0)
    return found.variable("income"), found.codes(x["income"].to_numpy())


def measured(table, changed, **options):
    s, x = table
    variable, codes = binned(x)
    plan = Plan((Block((variable,), Symmetric.from_probability(variable.size, changed)),))
    rng = np.random.default_rng(62)
    chances = plan.blocks[0].channel.apply(np.eye(variable.size), 1)
    drawn = (rng.random(len(codes))[:, None] > np.cumsum(chances[codes], axis=1)).sum(axis=1)
    return measure_reports(s, x[["income"]], plan, {"income": drawn}, rng=rng, **options)


@pytest.mark.slow
def test_stronger_channels_tell_less_and_keep_less(table):
    found = [measured(table, changed) for changed in CHANGED]
    index = [one.of("security-index").value for one in found]
    assert index == sorted(index)
    assert index[-1] - index[0] > 0.3
    gain = [one.of("snooper-gain-linear").value for one in found]
    assert gain == sorted(gain, reverse=True)
    assert gain[0] > 0.3
    slopes = [one.named("relationship-slope-linear")[0].value for one in found]
    assert slopes == sorted(slopes, reverse=True)
    assert slopes[0] > 0.9


@pytest.mark.slow
def test_what_the_measures_are_not_is_said(table):
    found = measured(table, 0.3)
    assert found.notes[-2:] == (RAW, BOUND)
    assert "raw reports" in RAW


@pytest.mark.slow
def test_categories_are_measured_as_categories(table):
    s, x = table
    variable = Variable("group", ("high", "low"))
    plan = Plan((Block((variable,), Symmetric.from_probability(2, 0.1)),))
    codes = {"group": (x["group"] == "low").to_numpy().astype(np.uint8)}
    found = measure_reports(s, x[["group"]], plan, codes, rng=np.random.default_rng(1))
    assert found.of("security-index").value == pytest.approx(0, abs=1e-6)
    assert found.of("spread-ratio").value == pytest.approx(1)


def test_reports_that_cannot_be_measured_are_told(table):
    s, x = table
    variable, codes = binned(x, 3)
    plan = Plan((Block((variable,), Symmetric.from_probability(3, 0.2)),))
    rng = np.random.default_rng(1)
    income = x[["income"]]

    def measure(plan, reports, columns=income):
        return measure_reports(s, columns, plan, reports, rng=rng)

    with pytest.raises(MissingColumn, match="no reports"):
        measure(plan, {})
    with pytest.raises(UnknownVariable):
        measure(plan, {"income": codes}, income.rename(columns={"income": "other"}))
    with pytest.raises(TableError, match="codes 0 to 2"):
        measure(plan, {"income": codes + 1})
    with pytest.raises(TableError, match="codes 0 to 2"):
        measure(plan, {"income": codes / 2})
    with pytest.raises(TableError, match="records"):
        measure(plan, {"income": codes[:-1]})
    plain = Plan((Block((Variable("income", tuple("abc")),), Symmetric.from_probability(3, 0.2)),))
    with pytest.raises(OptionError, match="representatives"):
        measure(plain, {"income": codes})
    wide = Dense.from_probabilities([[0.5, 0.25, 0.125, 0.125]] * 2 + [[0.25] * 4])
    with pytest.raises(OptionError, match="reported in 4"):
        measure(Plan((Block((variable,), wide),)), {"income": codes})
