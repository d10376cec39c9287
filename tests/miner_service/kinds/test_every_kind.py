"""What holds of every kind of job on counts: refusals, bounds, forms, and the library's model."""

from __future__ import annotations

import html
import itertools
import json
import threading
from typing import Any

import pytest

from miner_service.jobs.runner import learn_model
from miner_service.kinds import (
    JOB_KINDS,
    MODEL_KINDS,
    bounds,
    classifiers,
    itemsets,
    kind_of,
    tables,
)
from miner_service.settings import Limits
from pramana_core.channels import Symmetric, Withheld
from pramana_core.domain import Variable
from pramana_core.errors import NotReady
from pramana_core.estimation.estimated import ESTIMATORS
from pramana_core.learn.common.options import (
    BayesClassifierOptions,
    LinearOptions,
    RuleOptions,
    Scoring,
    Search,
    TreeOptions,
)
from pramana_core.learn.learners import LEARNERS
from pramana_core.learn.networks.structure_learning import learn_structure
from pramana_core.learn.rules.documents import write_findings
from pramana_core.learn.rules.itemsets import items_of
from pramana_core.learn.rules.mining import mine_itemsets
from pramana_core.learn.rules.rules import derive_rules
from pramana_core.plan import Block, Plan
from pramana_core.wire.jobs import CountsSpec, RecordsSpec, read_job_spec
from pramana_core.wire.release_kinds import KINDS as RELEASE_KINDS
from tests.miner_service.conftest import job_specs

SPECS: dict[str, dict[str, Any]] = {
    "contingency-table": {"variables": ["ill", "age"]},
    "association-rules": {"minimum_support": 0.1},
    "decision-tree": {"target": "ill"},
    "linear-classifier": {"target": "ill"},
    "bayes-classifier": {"target": "ill"},
    "bayes-net-parameters": {"structure": {"ill": ["age"], "age": []}},
    "bayes-net-structure": {"draws": 5},
}
KINDS = pytest.mark.parametrize("kind", SPECS)

WIRE, OPTION, MISSING = (
    (422, "request-invalid"),
    (422, "option-invalid"),
    (409, "variables-missing"),
)
CATEGORY = (422, "unknown-category")

CLASSES = [
    ({"target": "Z"}, MISSING, "Z"),
    ({"OTHERS": ["Z"]}, MISSING, "Z"),
    ({"OTHERS": ["ill"]}, OPTION, "OTHERS"),
    ({"OTHERS": ["age", "age"]}, OPTION, "OTHERS"),
]
SHARED = [  # bounds of single fields are in docs/openapi.json, which a test holds
    ({"kind": "table"}, WIRE, "body.spec.kind"),
    ({"nothing": 1}, WIRE, "body.spec.nothing"),
    ({"estimator": "em"}, WIRE, "body.spec.estimator"),
    ({"order": 0}, WIRE, "body.spec.order"),
    ({"records": "all"}, WIRE, "body.spec.records"),
]
REFUSED: dict[str, list[tuple[dict[str, Any], tuple[int, str], str]]] = {
    "contingency-table": [
        ({"variables": ["ill", "ill"]}, OPTION, "variables"),
        ({"variables": ["ill", "Z"]}, MISSING, "Z"),
        ({"groups": {"all": ["yes", "no"]}}, OPTION, "groups"),
        ({"variables": ["ill"], "groups": {"all": ["yes", "maybe"]}}, CATEGORY, "groups"),
        ({"variables": ["ill"], "groups": {"all": ["yes"]}}, OPTION, "groups"),
        ({"variables": ["ill"], "groups": {"a": ["b"], "b": ["a"]}}, OPTION, "groups"),
        ({"variables": ["ill"], "groups": {"a": ["b", "no"], "b": ["yes"]}}, OPTION, "groups"),
    ],
    "association-rules": [
        ({"variables": ["ill", "Z"]}, MISSING, "Z"),
        ({"items": {"Z": ["yes"]}}, MISSING, "Z"),
        ({"items": {"ill": ["maybe"]}}, CATEGORY, "ill"),
        ({"present": "maybe"}, CATEGORY, "items"),
        ({"items": {"ill": ["yes"]}, "present": "yes"}, OPTION, "items"),
        ({"items": {"ill": ["yes"]}, "variables": ["ill"]}, OPTION, "items"),
        ({"variables": ["ill", "ill"]}, OPTION, "variables"),
        ({"items": {"ill": ["yes", "yes"]}}, OPTION, "items"),
    ],
    "decision-tree": CLASSES,
    "linear-classifier": [
        *CLASSES,
        ({"loss": "perceptron", "l2": 1}, OPTION, "l2"),
        ({"numeric": {"Z": [1, 2]}}, (422, "unknown-variable"), "numeric"),
        ({"numeric": {"age": [1, 2]}}, OPTION, "numeric"),
    ],
    "bayes-classifier": CLASSES,
    "bayes-net-parameters": [
        ({"structure": {"ill": ["Z"], "Z": []}}, MISSING, "Z"),
        ({"structure": {"ill": ["age"], "age": ["ill"]}}, (422, "structure-invalid"), ""),
        ({"alpha": 2}, OPTION, "alpha"),
    ],
    "bayes-net-structure": [
        ({"variables": ["ill", "ill"]}, OPTION, "variables"),
        ({"variables": ["ill", "Z"]}, MISSING, "Z"),
        ({"search": {"order": ["ill", "age"]}}, OPTION, "search.order"),
        ({"search": {"order": ["ill", "ill"]}}, OPTION, "order"),
        ({"search": {"refine": False}}, OPTION, "refine"),
        ({"score": {"eta": 0.9}}, OPTION, "eta"),
    ],
}


