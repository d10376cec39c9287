"""Means of a variable, of all records and in groups, from whatever was reported."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import pramana as pm
from pramana_core.errors import OptionError, PramanaError, UnknownVariable

DOMAIN = pm.Domain.of(group=["a", "b", "nobody"], value=["1", "2", "5"])
VALUES = np.array([1.0, 2.0, 5.0])
LAWS = {"a": [0.5, 0.3, 0.2], "b": [0.2, 0.3, 0.5]}


def drawn(seed: int, records: int = 600) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    groups = rng.choice(["a", "b"], records, p=[0.3, 0.7])
    values = [rng.choice(["1", "2", "5"], p=LAWS[group]) for group in groups]
    return pd.DataFrame({"group": groups, "value": values})


def test_of_records_as_they_are_the_means_are_those_of_pandas():
    people = drawn(1)
    counts = pm.estimate(people, pm.Plan.unrandomized(DOMAIN))
    numbers = people["value"].astype(float)
    overall = counts.means("value", values=list(VALUES))
    assert list(overall) == ["mean", "low", "high", "se_records", "se_population"]
    assert overall["mean"].item() == pytest.approx(numbers.mean(), rel=1e-12)
    assert overall["se_records"].item() == pytest.approx(0, abs=1e-9)
    error = numbers.std(ddof=0) / np.sqrt(len(numbers))
    assert overall["se_population"].item() == pytest.approx(error, rel=1e-9)
    each = counts.means("value", "group", values=list(VALUES)).set_index("group")
    wanted = numbers.groupby(people["group"]).agg(["mean", "std", "size"])
    for group in ("a", "b"):
        mean, spread, size = wanted.loc[group]
        assert each.loc[group, "mean"] == pytest.approx(mean, rel=1e-12)
        error = spread * np.sqrt((size - 1) / size) / np.sqrt(size)
        assert each.loc[group, "se_population"] == pytest.approx(error, rel=1e-9)
        assert each.loc[group, "low"] < mean < each.loc[group, "high"]
    assert each.loc["nobody"].isna().all()


def test_representatives_stand_for_intervals():
    ages = {"age": {"cuts": [30, 60], "representatives": [22, 45, 70]}}
    people = pd.DataFrame({"age": [20.0, 35.0, 80.0, 40.0]})
    counts = pm.estimate(people, pm.Plan.unrandomized(pm.domain(people, ages)))
    assert counts.means("age")["mean"].item() == pytest.approx((22 + 45 + 70 + 45) / 4)


@pytest.mark.calibration
def test_errors_are_those_of_the_means():
    """Squared z of 150 tables has mean 1: false alarm 1e-6, both errors, both groups.

    Control: half the standard error is seen.
    """
    tables, squares = 150, []
    truth = np.array([VALUES @ LAWS[group] for group in ("a", "b")])
    plan = pm.plan(DOMAIN, p=0.2)
    for seed in range(tables):
        people = drawn(seed)
        keys = pm.Keys.for_experiments(seed)
        reports = pm.randomize(people, plan, keys, record_id=people.index)
        found = pm.estimate(reports).means("value", "group", values=list(VALUES))[:2]
        of_records = people["value"].astype(float).groupby(people["group"]).mean().to_numpy()
        away = [(found["mean"] - of_records) / found["se_records"]]
        away += [(found["mean"] - truth) / found["se_population"]]
        squares.append(np.square(away))
    # A ratio's z has longer tails than the normal's: 2.5 in place of 2 for the variance of z².
    reach = stats.norm.isf(1e-6 / 8) * np.sqrt(2.5 / tables)
    mean = np.mean(squares, axis=0)
    assert np.abs(mean - 1).max() < reach, mean
    assert (4 * mean - 1).min() > reach, "a wrong error would not be seen"


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        ({"variable": "value"}, OptionError),
        ({"variable": "value", "values": [1, 2]}, OptionError),
        ({"variable": "value", "values": [1, 2, np.inf]}, OptionError),
        ({"variable": ["value", "group"], "values": [1, 2, 5]}, OptionError),
        ({"variable": "valeu", "values": [1, 2, 5]}, UnknownVariable),
        ({"variable": "value", "values": [1, 2, 5], "level": 95}, OptionError),
    ],
)
def test_what_has_no_mean_is_refused(asked: dict[str, Any], error: type[PramanaError]):
    counts = pm.estimate(drawn(1, 20), pm.Plan.unrandomized(DOMAIN))
    with pytest.raises(error):
        counts.means(**asked)


def test_the_interval_of_a_mean_lies_among_the_values():
    """By moments counts may be negative, and a mean outside of the values; its interval is not."""
    people = pd.DataFrame({"group": ["a"] * 300, "value": ["5"] * 300})
    found = []
    for seed in range(20):
        keys = pm.Keys.for_experiments(seed)
        reports = pm.randomize(people, pm.plan(DOMAIN, p=0.4), keys, record_id=people.index)
        counts = pm.estimate(reports, estimator="moment")
        found.append(counts.means("value", values=list(VALUES)).iloc[0])
    frame = pd.DataFrame(found)
    assert (frame["mean"] > 5).any()
    assert (frame["low"] <= frame["high"]).all()
    assert frame[["low", "high"]].stack().between(1, 5).all()
