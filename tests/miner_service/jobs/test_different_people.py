"""In a study whose owners hold different people every kind of job starts by its defaults."""

from __future__ import annotations

import re

import numpy as np
import pytest

from miner_service.http.pages.job_forms import job_forms
from pramana_core.channels import Symmetric
from pramana_core.domain import Variable
from pramana_core.plan import Block, Plan
from tests.miner_service.conftest import build, job_specs, starting
from tests.miner_service.http.pages.browsers import Browser
from tests.miner_service.masking import masked

SPECS = {**job_specs("a", "b"), "regression": {"target": "debt"}}
"""What each kind needs; `model-sharing` joins no records."""

PLAN = Plan(
    tuple(Block((Variable(n, ("x", "y")),), Symmetric.from_probability(2, 0.1)) for n in "ab")
)
OWNERS = {"north": range(200), "south": range(1000, 1300)}


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    """A miner with a study for each thing that a study may say of its people."""
    with starting(tmp_path_factory.mktemp("people") / "data") as start:
        miner = start()
        analysts = {}
        for people in ("different", "overlapping"):
            analysts[people] = miner.study(people, people=people)
            for owner, ids in OWNERS.items():
                rng = np.random.default_rng(len(ids))
                codes = {name: rng.integers(0, 2, len(ids)) for name in "ab"}
                person = miner.owner(people, owner)
                person.publish(people, build(PLAN, ids, codes))
                person.publish(people, masked(ids, name="m1"))
        yield miner, analysts


def kind_of(kind):
    return {"spec": {"kind": kind, **SPECS[kind]}}


def test_control_every_kind_is_tried():
    assert set(SPECS) == set(job_forms()) - {"model-sharing"}


@pytest.mark.parametrize("kind", SPECS)
def test_by_rest(people, kind):
    _, analysts = people
    created = analysts["different"]("POST", "/v1/studies/different/jobs", json=kind_of(kind))
    assert created.status_code == 202, created.text
    assert created.json()["spec"]["records"] == "any"
    # The same job again, said in full, is the same one.
    said = {"spec": {**kind_of(kind)["spec"], "records": "any"}, "key": created.json()["key"]}
    again = analysts["different"]("POST", "/v1/studies/different/jobs", json=said)
    assert again.json()["id"] == created.json()["id"]
    # Where nothing is said of the people, nothing is concluded: the mismatch is an error.
    refused = analysts["overlapping"]("POST", "/v1/studies/overlapping/jobs", json=kind_of(kind))
    assert (refused.status_code, refused.json()["code"]) == (409, "records-do-not-align")


@pytest.mark.parametrize("kind", SPECS)
@pytest.mark.parametrize(("study", "records"), [("different", "any"), ("overlapping", "identical")])
def test_by_the_form(people, kind, study, records):
    miner, analysts = people
    browser = Browser(miner)
    browser.sign_in(analysts[study].token)
    page = browser.get(f"/pages/studies/{study}/jobs/new?kind={kind}").text
    chosen = re.search(r'<select id="f-records".*?</select>', page, re.DOTALL)[0]
    assert re.findall(r'value="(\w+)" selected', chosen) == [records]
