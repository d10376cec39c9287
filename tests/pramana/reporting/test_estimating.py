"""Counts estimated from whatever reports come as."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2_contingency

import pramana as pm
from pramana.reporting.estimating import EstimatorName
from pramana_core.channels import Choice, Dense, Identity, Sampled, Symmetric, Transition, Withheld
from pramana_core.domain import Domain
from pramana_core.errors import RecordsDoNotAlign
from pramana_core.estimation.estimated import choose_estimator
from pramana_core.plan import Block, Plan

BERKELEY = Domain.of(department=list("ABCDEF"), sex=["female", "male"], admitted=["no", "yes"])
CLEAN = Plan.unrandomized(BERKELEY)


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    return pm.example("berkeley")


@pytest.fixture(scope="module")
def counts(people: pd.DataFrame) -> pm.EstimatedCounts:
    return pm.estimate(people, CLEAN)


@pytest.fixture(scope="module")
def randomized(people: pd.DataFrame) -> pm.Reports:
    plan = pm.plan(BERKELEY, p=0.1)
    return pm.randomize(people, plan, pm.Keys.for_experiments(3), record_id=people.index)


def test_a_clean_frame_is_counted_as_pandas_counts_it(
    people: pd.DataFrame, counts: pm.EstimatedCounts
):
    table = counts.table(["department", "admitted"])
    wanted = pd.crosstab(people["department"], people["admitted"])
    found = table.pivot(index="department", columns="admitted", values="count")
    assert list(found.index) == list(wanted.index)
    assert list(found.columns) == list(wanted.columns)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    assert (table["se_records"] == 0).all()
    share = table["count"] / len(people)
    np.testing.assert_allclose(
        table["se_population"], np.sqrt(len(people) * share * (1 - share)), rtol=1e-12
    )


def test_shares_are_counts_by_records_with_all_their_errors(randomized: pm.Reports):
    counts = pm.estimate(randomized)
    plain = counts.table(["sex"], projected=True)
    shares = counts.table(["sex"], shares=True, projected=True)
    assert list(shares.columns) == [
        "sex", "share", "projected", "low", "high", "se_records", "se_population",
    ]  # fmt: skip
    np.testing.assert_allclose(shares.iloc[:, 1:], plain.iloc[:, 1:] / counts.records, rtol=1e-15)


def test_a_projected_table_is_possible_and_the_raw_one_stays(people: pd.DataFrame):
    few = people[(people["department"] == "A") & (people["sex"] == "female")].head(40)
    plan = pm.plan(BERKELEY, p=0.4)
    reports = pm.randomize(few, plan, pm.Keys.for_experiments(2), record_id=few.index)
    table = pm.estimate(reports).table(["department", "sex"], projected=True)
    assert table["count"].min() < 0
    assert table["projected"].min() == 0
    assert table["projected"].sum() == pytest.approx(40)
    assert table["count"].sum() == pytest.approx(40)


def test_independence_is_the_g_test_on_plain_counts(
    people: pd.DataFrame, counts: pm.EstimatedCounts
):
    found = counts.independence("sex", "admitted")
    table = pd.crosstab(people["sex"], people["admitted"])
    wanted = chi2_contingency(table, correction=False, lambda_="log-likelihood")
    assert found["statistic"] == pytest.approx(wanted.statistic)
    assert found["degrees_of_freedom"] == wanted.dof
    assert found["p_value"] == pytest.approx(wanted.pvalue)
    given = counts.independence("sex", "admitted", given=["department"])
    parts = [
        chi2_contingency(
            pd.crosstab(group["sex"], group["admitted"]), correction=False, lambda_="log-likelihood"
        ).statistic
        for _, group in people.groupby("department")
    ]
    assert given["statistic"] == pytest.approx(sum(parts), rel=1e-6)
    assert given["degrees_of_freedom"] == 6
    assert given.name == "sex and admitted given department"


@pytest.mark.parametrize(
    "form",
    [
        lambda frame: (frame, CLEAN),
        lambda frame: [(frame, CLEAN)],
        lambda frame: pm.Reports.from_frame(frame, CLEAN),
        lambda frame: [pm.Reports.from_frame(frame[:1000], CLEAN), (frame[1000:], CLEAN)],
        lambda frame: ((frame[:1000], CLEAN), [frame[1000:], CLEAN]),
    ],
    ids=["pair", "list", "reports", "several", "tuple of pairs"],
)
def test_forms_of_reports_mean_the_same(form, people: pd.DataFrame, counts: pm.EstimatedCounts):
    found = pm.estimate(form(people))
    assert found.records == len(people) == len(found)
    pd.testing.assert_frame_equal(found.table("department"), counts.table("department"))


def test_people_in_two_sources_are_refused(people: pd.DataFrame):
    keys = pm.Keys.for_experiments(1)

    def part(rows: pd.DataFrame, *names: str) -> pm.Reports:
        plan = pm.plan(BERKELEY.project(names), p=0.1)
        return pm.randomize(rows, plan, keys, record_id=rows.index)

    early, late = people[:2000], people[1990:]
    with pytest.raises(RecordsDoNotAlign):
        pm.estimate([part(early, "sex"), part(late, "sex")])
    beside = [part(early, "sex"), part(late, "admitted")]
    with pytest.raises(RecordsDoNotAlign):
        pm.estimate(beside)
    assert len(pm.estimate(pm.join(*beside, how="any"))) == len(people)


def test_owners_of_other_people_are_weighted_or_added_up(people: pd.DataFrame):
    keys = pm.Keys.for_experiments(1)
    plans = [pm.plan(BERKELEY, p=0.05), pm.plan(BERKELEY, p=0.2)]
    halves = [people[::2], people[1::2]]
    reports = [
        pm.randomize(half, plan, keys, record_id=half.index)
        for half, plan in zip(halves, plans, strict=True)
    ]
    both = pm.estimate(reports)
    assert both.estimator == "moment"
    assert "2 sources" in repr(both)
    parts = [pm.estimate(one).table("sex")["count"] for one in reports]
    added = pm.estimate(reports, estimator="sum").table("sex")
    np.testing.assert_allclose(added["count"], parts[0] + parts[1])
    weighted = both.table("sex")
    assert weighted["count"].sum() == pytest.approx(len(people))
    assert (weighted["se_population"] < added["se_population"]).all()


NOISY, OPEN, HIDDEN = Symmetric.from_probability(2, 0.1), Identity(2), Withheld(2)
USELESS = Dense.from_probabilities([[0.5, 0.5], [0.5, 0.5]])
PAIRED = Sampled((2, 2), (Choice((0,), 1 << 31, NOISY), Choice((1,), 1 << 31, NOISY)))
V = Domain.of(a=["x", "y"], b=["x", "y"]).variables


def plan_of(*channels: Transition) -> Plan:
    """A plan of the first variables, one block each."""
    return Plan(tuple(Block((v,), c) for v, c in zip(V, channels, strict=False)))


@pytest.mark.parametrize(
    ("plans", "wanted"),
    [
        ([plan_of(NOISY, OPEN)], "moment"),
        ([plan_of(NOISY, HIDDEN)], "moment"),
        ([plan_of(USELESS, NOISY)], "ml"),
        ([Plan((Block(V, PAIRED),))], "pooled"),
        ([plan_of(NOISY), plan_of(OPEN)], "moment"),
        ([plan_of(NOISY, NOISY), plan_of(NOISY)], "ml"),
        ([plan_of(NOISY, NOISY), plan_of(NOISY, HIDDEN)], "ml"),
    ],
    ids=["plain", "withheld", "no inverse", "sampled", "alike", "lacking", "one withholds"],
)
def test_auto_takes_what_serves(plans: list[Plan], wanted: str):
    assert choose_estimator(plans) == wanted


def parity(estimator: EstimatorName) -> pm.EstimatedCounts:
    """The third is the exclusive or of two coins: all pairs are independent, all three are not."""
    cells = np.array([(a, b, a ^ b) for a in (0, 1) for b in (0, 1)] * 500)
    frame = pd.DataFrame(np.where(cells, "y", "x"), columns=["a", "b", "c"])
    domain = Domain.of(a=["x", "y"], b=["x", "y"], c=["x", "y"])
    return pm.estimate(frame, Plan.unrandomized(domain), estimator=estimator, order=2)


def test_a_table_is_warned_of_where_it_is_asked_for_and_others_are_not():
    counts = parity("pooled")
    with pytest.warns(UserWarning, match="a, b, c") as told:
        counts.table(["a", "b", "c"])
    assert [one.filename for one in told] == [__file__]
    # Warnings are errors here: what was asked before is not told again.
    counts.table(["a", "b"])
    assert len(counts.to_frame()) == 6
    assert len(counts.lack_of_fit) == 1


def test_counts_that_are_filled_in_are_marked_in_their_frame_and_in_the_card():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.choice(["x", "y"], size=(3000, 3)), columns=["a", "b", "c"])
    domain = Domain.of(a=["x", "y"], b=["x", "y"], c=["x", "y"])
    design = pm.design(domain, 3000, gamma=3, learn="pairs", family="sampled-2")
    reports = pm.randomize(frame, design.plan, pm.Keys.for_experiments(1), record_id=frame.index)
    counts = pm.estimate(reports, estimator="pooled")
    assert not counts.table(["a", "b"])["filled_in"].any()
    assert counts.filled_in == ""
    table = counts.table(["a", "b", "c"], shares=True, projected=True)
    assert table["filled_in"].all()
    assert table["share"].sum() == pytest.approx(1)
    assert table["projected"].sum() == pytest.approx(1)
    assert counts.filled_in.startswith("Counts of a, b, c together are filled in from those of")
    assert counts.filled_in in counts._repr_html_()
    assert "filled_in" not in pm.estimate(reports, estimator="moment").table(["a", "b"])
