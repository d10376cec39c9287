"""Association rules over HTTP: the same as the library finds in the same reports."""

from __future__ import annotations

import csv
import io
import json

import pytest

from miner_service.kinds import itemsets
from miner_service.settings import Limits
from pramana_core.channels import Dense
from pramana_core.domain import Variable
from pramana_core.plan import Block, Plan

RULES = {"kind": "association-rules", "minimum_support": 0.1}


def words(model, places):
    """Items as (variable, category)."""
    return tuple((model["items"][i]["variable"], model["items"][i]["category"]) for i in places)


@pytest.mark.slow
def test_itemsets_and_rules_as_csv_and_on_a_page(survey, monkeypatch):
    study = survey()
    model = study.learn(**RULES)
    path = f"/v1/models/{model['id']}"
    header, *rows = csv.reader(io.StringIO(study.owner("GET", f"{path}/itemsets.csv").text))
    assert header[:4] == ["items", "length", "support", "se_records"]
    assert header[4:7] == ["se_population", "interval_low", "interval_high"]
    assert len(rows) == len(model["itemsets"])
    pair = model["itemsets"][-1]
    assert json.loads(rows[-1][0]) == ["=".join(item) for item in words(model, pair["items"])]
    assert [float(x) for x in rows[-1][1:7]] == [
        len(pair["items"]),
        *(pair[name] for name in header[2:5]),
        *pair["interval"],
    ]
    answer = study.owner("GET", f"{path}/rules.csv")
    assert answer.headers["content-type"].startswith("text/csv")
    assert "\r" not in answer.text
    header, *rows = csv.reader(io.StringIO(answer.text))
    assert header[:2] == ["antecedent", "consequent"]
    assert [float(row[header.index("lift")]) for row in rows] == [
        rule["lift"] for rule in model["rules"]
    ]
    page = study.owner("GET", f"{path}/page").text
    assert "age=&gt;=45" in page
    assert "Noise lifts about half" in page
    assert "the CSV has all" not in page
    monkeypatch.setattr(itemsets, "SHOWN", 1)
    assert "the 1 longest itemsets" in study.owner("GET", f"{path}/page").text


def test_a_joint_block_without_a_closed_form_counts_whole(start, build, assert_problem):
    """Its 16 cells exceed the 8 allowed, though an itemset needs 4 of them."""
    miner = start(Limits(job_cells=8))
    analyst, owner = miner.study("survey"), miner.owner("survey", "north")
    rows = [[1 << 20] * 16 for _ in range(16)]
    for i, row in enumerate(rows):
        row[i] = (1 << 32) - sum(row) + row[i]
        row[i], row[(i + 1) % 16] = row[i] - 5, row[(i + 1) % 16] + 5
    variables = tuple(Variable(name, ("no", "yes")) for name in "ABCD")
    plan = Plan((Block(variables, Dense(tuple(map(tuple, rows)))),))
    owner.publish("survey", build(plan, range(20), {name: [0, 1] * 10 for name in "ABCD"}))
    spec = {**RULES, "max_length": 2}
    answer = analyst("POST", "/v1/studies/survey/jobs", json={"spec": spec})
    assert_problem(answer, 413, "limit-exceeded", "max_length")


@pytest.mark.slow
def test_a_model_that_would_be_too_long_fails_with_its_remedy(survey, monkeypatch):
    study = survey()
    spec = {**RULES, "minimum_confidence": 0}
    model = study.learn(**spec)
    listed, derived = len(model["itemsets"]), len(model["rules"])
    assert listed < derived, "so that the rules alone can be too many"
    for most, words in ((listed - 1, f"{listed} itemsets"), (derived - 1, f"{derived - 1} rules")):
        monkeypatch.setattr(itemsets, "MOST_LISTED", most)
        named = {"key": f"most-{most}", "spec": spec}
        answer = study.analyst("POST", "/v1/studies/survey/jobs", json=named)
        job = study.analyst.wait(answer.headers["location"])
        assert job["state"] == "failed"
        assert job["problem"]["code"] == "limit-exceeded"
        assert words in job["problem"]["detail"]
        assert "minimum support" in job["problem"]["remedy"]