def test_every_kind_on_counts_is_here():
    counted = {
        kind.spec.model_fields["kind"].annotation.__args__[0]
        for spec, kind in JOB_KINDS.items()
        if issubclass(spec, CountsSpec)
    }
    assert counted == set(SPECS) == set(REFUSED) == set(job_specs("a", "b"))


@KINDS
def test_what_cannot_be_learned_is_refused_at_once(survey, assert_problem, kind):
    study = survey()
    before = study.miner.snapshot()
    others = "attributes" if kind == "decision-tree" else "features"
    for change, (status, code), where in [*SHARED, *REFUSED[kind]]:
        named = {name.replace("OTHERS", others): value for name, value in change.items()}
        answer = study.job(**{"kind": kind, **SPECS[kind], **named})
        problem = assert_problem(answer, status, code)
        last = where.rpartition("body.spec.")[2].rpartition(".")[2].replace("OTHERS", others)
        assert last in (problem.where or ""), (change, problem)
    assert study.miner.snapshot() == before


BOUNDED = [
    ("contingency-table", {}, Limits(model_parameters=5), (), "variables"),
    ("contingency-table", {}, Limits(job_cells=5), (), "variables"),
    ("contingency-table", {"estimator": "ml"}, Limits(), (tables, "MOST_BYTES", 9), "variables"),
    ("association-rules", {}, Limits(search_variables=3), (), "variables"),
    ("association-rules", {}, Limits(), (itemsets, "MOST_ITEMS", 9), "items"),
    ("decision-tree", {}, Limits(search_variables=3), (), "attributes"),
    ("decision-tree", {"estimator": "ml"}, Limits(job_cells=35), (), "max_depth"),
    ("decision-tree", {}, Limits(), (classifiers, "INFORMATION_CELLS", 5), "attributes"),
    ("linear-classifier", {}, Limits(job_cells=35), (), "features"),
    ("linear-classifier", {}, Limits(), (classifiers, "MOST_COLUMNS", 3), "features"),
    ("linear-classifier", {}, Limits(), (classifiers, "MOST_CLASSES", 1), "target"),
    ("linear-classifier", {}, Limits(), (classifiers, "MOST_WEIGHTS", 3), "features"),
    ("bayes-classifier", {}, Limits(search_variables=3), (), "features"),
    ("bayes-classifier", {}, Limits(model_parameters=5), (), "model"),
    ("bayes-net-parameters", {}, Limits(model_parameters=8), (), "structure"),
    ("bayes-net-parameters", {}, Limits(job_cells=5), (), "ill"),
    (
        "bayes-net-parameters",
        {"estimator": "pooled"},
        Limits(),
        (bounds, "INFORMATION_CELLS", 5),
        "ill",
    ),
    ("bayes-net-structure", {}, Limits(search_variables=3), (), "variables"),
    ("bayes-net-structure", {}, Limits(model_parameters=20), (), "search.max_parents"),
    ("bayes-net-structure", {}, Limits(job_cells=20), (), "search.max_parents"),
    ("bayes-net-structure", {}, Limits(bootstrap_cells=100), (), "draws"),
]


