"""Contingency tables over HTTP."""

from __future__ import annotations

import csv
import io
import json

import pytest

from miner_service.kinds import tables
from pramana_core.channels import Identity
from pramana_core.domain import Variable
from pramana_core.plan import Block, Plan

TABLE = {"kind": "contingency-table", "variables": ["ill", "age"]}


def test_a_table_as_csv_and_on_a_page(survey, monkeypatch):
    study = survey()
    model = study.learn(**TABLE)
    path = f"/v1/models/{model['id']}"
    answer = study.owner("GET", f"{path}/csv")
    assert answer.headers["content-type"].startswith("text/csv")
    header, *rows = csv.reader(io.StringIO(answer.text, newline=""))
    errors = ["se_records", "se_population", "low", "high"]
    assert header == ["ill", "age", "count", "projected", *errors]
    for row, cell in zip(rows, model["cells"], strict=True):
        assert row[:2] == list(cell["values"].values())
        numbers = [*(cell[name] for name in header[2:6]), *cell["interval"]]
        assert [float(x) for x in row[2:]] == numbers
    page = study.owner("GET", f"{path}/page")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert "&gt;=45" in page.text
    assert f"{model['cells'][0]['count']:.1f}" in page.text
    monkeypatch.setattr(tables, "CELLS_SHOWN", 2)
    assert "the first 2 cells" in study.owner("GET", f"{path}/page").text


def test_a_table_of_groups_adds_up_at_every_level(survey):
    study = survey()
    by_age = {
        c["values"]["age"]: c for c in study.learn(**{**TABLE, "variables": ["age"]})["cells"]
    }
    young, *older = by_age
    groups = {"all": ["young", "older"], "young": [young], "older": older}
    model = study.learn(**{**TABLE, "variables": ["age"]}, groups=groups)
    rows = {(row["level"], row["category"]): row for row in model["levels"]}
    assert [*rows] == [
        (1, "all"), (2, "young"), (3, young), (2, "older"), *((3, age) for age in older)
    ]  # fmt: skip
    assert not any(row["pooled"] for row in model["levels"])
    assert rows[1, "all"]["count"] == pytest.approx(model["records"])
    assert rows[1, "all"]["se_records"] == pytest.approx(0, abs=1e-3)
    both = sum(by_age[age]["count"] for age in older)
    assert rows[2, "older"]["count"] == pytest.approx(both)
    # What is not older is young, with the same error; single categories have that of their cell.
    assert rows[2, "older"]["se_records"] == pytest.approx(by_age[young]["se_records"])
    for age in by_age:
        assert rows[3, age]["se_population"] == pytest.approx(by_age[age]["se_population"])
        assert [rows[3, age]["low"], rows[3, age]["high"]] == pytest.approx(by_age[age]["interval"])
    page = study.owner("GET", f"/v1/models/{model['id']}/page").text
    assert "Levels" in page
    assert f"{rows[2, 'older']['count']:.1f}" in page


def test_a_table_of_all_records_of_owners_of_different_people(miner, build):
    """Two owners of the same variable: their exact counts add up."""
    analyst = miner.study("survey")
    plan = Plan((Block((Variable("A", ("no", "yes")),), Identity(2)),))
    for name, ids, codes in (
        ("north", range(10), [1] * 4 + [0] * 6),
        ("south", range(10, 15), [1] * 5),
    ):
        miner.owner("survey", name).publish("survey", build(plan, ids, {"A": codes}))
    spec = {"kind": "contingency-table", "variables": ["A"], "records": "any"}
    model = analyst.learn("survey", spec)
    assert [(c["count"], c["se_records"]) for c in model["cells"]] == [(6, 0), (9, 0)]
    assert model["records"] == 15


ADDRESSES = ("page", "svg", "bif", "csv", "itemsets.csv", "rules.csv", "text", "document")


def test_what_a_kind_does_not_have_is_not_found_and_says_what_there_is(survey, assert_problem):
    study = survey()
    path = f"/v1/models/{study.learn(**TABLE)['id']}"
    for form in sorted({*ADDRESSES} - {"page", "csv"}):
        answer = study.analyst("GET", f"{path}/{form}")
        assert_problem(answer, 404, "not-found", f"'{form}'", "'contingency-table'", "'csv'")


def test_the_dashboard_links_models_and_owners_see_no_others(survey):
    study = survey(own=True)
    first = study.learn(**TABLE)
    second = study.learn(**TABLE, records="common")
    (seen,) = study.analyst.get("/v1/dashboard")["studies"]
    assert [(m["id"], m["job"], m["kind"]) for m in seen["models"]] == [
        (m["id"], m["job"], "contingency-table") for m in (first, second)
    ]
    path = f"/v1/models/{first['id']}"
    assert seen["models"][0]["addresses"] == [path, f"{path}/page", f"{path}/csv"]
    for address in seen["models"][0]["addresses"]:
        assert study.owner("GET", address).status_code == 200
    (seen,) = study.owner.get("/v1/dashboard")["studies"]
    assert [m["id"] for m in seen["models"]] == [first["id"]]


@pytest.mark.parametrize("deep", [30, 300, 3000])
def test_groups_of_any_depth_are_answered(survey, assert_problem, deep):
    study = survey()
    nested = '{"g":' * deep + '["young"]' + "}" * deep
    chain = json.dumps({"g0": ["young"]} | {f"g{i + 1}": [f"g{i}"] for i in range(deep)})
    spec = json.dumps({"spec": {**TABLE, "variables": ["age"], "groups": {}}})
    for groups in (nested, chain):
        body = spec.replace("{}", groups)
        json_type = {"Content-Type": "application/json"}
        answer = study.analyst("POST", "/v1/studies/survey/jobs", content=body, headers=json_type)
        assert_problem(answer, 422, answer.json()["code"])
