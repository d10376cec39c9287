"""Regressions over HTTP: learned from masked releases, read in every form, and bounded."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from miner_service.kinds import masked as regressing
from pramana_core.learn.common.options import RegressionOptions
from pramana_core.mixed import CategoricalColumn, MixedTable, NumericColumn
from pramana_core.regression.learning import learn_regression
from pramana_core.regression.model import DOCUMENT
from tests.miner_service.masking import masked

SPEC = {"kind": "regression", "target": "debt"}
JOBS = "/v1/studies/asia/jobs"


@pytest.fixture(scope="module")
def sent():
    """200 masked records."""
    rng = np.random.default_rng(1)
    age, sex = rng.uniform(20, 60, 200), rng.integers(0, 2, 200)
    debt = 3 * age + 20 * sex + rng.normal(0, 5, 200)
    return masked(range(200), values={"age": age, "sex": sex, "debt": debt})


def table_of(built):
    """The table that a learner should get, in the order of the records sent."""
    held = built.columns
    sex = CategoricalColumn("sex", held["sex"].astype(np.intp), ("f", "m"))
    age, debt = (NumericColumn(name, held[name]) for name in ("age", "debt"))
    return MixedTable((age, sex, debt), 200)


@pytest.fixture(scope="module")
def analyst(asked, sent):
    """Of a study that the tests share; each learns something else there."""
    miner, *_ = asked
    analyst = miner.study("asia")
    miner.owner("asia", "north").publish("asia", sent)
    return analyst


def learn(analyst, **spec):
    return analyst.learn("asia", SPEC | spec)


def test_the_model_is_the_librarys_and_can_be_read_in_every_form(analyst, sent):
    options = {"degree": 3, "confidence": 0.9}
    model = learn(analyst, **options)
    table = table_of(sent)
    wanted = learn_regression(table, "debt", options=RegressionOptions(**options))
    assert model["document"] == json.loads(json.dumps(DOCUMENT.write(wanted)))
    assert model["kind"] == "regression"
    assert model["records"] == 200
    (masking,) = model["masking"]
    assert {k: masking[k] for k in ("owner", "method", "masked")} == {
        "owner": "north", "method": "egadp", "masked": ["debt"],
    }  # fmt: skip
    path = f"/v1/models/{model['id']}"
    document = analyst("GET", f"{path}/document")
    again = DOCUMENT.read(document.text)
    np.testing.assert_array_equal(again.predict(table), wanted.predict(table))
    page = analyst("GET", f"{path}/page")
    assert page.headers["content-type"].startswith("text/html")
    for words in ("masked records", "north masked <i>debt</i>", "<b>egadp</b>"):
        assert words in page.text
    assert "{{" not in page.text
    assert ET.fromstring(analyst("GET", f"{path}/svg").text).tag.endswith("svg")
    rows = analyst("GET", f"{path}/csv")
    assert rows.headers["content-type"].startswith("text/csv")
    assert len(rows.text.splitlines()) > 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "status", "code", "words"),
    [
        ({"target": "sex"}, 422, "option-invalid", ("'sex' is categorical",)),
        ({"target": "wealth"}, 409, "variables-missing", ("wealth", "age")),
        ({"features": ["wealth"]}, 409, "variables-missing", ("wealth",)),
        ({"features": ["debt", "age"]}, 422, "option-invalid", ("'debt' is among the features",)),
        ({"features": ["age", "age"]}, 422, "option-invalid", ("'age'",)),
    ],
)
def test_what_cannot_be_is_refused_when_it_is_asked(
    analyst, assert_problem, change, status, code, words
):
    answer = analyst("POST", JOBS, json={"spec": SPEC | change})
    assert_problem(answer, status, code, *words)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "most", "spec", "words"),
    [
        ("MOST_TERMS", 4, {"degree": 4}, "degree"),
        ("MOST_NUMBERS", 500, {}, "features"),
    ],
)
def test_what_costs_too_much_is_refused_before_anything_is_read(
    analyst, assert_problem, monkeypatch, name, most, spec, words
):
    monkeypatch.setattr(regressing, name, most)
    answer = analyst("POST", JOBS, json={"spec": SPEC | spec})
    assert_problem(answer, 413, "limit-exceeded", words)


def test_owners_of_different_people_whose_units_differ_are_named(asked):
    miner, *_ = asked
    for study, factor, warned in (("kilograms", 1.0, 0), ("pounds", 2.205, 1)):
        analyst = miner.study(study)
        for place, owner in enumerate(("north", "south")):
            rng = np.random.default_rng(place)
            age, sex = rng.uniform(20, 60, 100), rng.integers(0, 2, 100)
            debt = (80 + rng.normal(0, 12, 100)) * (factor if place else 1.0)
            values = {"age": age, "sex": sex, "debt": debt}
            people = range(100 * place, 100 * place + 100)
            miner.owner(study, owner).publish(study, masked(people, values=values))
        model = analyst.learn(study, SPEC | {"records": "any"})
        found = [note for note in model["document"]["notes"] if "'debt'" in note]
        assert len(found) == warned
        assert all("north" in note and "south" in note for note in found)