@pytest.mark.parametrize(("kind", "more", "limits", "patched", "where"), BOUNDED)
def test_a_job_that_is_too_large_is_refused_before_it_runs(
    survey, assert_problem, monkeypatch, kind, more, limits, patched, where
):
    study = survey(limits=limits)
    if patched:
        monkeypatch.setattr(*patched)
    answer = study.job(kind=kind, **SPECS[kind], **more)
    assert assert_problem(answer, 413, "limit-exceeded").where == where


@pytest.mark.slow
@KINDS
def test_every_model_says_what_it_is_worth(survey, kind):
    study = survey()
    model = study.learn(kind=kind, **SPECS[kind])
    worth = model["worth"]
    assert worth["verdict"].endswith(".")
    assert worth["figures"]
    for figure in worth["figures"]:
        ends = figure["low"], figure["high"]
        assert ends == (None, None) or ends[0] <= figure["value"] <= ends[1]
    if kind in LEARNERS:
        names = [figure["name"] for figure in worth["figures"][:3]]
        assert names == ["expected accuracy", "majority class", "naive Bayes of the same releases"]
    for form in ("page", "text", "svg"):
        if form in kind_of(read_job_spec(json.dumps(model["spec"]))).views:
            answer = study.owner("GET", f"/v1/models/{model['id']}/{form}").text
            assert worth["verdict"].removesuffix(".") in html.unescape(answer), form


@pytest.mark.slow
@KINDS
def test_every_form_is_served_and_no_page_loads_anything(survey, kind):
    study = survey()
    model = study.learn(kind=kind, **SPECS[kind])
    for form in kind_of(read_job_spec(json.dumps(model["spec"]))).views:
        answer = study.owner("GET", f"/v1/models/{model['id']}/{form}")
        assert answer.status_code == 200, form
        assert answer.text
        if form in ("page", "svg"):
            assert "default-src 'none'" in answer.headers["content-security-policy"]
            assert "src=" not in answer.text
            # Marks that a picture repeats are in it; nothing comes from elsewhere.
            assert answer.text.count("href=") == answer.text.count('href="#')
    assert "4,000" in study.owner("GET", f"/v1/models/{model['id']}/page").text


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["decision-tree", "linear-classifier"])
def test_pooled_reports_are_afforded_by_the_tables_of_a_model(survey, kind):
    """All variables together would have 36 cells, more than are allowed."""
    study = survey(limits=Limits(job_cells=35))
    model = study.learn(kind=kind, **SPECS[kind], estimator="pooled")
    path = f"/v1/models/{model['id']}"
    page = study.owner("GET", f"{path}/page").text
    if kind == "decision-tree":
        assert model["document"]["through"] in ("naive-bayes", "tan")
        assert "Through a model" in page
        assert study.owner("GET", f"{path}/text").text.startswith("Through a model")
    else:
        assert model["document"]["basis"] == "network"
        assert "drawn from a Bayesian network classifier" in page


