"""Contingency tables over HTTP; and what holds for every kind of job and model."""

from __future__ import annotations

import csv
import io
import itertools
import threading
from typing import get_args

import pytest

from miner_service.jobs.runner import learn_model
from miner_service.kinds import JOB_KINDS, MODEL_KINDS, tables
from pramana_core.channels import Identity, Symmetric, Withheld
from pramana_core.domain import Variable
from pramana_core.errors import NotReady
from pramana_core.estimation.estimated import ESTIMATORS
from pramana_core.plan import Block, Plan
from pramana_core.wire.jobs import CountsSpec, RecordsSpec
from pramana_core.wire.release_kinds import KINDS

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
    assert "The first 2 of 6 cells" in study.owner("GET", f"{path}/page").text


P = Symmetric.from_probability(2, 0.2)
WITHHELD = [
    {"kind": "contingency-table", "variables": ["A", "B"]},
    {"kind": "association-rules", "minimum_support": 0.1, "variables": ["A", "B"]},
    {"kind": "decision-tree", "target": "B", "attributes": ["A"]},
    {"kind": "linear-classifier", "target": "A", "features": ["B"]},
    {"kind": "bayes-classifier", "target": "A", "features": ["B"]},
    {"kind": "bayes-net-parameters", "structure": {"A": [], "B": ["A"]}},
    {"kind": "bayes-net-structure", "variables": ["A", "B"]},
]


@pytest.mark.slow
def test_a_variable_withheld_from_every_report_is_learned_by_no_job(miner, build, assert_problem):
    """Maximum likelihood would make up its distribution, with no error to tell."""
    assert {spec["kind"] for spec in WITHHELD} == {
        get_args(spec.model_fields["kind"].annotation)[0]
        for spec in JOB_KINDS
        if issubclass(spec, CountsSpec)
    }
    analyst, owner = miner.study("survey"), miner.owner("survey", "north")
    blocks = [Block((Variable(n, ("no", "yes")),), c) for n, c in [("A", P), ("B", Withheld(2))]]
    owner.publish("survey", build(Plan(tuple(blocks)), range(10), {"A": [0, 1] * 5, "B": [0] * 10}))
    for spec, estimator in itertools.product(WITHHELD, ESTIMATORS):
        answer = analyst(
            "POST", "/v1/studies/survey/jobs", json={"spec": {**spec, "estimator": estimator}}
        )
        problem = assert_problem(answer, 409, "variables-missing", "['B']")
        assert "['A']" in problem.remedy


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


def test_every_job_says_which_records_it_counts():
    """Who may know of a job is decided by that (access.py), whatever its kind.

    One that uses no records says nothing, and owners do not see it.
    """
    assert len(JOB_KINDS) == 9
    for spec, kind in JOB_KINDS.items():
        has_records = KINDS[kind.release_kind].has_records
        assert issubclass(spec, CountsSpec | RecordsSpec) == has_records
        assert ("records" in spec.model_fields) == has_records
        assert MODEL_KINDS[kind.makes].message is kind.message
        assert "page" in kind.views


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


EVERY = {
    "contingency-table": {"variables": ["ill", "age"]},
    "association-rules": {"minimum_support": 0.05},
    "bayes-net-structure": {"draws": 5},
    "decision-tree": {"target": "ill"},
    "linear-classifier": {"target": "ill", "loss": "perceptron"},
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", EVERY)
def test_a_job_of_every_kind_tells_how_far_it_is_and_ends_when_cancelled(survey, kind):
    """Cancelled at its second step, it computes no further."""
    seen = []

    def watched(spec, prepared, services, on_step):
        def step(done, total):
            seen.append(done / total)
            if len(seen) == 2:
                study.analyst("DELETE", path[0])
                raise NotReady("The job is no longer wanted.")
            on_step(done, total)

        created.wait()
        return learn_model(spec, prepared, services, step)

    created, path = threading.Event(), []
    study = survey(learn=watched)
    path.append(study.job(kind=kind, **EVERY[kind]).headers["location"])
    created.set()
    assert study.analyst.wait(path[0])["state"] == "cancelled"
    assert len(seen) == 2
    again = study.job(kind=kind, **EVERY[kind])
    assert (again.status_code, again.headers["location"]) == (202, path[0])
    assert study.analyst.wait(path[0])["state"] == "succeeded"
    steps = seen[2:]
    assert steps == sorted(steps)
    assert (steps[0], steps[-1]) == (0, 1)
