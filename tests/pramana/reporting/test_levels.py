"""Counts of groups of categories: they add up, and their errors are those of sums."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import pramana as pm
from pramana_core.errors import OptionError, UnknownCategory
from pramana_core.marginals.score_interval import normal_quantile

PLACES = [f"p{i:03}" for i in range(120)]
GROUPS = {
    "north": {"coast": PLACES[:10], "hills": PLACES[10:50]},
    "south": PLACES[50:],
}


@pytest.fixture(scope="module")
def estimated() -> tuple[pm.EstimatedCounts, pd.Series]:
    chances = 1 / np.arange(1, 121)
    drawn = np.random.default_rng(4).choice(PLACES, 20_000, p=chances / chances.sum())
    people = pd.DataFrame({"place": drawn})
    plan = pm.plan(pm.Domain.of(place=PLACES), {"place": {"kind": "subset", "gamma": 19}})
    reports = pm.randomize(people, plan, pm.Keys.for_experiments(7), record_id=people.index)
    return pm.estimate(reports), people["place"].value_counts()


def test_levels_add_up_and_small_categories_are_one_row(estimated):
    counts, _ = estimated
    found = counts.levels("place", GROUPS)
    assert found[found["level"] == 1]["count"].sum() == pytest.approx(counts.records)
    for label, row in found.set_index("category").iterrows():
        inside = found[found["within"] == label]
        if len(inside):
            assert inside["count"].sum() == pytest.approx(row["count"])
            assert inside["categories"].sum() == row["categories"]
    leaves = counts.table("place").set_index("place")
    others = found[found["pooled"]]
    assert len(others)
    assert (others["category"] == [f"{n} others" for n in others["categories"]]).all()
    shown = found[found["category"].isin(PLACES)].set_index("category")
    simultaneous = normal_quantile(1 - 0.05 / len(PLACES))
    large = shown["count"] > simultaneous * shown["se_population"]
    assert large[shown["within"].isin(others["within"])].all(), "one small category has its own row"
    for column in ("count", "se_records", "se_population", "low", "high"):
        expected = leaves.loc[shown.index, column].to_numpy()
        np.testing.assert_allclose(shown[column], expected, rtol=1e-6, atol=1e-6)


def test_groups_err_as_they_say(estimated):
    """Within 5 errors; the control: a sum of independent categories has another error."""
    counts, true = estimated
    found = counts.levels("place", GROUPS).set_index("category")
    for label, places in (("coast", PLACES[:10]), ("hills", PLACES[10:50]), ("south", PLACES[50:])):
        off = found.loc[label, "count"] - true.reindex(places, fill_value=0).sum()
        assert abs(off) < 5 * found.loc[label, "se_records"]
    leaves = counts.table("place").set_index("place").loc[PLACES[50:], "se_records"]
    independent = np.sqrt(np.square(leaves).sum())
    assert found.loc["south", "se_records"] < 0.95 * independent


def test_the_row_of_small_categories_covers_their_records():
    """In at least 17 of 20 samples; the control is a row chosen at 1.96 errors, without more."""
    names = [f"p{i:03}" for i in range(500)]
    chances = 1 / np.arange(1, 501)
    plan = pm.plan(pm.Domain.of(place=names), {"place": {"kind": "subset", "gamma": 19}})
    covered = control = 0
    for seed in range(20):
        drawn = np.random.default_rng(seed).choice(names, 20_000, p=chances / chances.sum())
        people = pd.DataFrame({"place": drawn})
        keys = pm.Keys.for_experiments(seed)
        counts = pm.estimate(pm.randomize(people, plan, keys, record_id=people.index))
        true = people["place"].value_counts()
        found = counts.levels("place", {"all": names}).set_index("category")
        (label,) = found.index[found["pooled"]]
        expected = true.drop(found.index, errors="ignore").sum()
        covered += found.loc[label, "low"] <= expected <= found.loc[label, "high"]
        each = counts.table("place").set_index("place")
        small = each.index[each["count"] <= 1.96 * each["se_population"]]
        # Cells' errors correlate negatively, so this error is an upper limit.
        error = np.sqrt(np.square(each.loc[small, "se_population"]).sum())
        off = each.loc[small, "count"].sum() - true.reindex(small, fill_value=0).sum()
        control += abs(off) <= 1.96 * error
    assert covered >= 17
    assert control < 10


@pytest.mark.parametrize(
    ("groups", "error"),
    [
        ({"all": [*PLACES, "q"]}, UnknownCategory),
        ({"all": PLACES[1:]}, OptionError),
        ({"all": PLACES, "again": PLACES[:1]}, OptionError),
        ({"all": "p000"}, OptionError),
        ([PLACES], OptionError),
        ({"all": PLACES, "none": []}, OptionError),
        ({"all": PLACES, "none": {}}, OptionError),
        ({"all": {"": PLACES}}, OptionError),
        ({"all": [*PLACES[1:], 0]}, OptionError),
        ({"all": PLACES, "a": ["b"], "b": ["a"]}, OptionError),
        ({"a": ["c"], "b": ["c"], "c": PLACES}, OptionError),
        ({"a": ["b", *PLACES[1:]], "b": PLACES[:1]}, OptionError),
        ({"g0": PLACES} | {f"g{i + 1}": [f"g{i}"] for i in range(5000)}, OptionError),
        ({}, OptionError),
    ],
)
def test_groups_that_are_no_partition_are_refused(estimated, groups, error):
    with pytest.raises(error) as refused:
        estimated[0].levels("place", groups)
    assert refused.value.where == "groups"


def test_a_category_named_like_a_pooled_row_is_not_pooled():
    """`3 others` is a frequent category here, beside a pooled row of that name."""
    names = ["3 others", "a", "b", "c"]
    plan = pm.Plan.unrandomized(pm.Domain.of(place=names))
    found = pm.estimate(pd.DataFrame({"place": ["3 others"] * 50}), plan).levels(
        "place", {"all": names}
    )
    rows = found.loc[found["level"] == 2, ["category", "pooled", "categories", "count"]]
    assert rows.to_numpy().tolist() == [["3 others", False, 1, 50], ["3 others", True, 3, 0]]