def test_every_job_says_which_records_it_counts():
    """Who may know of a job is decided by that (access.py), whatever its kind.

    One that uses no records says nothing, and owners do not see it.
    """
    assert len(JOB_KINDS) == 9
    for spec, kind in JOB_KINDS.items():
        has_records = RELEASE_KINDS[kind.release_kind].has_records
        assert issubclass(spec, CountsSpec | RecordsSpec) == has_records
        assert ("records" in spec.model_fields) == has_records
        assert MODEL_KINDS[kind.makes].message is kind.message
        assert "page" in kind.views


@pytest.mark.slow
def test_a_variable_withheld_from_every_report_is_learned_by_no_job(miner, build, assert_problem):
    """Maximum likelihood would make up its distribution, with no error to tell."""
    analyst, owner = miner.study("survey"), miner.owner("survey", "north")
    channels = {"A": Symmetric.from_probability(2, 0.2), "B": Withheld(2)}
    blocks = [Block((Variable(n, ("no", "yes")),), c) for n, c in channels.items()]
    owner.publish("survey", build(Plan(tuple(blocks)), range(10), {"A": [0, 1] * 5, "B": [0] * 10}))
    for (kind, spec), estimator in itertools.product(job_specs("A", "B").items(), ESTIMATORS):
        asked = {"spec": {"kind": kind, **spec, "estimator": estimator}}
        answer = analyst("POST", "/v1/studies/survey/jobs", json=asked)
        problem = assert_problem(answer, 409, "variables-missing", "['B']")
        assert problem.remedy.endswith(" A.")


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", ["contingency-table", "association-rules", "bayes-net-structure", "decision-tree"]
)
def test_a_job_tells_how_far_it_is_and_ends_when_cancelled(survey, kind):
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
    path.append(study.job(kind=kind, **SPECS[kind]).headers["location"])
    created.set()
    assert study.analyst.wait(path[0])["state"] == "cancelled"
    assert len(seen) == 2
    again = study.job(kind=kind, **SPECS[kind])
    assert (again.status_code, again.headers["location"]) == (202, path[0])
    assert study.analyst.wait(path[0])["state"] == "succeeded"
    steps = seen[2:]
    assert steps == sorted(steps)
    assert (steps[0], steps[-1]) == (0, 1)


OPTIONS = {
    "decision-tree": TreeOptions(),
    "linear-classifier": LinearOptions(),
    "bayes-classifier": BayesClassifierOptions(),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", OPTIONS)
def test_a_classifier_is_the_librarys(survey, kind):
    study = survey()
    learner = LEARNERS[kind]
    wanted = learner.learn(
        study.marginals, "ill", ("smoker", "age", "sport"), OPTIONS[kind], seed=0
    )
    found = study.learn(kind=kind, **SPECS[kind], estimator="moment")["document"]
    assert found == json.loads(json.dumps(learner.document(wanted)))


def test_itemsets_and_rules_are_the_librarys(survey):
    study = survey()
    model = study.learn(kind="association-rules", minimum_support=0.1)
    items = items_of(study.marginals.domain)
    found = mine_itemsets(study.marginals, items, RuleOptions(0.1, 8))
    wanted = write_findings(found, derive_rules(found, study.marginals))
    for part in ("items", "rules"):
        assert model[part] == json.loads(json.dumps(wanted[part]))
    assert [one for one in model["itemsets"] if one["chosen"]] == [
        one for one in json.loads(json.dumps(wanted["itemsets"])) if one["chosen"]
    ]


@pytest.mark.slow
def test_a_network_is_the_librarys(survey):
    study = survey()
    model = study.learn(**SPECS["bayes-net-structure"], kind="bayes-net-structure", seed=3)
    wanted = learn_structure(study.marginals, Scoring(), Search(), draws=5, seed=3)
    parents = {node["name"]: node["parents"] for node in model["nodes"]}
    assert parents == wanted.structure.as_dict()
    assert len(model["links"]) >= 2
    assert [link["gain"] for link in model["links"]] == [link.gain for link in wanted.links]
    again = study.learn(kind="bayes-net-parameters", structure=parents)
    assert again["parameters"] == model["parameters"]
