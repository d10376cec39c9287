"""`pm.BayesNet` as a data scientist uses it, on exact and on randomized records."""

from __future__ import annotations

import json

import pandas as pd
import pytest

import pramana as pm
from pramana_core.domain import Domain
from pramana_core.errors import InputError, MissingColumn

BERKELEY = Domain.of(department=list("ABCDEF"), sex=["female", "male"], admitted=["no", "yes"])
CLEAN = pm.Plan.unrandomized(BERKELEY)
LINKS = [("sex", "department"), ("sex", "admitted"), ("department", "admitted")]


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    return pm.example("berkeley")


@pytest.fixture(scope="module")
def given(people: pd.DataFrame) -> pm.BayesNet:
    return pm.BayesNet(LINKS).fit(people, CLEAN)


@pytest.fixture(scope="module")
def reports(people: pd.DataFrame) -> pm.Reports:
    plan = pm.plan(BERKELEY, p=0.1)
    return pm.randomize(people, plan, pm.Keys.for_experiments(1), record_id=people.index)


@pytest.fixture(scope="module")
def learned(reports: pm.Reports) -> pm.BayesNet:
    return pm.BayesNet(draws=50).fit(reports)


def test_options_reach_the_learners():
    net = pm.BayesNet(
        variables=["a", "b"],
        method="map",
        alpha=2.0,
        scoring={"name": "bic", "c_star": 3.0},
        order=["b", "a"],
        max_parents=1,
        refine=False,
        draws=0,
        seed=7,
    )
    assert net.job_options() == {
        "kind": "bayes-net-structure",
        "variables": ["a", "b"],
        "method": "map",
        "alpha": 2.0,
        "score": {"name": "bic", "c_star": 3.0},
        "search": {"order": ("b", "a"), "max_parents": 1, "refine": False, "method": "auto"},
        "draws": 0,
        "seed": 7,
    }


def test_parameters_have_both_errors(learned: pm.BayesNet, people: pd.DataFrame):
    frame = learned.to_frame("admitted")
    assert list(frame.columns) == [
        "department", "value", "estimate", "probability", "se_records", "se_population",
        "low", "high",
    ]  # fmt: skip
    assert (frame["se_population"] > frame["se_records"]).all()
    assert (frame["se_records"] > 0).all()
    truth = people.groupby("department")["admitted"].value_counts(normalize=True)
    errors = [
        (row.estimate - truth[row.department, row.value]) / row.se_records
        for row in frame.itertuples()
    ]
    assert max(map(abs, errors)) < 4
    everything = learned.to_frame()
    assert len(everything) == 6 + 12 + 12
    assert set(everything["given"]) >= {"", "department=A"}


def test_a_part_of_the_variables(reports: pm.Reports):
    net = pm.BayesNet(variables=["admitted", "department"], draws=0).fit(reports)
    assert list(net.feature_names_in_) == ["admitted", "department"]
    assert net.links_["confidence"].isna().all()
    one = pm.BayesNet([("sex", "admitted")]).fit(reports)
    assert list(one.feature_names_in_) == ["sex", "admitted"]
    assert one.links_[["gain", "inflation", "confidence", "compelled"]].isna().all(axis=None)


def test_columns_that_are_missing_are_named(given: pm.BayesNet):
    row = pd.DataFrame({"sex": ["male"], "Department": ["A"]})
    for ask in (given.predict, given.predict_proba):
        with pytest.warns(UserWarning, match=r"'department' \(did you mean 'Department'\?\)"):
            ask(row, "admitted")
        with pytest.raises(MissingColumn, match="'department'"):
            ask(row, "admitted", missing_columns="error")
    with pytest.warns(UserWarning, match="'department', 'admitted'.*average over"):
        given.score(row)
    assert list(given.predict(row).columns) == ["department", "admitted"]
    given.predict(row[["sex"]], missing_columns="error")


def test_a_saved_network_says_all_that_it_said(learned: pm.BayesNet, given: pm.BayesNet):
    for net in (learned, given):
        text = net.to_json()
        back = pm.BayesNet.from_json(text)
        assert repr(back) == repr(net) or net.structure is not None
        pd.testing.assert_frame_equal(back.to_frame(), net.to_frame())
        pd.testing.assert_frame_equal(back.links_, net.links_)
        assert back.to_json() == text
        assert back.job_options() == net.job_options()
    assert json.loads(learned.to_json())["learned_from"]["records"] == 4526


def test_json_of_other_origins(given: pm.BayesNet, tmp_path):
    from pramana_core.learn.common.documents import write_json
    from pramana_core.learn.networks.documents import given_network, network_json

    plain = pm.BayesNet.from_json(write_json(network_json(given_network(given.network_))))
    assert plain.edges_ == given.edges_
    assert plain.to_frame()["se_population"].isna().all()
    assert "not learned here" in repr(plain)
    pd.testing.assert_frame_equal(
        pm.BayesNet.from_json(plain.to_json()).to_frame(), plain.to_frame()
    )
    for text in ("{}", "nothing", "[]"):
        with pytest.raises(InputError):
            pm.BayesNet.from_json(text)
