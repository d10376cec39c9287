"""What holds of every kind of job on counts: refusals, bounds, forms, and the library's model."""

from __future__ import annotations

import json
from typing import Any

import pytest

from miner_service.kinds import JOB_KINDS, bounds, classifiers, itemsets, kind_of, tables
from miner_service.settings import Limits
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
from pramana_core.wire.jobs import CountsSpec, read_job_spec

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
    ({"target": None}, WIRE, "body.spec.target"),
    ({"OTHERS": ["Z"]}, MISSING, "Z"),
    ({"OTHERS": ["ill"]}, OPTION, "OTHERS"),
    ({"OTHERS": ["age", "age"]}, OPTION, "OTHERS"),
    ({"OTHERS": []}, WIRE, "body.spec.OTHERS"),
]
SHARED = [
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
        ({"variables": []}, WIRE, "body.spec.variables"),
    ],
    "association-rules": [
        ({"minimum_support": 0}, WIRE, "body.spec.minimum_support"),
        ({"minimum_confidence": 1.5}, WIRE, "body.spec.minimum_confidence"),
        ({"max_length": 13}, WIRE, "body.spec.max_length"),
        ({"decisions": "sure"}, WIRE, "body.spec.decisions"),
        ({"variables": ["ill", "Z"]}, MISSING, "Z"),
        ({"items": {"Z": ["yes"]}}, MISSING, "Z"),
        ({"items": {"ill": ["maybe"]}}, CATEGORY, "ill"),
        ({"present": "maybe"}, CATEGORY, "items"),
        ({"items": {"ill": ["yes"]}, "present": "yes"}, OPTION, "items"),
        ({"items": {"ill": ["yes"]}, "variables": ["ill"]}, OPTION, "items"),
        ({"variables": ["ill", "ill"]}, OPTION, "variables"),
        ({"items": {"ill": ["yes", "yes"]}}, OPTION, "items"),
    ],
    "decision-tree": [
        *CLASSES,
        ({"max_depth": -1}, WIRE, "body.spec.max_depth"),
        ({"max_depth": 257}, WIRE, "body.spec.max_depth"),
        ({"significance": 0}, WIRE, "body.spec.significance"),
        ({"shrinkage": -0.1}, WIRE, "body.spec.shrinkage"),
    ],
    "linear-classifier": [
        *CLASSES,
        ({"loss": "hinge"}, WIRE, "body.spec.loss"),
        ({"l2": -1}, WIRE, "body.spec.l2"),
        ({"loss": "perceptron", "l2": 1}, OPTION, "l2"),
        ({"numeric": {"Z": [1, 2]}}, (422, "unknown-variable"), "numeric"),
        ({"numeric": {"age": [1, 2]}}, OPTION, "numeric"),
        ({"sample": 1 << 21}, WIRE, "body.spec.sample"),
    ],
    "bayes-classifier": [
        *CLASSES,
        ({"model": "best"}, WIRE, "body.spec.model"),
        ({"alpha": 0}, WIRE, "body.spec.alpha"),
    ],
    "bayes-net-parameters": [
        ({"structure": {"ill": ["Z"], "Z": []}}, MISSING, "Z"),
        ({"structure": {"ill": ["age"], "age": ["ill"]}}, (422, "structure-invalid"), ""),
        ({"structure": {}}, WIRE, "body.spec.structure"),
        ({"alpha": 2}, OPTION, "alpha"),
    ],
    "bayes-net-structure": [
        ({"variables": ["ill", "ill"]}, OPTION, "variables"),
        ({"variables": ["ill", "Z"]}, MISSING, "Z"),
        ({"search": {"order": ["ill", "age"]}}, OPTION, "search.order"),
        ({"search": {"order": ["ill", "ill"]}}, OPTION, "order"),
        ({"search": {"refine": False}}, OPTION, "refine"),
        ({"search": {"limit": 1}}, WIRE, "body.spec.search.limit"),
        ({"search": {"max_parents": 0}}, WIRE, "body.spec.search.max_parents"),
        ({"structure": {"ill": []}}, WIRE, "body.spec.structure"),
        ({"score": {"name": "aic"}}, WIRE, "body.spec.score.name"),
        ({"score": {"eta": 0.9}}, OPTION, "eta"),
        ({"score": {"name": "bic", "eta": 1.1}}, WIRE, "body.spec.score.eta"),
        ({"draws": -1}, WIRE, "body.spec.draws"),
    ],
}


def test_every_kind_on_counts_is_here():
    counted = {
        kind.spec.model_fields["kind"].annotation.__args__[0]
        for spec, kind in JOB_KINDS.items()
        if issubclass(spec, CountsSpec)
    }
    assert counted == set(SPECS) == set(REFUSED)


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
