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
from pramana_core.learn.common.options import RuleOptions
from pramana_core.learn.rules.itemsets import all_items
from pramana_core.learn.rules.mining import mine_itemsets
from pramana_core.learn.rules.rules import derive_rules
from pramana_core.plan import Block, Plan

RULES = {"kind": "association-rules", "minimum_support": 0.1}
VARIABLES = ["ill", "age", "smoker", "sport"]


def words(model, places):
    """Items as (variable, category)."""
    return tuple((model["items"][i]["variable"], model["items"][i]["category"]) for i in places)


def labelled(found, items):
    return tuple((name, found.domain[name].categories[code]) for name, code in items)


def by_hand(survey, options, items, **rules):
    """What the library finds, listed as models list it."""
    found = mine_itemsets(survey.marginals, items, options)
    listed = [i for i in found.itemsets if i.chosen or i.verdict != "not frequent"]
    return found, listed, derive_rules(found, survey.marginals, **rules)


def assert_same(model, found, listed, rules):
    assert [words(model, i["items"]) for i in model["itemsets"]] == [
        labelled(found, [found.items[p] for p in i.items]) for i in listed
    ]
    for told, own in zip(model["itemsets"], listed, strict=True):
        for name in ("support", "se_records", "se_population", "p_value"):
            assert told[name] == getattr(own, name), name
        assert tuple(told["interval"]) == own.interval
        assert (told["verdict"], told["chosen"]) == (own.verdict, own.chosen)
    assert [
        (words(model, r["antecedent"]), words(model, r["consequent"])) for r in model["rules"]
    ] == [(labelled(found, r.antecedent), labelled(found, r.consequent)) for r in rules]
    for told, own in zip(model["rules"], rules, strict=True):
        for name in ("support", "confidence", "confidence_se", "lift", "leverage_se"):
            assert told[name] == getattr(own, name), name
        assert tuple(told["lift_interval"]) == own.lift_interval


def test_itemsets_and_rules_of_all_that_is_reported(survey):
    study = survey()
    model = study.learn(**RULES)
    domain = study.marginals.domain
    found, listed, rules = by_hand(study, RuleOptions(0.1, 8), all_items(domain))
    assert_same(model, found, listed, rules)
    assert len(model["rules"]) > 3
    assert model["examined"] == len(found.itemsets) > len(listed)
    assert model["records"] == 4000


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
    assert "half of those right" in page
    assert "the CSV has all" not in page
    monkeypatch.setattr(itemsets, "SHOWN", 1)
    assert "The 1 longest of" in study.owner("GET", f"{path}/page").text


REFUSED = [
    ({"minimum_support": 0}, 422, "request-invalid", ["body.spec.minimum_support"]),
    ({"minimum_support": None}, 422, "request-invalid", ["body.spec.minimum_support"]),
    ({"minimum_confidence": 1.5}, 422, "request-invalid", ["body.spec.minimum_confidence"]),
    ({"max_length": 13}, 422, "request-invalid", ["body.spec.max_length"]),
    ({"decisions": "sure"}, 422, "request-invalid", ["body.spec.decisions"]),
    ({"variables": ["ill", "Z"]}, 409, "variables-missing", ["['Z']"]),
    ({"items": {"Z": ["yes"]}}, 409, "variables-missing", ["['Z']"]),
    ({"items": {"ill": ["maybe"]}}, 422, "unknown-category", ["'maybe'", "'ill'"]),
    ({"present": "maybe"}, 422, "unknown-category", ["'maybe'"]),
    ({"items": {"ill": ["yes"]}, "present": "yes"}, 422, "option-invalid", ["items"]),
    ({"items": {"ill": ["yes"]}, "variables": ["ill"]}, 422, "option-invalid", ["items"]),
    ({"variables": ["ill", "ill"]}, 422, "option-invalid", ["variables", "twice"]),
    ({"items": {"ill": ["yes", "yes"]}}, 422, "option-invalid", ["items", "twice"]),
]


def test_what_cannot_be_mined_is_refused_at_once(survey, assert_problem):
    study = survey()
    before = study.miner.snapshot()
    for change, status, code, expected in REFUSED:
        assert_problem(study.job(**{**RULES, **change}), status, code, *expected)
    assert study.miner.snapshot() == before


@pytest.mark.slow
def test_too_many_variables_or_items_are_refused(survey, assert_problem, monkeypatch):
    study = survey(limits=Limits(search_variables=3))
    assert_problem(study.job(**RULES), 413, "limit-exceeded", "variables")
    assert study.learn(**RULES, variables=VARIABLES[:2])["itemsets"]
    monkeypatch.setattr(itemsets, "MOST_ITEMS", 4)
    answer = study.job(**RULES, variables=VARIABLES[:2])
    assert_problem(answer, 413, "limit-exceeded", "items")


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
