"""All methods on one humped table, and what their rows say."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from pramana_core.channels import Dense, Symmetric
from pramana_core.discretize.binnings import equal_width
from pramana_core.domain import Variable
from pramana_core.errors import (
    MaskingError,
    MissingColumn,
    OptionError,
    TableError,
    UnknownVariable,
)
from pramana_core.mask import METHODS
from pramana_core.mask.comparing import (
    BOUND,
    COLUMNS,
    RAW,
    compare,
    expected_gain,
    measure_reports,
    most_gain,
    noise_for_gain,
)
from pramana_core.mask.core.inputs import inputs
from pramana_core.mask.methods.gadp import cadp, sadp
from pramana_core.plan import Block, Plan

pytestmark = pytest.mark.usefixtures("three_bandwidths")


def table(seed=1, n=300):
    rng = np.random.default_rng(seed)
    s = rng.uniform(-2, 2, n)
    x1 = 2 * (2 - s**2) + rng.standard_normal(n)
    told = pd.DataFrame({"age": s, "sex": rng.choice(["f", "m"], n)})
    return told, pd.DataFrame({"income": x1, "debt": -x1 + rng.standard_normal(n)})


@pytest.fixture(scope="module")
def all_methods(three_bandwidths):
    steps = []
    found = compare(*table(n=50), np.random.default_rng(2), on_step=lambda *s: steps.append(s))
    return found, steps


@pytest.mark.slow
def test_every_method_has_a_row_and_a_frame_of_numbers(all_methods):
    found, steps = all_methods
    assert [row.method.name for row in found.rows] == list(METHODS)
    assert all(row.failure is None for row in found.rows)
    assert steps == [(k + 1, len(METHODS)) for k in range(len(METHODS))]
    frame = found.frame(errors=True)
    assert list(frame.index) == list(METHODS)
    # Over age the columns are humps: there is no line whose slope could be kept.
    assert frame["line slope"].isna().all()
    for column in COLUMNS[1:]:
        assert np.isfinite(frame[column.name]).all(), column.name
    assert frame.loc["sadp", "noise"] > 0
    assert math.isnan(frame.loc["egadp", "noise"])
    assert frame["linked error"].notna().all()


@pytest.mark.slow
def test_methods_differ_as_they_should():
    keep, lose = ["nmegadp-shuffle", "synthetic-trees"], ["shuffle"]
    found = compare(*table(n=200), np.random.default_rng(2), [*keep, *lose, "sadp"])
    frame = found.frame()
    assert (frame.loc[keep, "curve R2"] > 0.9).all()
    assert (frame.loc[lose, "curve R2"] < 0.3).all()
    assert (frame.loc[keep, "error given S"] < 1.2).all()
    assert (frame.loc[lose, "error given S"] > 2).all()
    # A snooper who knows the curve gains by noise what was asked: 5 percent, and by no method that
    # is independent given S more than chance: 3 standard deviations of some .01.
    assert 0.02 < frame.loc["sadp", "kernel gain"] < 0.08
    assert (frame.loc[frame["independent given S"], "kernel gain"].abs() < 0.03).all()
    assert frame.loc["shuffle", "distribution moved"] == 0


@pytest.mark.slow
def test_repetitions_have_standard_errors():
    found = compare(*table(n=60), np.random.default_rng(3), ["egadp", "gadp"], repeats=3)
    moved = found["gadp"].values["correlation moved"]
    each = [run.of("pearson-largest").value for run in found["gadp"].measures]
    assert moved.value == pytest.approx(np.mean(each))
    assert moved.error == pytest.approx(np.std(each, ddof=1) / np.sqrt(3))
    assert found["egadp"].values["correlation moved"].error == pytest.approx(0, abs=1e-12)
    assert found.repeats == 3


@pytest.mark.slow
def test_a_method_that_cannot_says_so_in_its_row():
    told, x = table(n=100)
    told["sex"] = np.where(np.arange(100) == 7, "alone", told["sex"])
    found = compare(told, x, np.random.default_rng(4), ["sadp", "egadp"])
    assert found["sadp"].failure is None
    assert "nearly alone in S" in found["egadp"].failure
    frame = found.frame()
    assert math.isnan(frame.loc["egadp", "curve R2"])
    assert "nearly alone" in frame.loc["egadp", "failure"]
    with pytest.raises(OptionError, match="was not compared"):
        found["ipso"]


@pytest.mark.slow
def test_without_s_only_what_exists_is_shown():
    x = np.random.default_rng(5).standard_normal((120, 1))
    row = compare(None, x, np.random.default_rng(6), ["egadp"])["egadp"]
    assert math.isnan(row.values["curve R2"].value)
    assert np.isfinite(row.values["distribution moved"].value)


@pytest.mark.slow
def test_the_gain_adapts_where_s_tells_nearly_all():
    rng = np.random.default_rng(7)
    s = rng.standard_normal(200)
    found = compare(s, s + 0.1 * rng.standard_normal(200), rng, ["sadp"])
    assert found.gain < 0.05
    assert found["sadp"].options["noise"] > 0
    assert f"{found.gain:.3g}" in found.notes[0]


def test_wrong_calls_are_told():
    told, x = table(n=60)
    rng = np.random.default_rng(10)
    with pytest.raises(OptionError, match="repeats"):
        compare(told, x, rng, ["egadp"], repeats=0)
    with pytest.raises(OptionError, match="no masking method 'magic'"):
        compare(told, x, rng, ["magic"])
    with pytest.raises(OptionError, match="cannot be reached"):
        compare(told, x, rng, ["sadp"], gain=1.5)
    with pytest.raises(MaskingError, match="same value"):
        compare(told, x.assign(debt=1.0), rng)
    with pytest.raises(TableError, match="records"):
        compare(told[:50], x, rng)


# The noise that gives a snooper a chosen gain, against simulated snoopers.


METHODS_OF_TUNING = {"sadp": sadp, "cadp": cadp}


def tuned_table(seed, n, curved=False):
    rng = np.random.default_rng(seed)
    s = rng.uniform(-2, 2, (n, 2))
    r = rng.standard_normal((n, 2)) @ [[1.0, 0.7], [0.0, 0.8]]
    means = np.column_stack([s[:, 0] ** 2 if curved else s[:, 0], s[:, 1]])
    return s, (means + r) * [3.0, 50.0]


def explained(target, *columns):
    design = np.column_stack([np.ones(len(target)), *columns])
    rest = target - design @ np.linalg.lstsq(design, target)[0]
    return 1 - np.mean(rest**2, axis=0) / np.var(target, axis=0)


@pytest.mark.slow
@pytest.mark.parametrize(("method", "gain"), [("sadp", 0.02), ("cadp", 0.2)])
def test_a_linear_snooper_gains_what_was_asked(method, gain):
    """In 200,000 records the found gain is within a hundredth of the asked one, or .001."""
    s, x = tuned_table(1, 200_000)
    rng = np.random.default_rng(2)
    noise = noise_for_gain(method, s, x, gain, rng, snooper="lines-only")
    y = METHODS_OF_TUNING[method](s, x, rng, noise=noise).matrix
    found = np.mean(explained(x, s, y) - explained(x, s))
    assert found == pytest.approx(gain, rel=0.02, abs=0.001)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS_OF_TUNING)
def test_a_snooper_who_knows_the_curve_gains_what_was_asked(method):
    s, x = tuned_table(3, 4000, curved=True)
    rng = np.random.default_rng(4)
    noise = noise_for_gain(method, s, x, 0.1, rng)
    y = METHODS_OF_TUNING[method](s, x, rng, noise=noise).matrix
    curves = np.column_stack([s, s[:, 0] ** 2])
    found = np.mean(explained(x, curves, y) - explained(x, curves))
    assert found == pytest.approx(0.1, abs=0.01)
    straight = noise_for_gain(method, s, x, 0.1, rng, snooper="lines-only")
    assert straight > 1.2 * noise


def test_the_expected_gain_is_that_of_the_joint_law():
    """Against the regression of X on S and Y by its covariance matrix."""
    whole = np.array([[1.0, 0.4], [0.4, 1.0]])
    slopes = np.array([[0.5], [0.3]])
    rest = whole - slopes @ slopes.T
    for method, added in (("sadp", 0.7 * np.eye(2)), ("cadp", 0.7 * whole)):
        both = np.block([[np.eye(1), slopes.T], [slopes, whole + added]])
        cross = np.column_stack([slopes, whole])
        known = cross @ np.linalg.solve(both, cross.T)
        gain = np.mean(np.diag(known - slopes @ slopes.T))
        assert expected_gain(method, 0.7, rest, whole) == pytest.approx(gain, rel=1e-9)
        falling = [expected_gain(method, noise, rest, whole) for noise in (1e-6, 0.1, 1, 10, 1e6)]
        assert falling == sorted(falling, reverse=True)
        assert falling[0] == pytest.approx(np.mean(np.diag(rest)), rel=1e-4)


def test_gains_that_no_noise_gives_are_told():
    s, x = tuned_table(5, 300)
    rng = np.random.default_rng(6)
    most = most_gain(inputs(s, x), rng, "lines-only")
    for gain in (0.0, -1.0, most * 1.01, 2.0):
        with pytest.raises(OptionError, match="cannot be reached"):
            noise_for_gain("sadp", s, x, gain, rng, snooper="lines-only")
    assert noise_for_gain("sadp", None, x, 0.9, rng) > 0
    with pytest.raises(OptionError, match="no noise to choose"):
        noise_for_gain("egadp", s, x, 0.1, rng)


# PRAM reports by the measures of masking: the more noise, the less they tell and keep.


CHANGED = (0.01, 0.5, 0.95)
"""How often a report is another category than the true one: from hardly ever to pure noise."""


@pytest.fixture(scope="module")
def randomized_table():
    rng = np.random.default_rng(61)
    s = rng.standard_normal(400)
    x = pd.DataFrame({"income": 100 + 20 * (s + rng.standard_normal(400))})
    x["group"] = np.where(x["income"] > 100, "high", "low")
    return s, x


def binned(x, groups=8):
    found = equal_width(x["income"].to_numpy(), groups, 40.0, 160.0)
    return found.variable("income"), found.codes(x["income"].to_numpy())


def measured(randomized_table, changed, **options):
    s, x = randomized_table
    variable, codes = binned(x)
    plan = Plan((Block((variable,), Symmetric.from_probability(variable.size, changed)),))
    rng = np.random.default_rng(62)
    chances = plan.blocks[0].channel.apply(np.eye(variable.size), 1)
    drawn = (rng.random(len(codes))[:, None] > np.cumsum(chances[codes], axis=1)).sum(axis=1)
    return measure_reports(s, x[["income"]], plan, {"income": drawn}, rng=rng, **options)


@pytest.mark.slow
def test_stronger_channels_tell_less_and_keep_less(randomized_table):
    found = [measured(randomized_table, changed) for changed in CHANGED]
    index = [one.of("security-index").value for one in found]
    assert index == sorted(index)
    assert index[-1] - index[0] > 0.3
    gain = [one.of("snooper-gain-linear").value for one in found]
    assert gain == sorted(gain, reverse=True)
    assert gain[0] > 0.3
    slopes = [one.named("relationship-slope-linear")[0].value for one in found]
    assert slopes == sorted(slopes, reverse=True)
    assert slopes[0] > 0.9
    # What the measures are not is said.
    assert all(one.notes[-2:] == (RAW, BOUND) for one in found)
    assert "raw reports" in RAW


@pytest.mark.slow
def test_categories_are_measured_as_categories(randomized_table):
    s, x = randomized_table
    variable = Variable("group", ("high", "low"))
    plan = Plan((Block((variable,), Symmetric.from_probability(2, 0.1)),))
    codes = {"group": (x["group"] == "low").to_numpy().astype(np.uint8)}
    found = measure_reports(s, x[["group"]], plan, codes, rng=np.random.default_rng(1))
    assert found.of("security-index").value == pytest.approx(0, abs=1e-6)
    assert found.of("spread-ratio").value == pytest.approx(1)


def test_reports_that_cannot_be_measured_are_told(randomized_table):
    s, x = randomized_table
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
