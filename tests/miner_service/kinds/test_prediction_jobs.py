"""Decision trees and linear classifiers over HTTP: learned, read, and asked for predictions."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from miner_service.kinds import classifiers
from miner_service.settings import Limits
from pramana_core.learn.common.options import TreeOptions
from pramana_core.learn.learners import LEARNERS, read_predictor
from pramana_core.learn.networks.bif import read_bif
from pramana_core.learn.tree.growth import learn_tree
from pramana_core.learn.tree.text import write_tree_text

TREE = {"kind": "decision-tree", "target": "ill"}
LINEAR = {"kind": "linear-classifier", "target": "ill"}
BAYES = {"kind": "bayes-classifier", "target": "ill"}
BOTH = pytest.mark.parametrize("spec", [TREE, LINEAR, BAYES], ids=["tree", "linear", "bayes"])
OTHERS = ("smoker", "age", "sport")
RECORDS = [
    {"smoker": "yes", "age": ">=45", "sport": "low"},
    {"smoker": "no", "age": 24, "sport": "low"},
    {"smoker": "no", "age": 30.0, "sport": "high"},
]
CODES = {"smoker": [1, 0, 0], "age": [2, 0, 1], "sport": [0, 0, 2]}


def codes():
    return {name: np.array(column, dtype=np.uint8) for name, column in CODES.items()}


def test_the_tree_is_the_librarys(survey):
    study = survey()
    model = study.learn(**TREE)
    wanted = learn_tree(study.marginals, "ill", OTHERS, TreeOptions())
    assert model["document"] == json.loads(json.dumps(LEARNERS["decision-tree"].document(wanted)))
    assert model["kind"] == "decision-tree"
    assert wanted.root.split.attribute in ("smoker", "age")
    assert wanted.root.depth == 2
    text = study.owner("GET", f"/v1/models/{model['id']}/text")
    assert text.headers["content-type"].startswith("text/plain")
    tree, told = text.text.rsplit("\n\n", 1)
    assert tree == write_tree_text(wanted, show_weights=True).rstrip()
    assert told.startswith("Learned from 4,000 records; whole record: gamma ")


@pytest.mark.slow
@BOTH
def test_predictions_are_those_of_the_model_that_travels(survey, spec):
    study = survey()
    model = study.learn(**spec)
    path = f"/v1/models/{model['id']}"
    file = study.owner("GET", f"{path}/document")
    assert file.headers["content-type"] == "application/json"
    elsewhere = read_predictor(file.text)
    answer = study.owner("POST", f"{path}/predictions", json={"records": RECORDS})
    assert answer.status_code == 200, answer.text
    told = answer.json()
    assert (told["target"], told["classes"]) == ("ill", ["no", "yes"])
    assert [p["label"] for p in told["predictions"]] == [
        ["no", "yes"][code] for code in elsewhere.predict(codes())
    ]
    shares = elsewhere.probabilities(codes())
    assert np.array([p["probabilities"] for p in told["predictions"]]) == pytest.approx(shares)
    assert [p["label"] for p in told["predictions"]][:2] == ["yes", "no"]


SECRET = "xyzzy-secret"

WRONG = [
    ([{**RECORDS[0], "smoker": SECRET}], "unknown-category", ["Record 1", "'smoker'"]),
    ([*RECORDS, {**RECORDS[0], "sport": 98765}], "unknown-category", ["Record 4", "'sport'"]),
    ([RECORDS[0], {**RECORDS[1], "height": SECRET}], "unknown-variable", ["Record 2", "'height'"]),
    ([{**RECORDS[0], "age": True}], "request-invalid", ["body.records.0.age: record 1"]),
    ([{**RECORDS[0], "age": [SECRET]}], "request-invalid", ["body.records.0.age: record 1"]),
    ([*RECORDS, {**RECORDS[0], "age": {}}], "request-invalid", ["body.records.3.age: record 4"]),
    ([], "request-invalid", ["body.records"]),
]


@pytest.mark.slow
@BOTH
def test_wrong_records_are_named_by_number_and_variable_and_their_values_nowhere(
    survey, assert_problem, spec, capfd
):
    study = survey()
    path = f"/v1/models/{study.learn(**spec)['id']}/predictions"
    for records, code, words in WRONG:
        answer = study.owner("POST", path, json={"records": records})
        assert_problem(answer, 422, code, *words)
        assert SECRET not in answer.text
        assert "98765" not in answer.text
    answer = study.owner("POST", path, json={"records": RECORDS, "model": 1})
    assert_problem(answer, 422, "request-invalid", "body.model", "not known")


@pytest.mark.slow
@BOTH
def test_nothing_is_kept_of_records_that_are_predicted(survey, spec):
    study = survey()
    path = f"/v1/models/{study.learn(**spec)['id']}/predictions"
    before = study.miner.snapshot()
    size = len((study.miner.data / "audit.jsonl").read_text())
    records = [{**RECORDS[0], "age": 44.123456}]
    assert study.owner("POST", path, json={"records": records}).status_code == 200
    assert study.miner.snapshot() == before
    noted = (study.miner.data / "audit.jsonl").read_text()[size:]
    assert json.loads(noted)["action"] == "predict"
    assert "44.123456" not in noted
    assert ">=45" not in noted


def test_how_many_records_are_predicted_at_once_is_bounded(survey, assert_problem):
    study = survey(limits=Limits(prediction_records=2))
    path = f"/v1/models/{study.learn(**LINEAR)['id']}/predictions"
    answer = study.owner("POST", path, json={"records": RECORDS})
    assert_problem(answer, 413, "limit-exceeded", "3 records", "2 are allowed")
    assert study.owner("POST", path, json={"records": RECORDS[:2]}).status_code == 200


@pytest.mark.slow
@BOTH
def test_probabilities_of_many_classes_are_bounded_before_any_is_made(survey, assert_problem, spec):
    """3 records and the 2 classes of `ill` make 6 numbers."""
    study = survey(limits=Limits(prediction_cells=5))
    path = f"/v1/models/{study.learn(**spec)['id']}/predictions"
    answer = study.owner("POST", path, json={"records": RECORDS})
    assert_problem(answer, 413, "limit-exceeded", "2 classes are 6 numbers", "5 are allowed")
    assert study.owner("POST", path, json={"records": RECORDS[:2]}).status_code == 200


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "most", "words"),
    [
        ("MOST_CLASSES", 2, ["target", "3 classes", "2 are allowed"]),
        ("MOST_WEIGHTS", 8, ["features", "9 weights of 3 classes", "8 are allowed"]),
        ("MOST_DRAWN", 29, ["sample", "30 scores of 10 drawn records", "29 are allowed"]),
    ],
)
def test_a_classifier_of_many_classes_is_refused(
    survey, assert_problem, monkeypatch, name, most, words
):
    """`sport` has 3 classes; the others have a column each, and 36 cells with it."""
    study = survey(own=True)
    monkeypatch.setattr(classifiers, name, most)
    monkeypatch.setattr(classifiers, "CELLS", 35)
    spec = {"target": "sport", "loss": "perceptron", "sample": 10}
    assert_problem(study.job(**{**LINEAR, **spec}), 413, "limit-exceeded", *words)
    monkeypatch.setattr(classifiers, name, most + 1)
    assert study.job(**{**LINEAR, **spec}).status_code == 202


@pytest.mark.slow
@BOTH
def test_who_may_not_read_a_model_may_not_ask_it(survey, assert_problem, spec):
    study = survey()
    model = study.learn(**spec, records="common")
    path = f"/v1/models/{model['id']}"
    other = study.miner.study("other")
    for person, status, code in (
        (other, 404, "not-found"),
        (study.owner, 404, "not-found"),
        (study.miner.nobody, 401, "unauthenticated"),
    ):
        answer = person("POST", f"{path}/predictions", json={"records": RECORDS})
        assert_problem(answer, status, code)
        assert_problem(person("GET", f"{path}/document"), status, code)
    assert study.analyst("GET", f"{path}/document").status_code == 200


@pytest.mark.slow
@BOTH
def test_pictures_and_pages(survey, spec):
    study = survey()
    path = f"/v1/models/{study.learn(**spec)['id']}"
    svg = study.owner("GET", f"{path}/svg")
    assert svg.headers["content-type"] == "image/svg+xml"
    assert "default-src 'none'" in svg.headers["content-security-policy"]
    texts = " ".join(ET.fromstring(svg.text).itertext())
    assert "smoker" in texts
    page = study.owner("GET", f"{path}/page").text
    assert "<svg" in page
    assert "src=" not in page
    # Marks that a picture repeats are in it; nothing comes from elsewhere.
    assert page.count("href=") == page.count('href="#')
    assert "4,000" in page


REFUSED = [
    ({"target": "Z"}, 409, "variables-missing", ["['Z']"]),
    ({"target": None}, 422, "request-invalid", ["body.spec.target"]),
    ({"OTHERS": ["Z"]}, 409, "variables-missing", ["['Z']"]),
    ({"OTHERS": ["ill"]}, 422, "option-invalid", ["OTHERS"]),
    ({"OTHERS": ["age", "age"]}, 422, "option-invalid", ["OTHERS", "twice"]),
    ({"OTHERS": []}, 422, "request-invalid", ["body.spec.OTHERS"]),
    ({"depth": 1}, 422, "request-invalid", ["body.spec.depth", "not known"]),
]
REFUSED_TREES = [
    ({"max_depth": -1}, 422, "request-invalid", ["body.spec.max_depth"]),
    ({"max_depth": 257}, 422, "request-invalid", ["body.spec.max_depth"]),
    ({"significance": 0}, 422, "request-invalid", ["body.spec.significance"]),
    ({"least_records": -1}, 422, "request-invalid", ["body.spec.least_records"]),
    ({"shrinkage": -0.1}, 422, "request-invalid", ["body.spec.shrinkage"]),
]
REFUSED_BAYES = [
    ({"model": "best"}, 422, "request-invalid", ["body.spec.model"]),
    ({"alpha": 0}, 422, "request-invalid", ["body.spec.alpha"]),
]
REFUSED_LINEAR = [
    ({"loss": "hinge"}, 422, "request-invalid", ["body.spec.loss"]),
    ({"l2": -1}, 422, "request-invalid", ["body.spec.l2"]),
    ({"loss": "perceptron", "l2": 1}, 422, "option-invalid", ["l2"]),
    ({"numeric": {"Z": [1, 2]}}, 422, "unknown-variable", ["numeric", "'Z'"]),
    ({"numeric": {"age": [1, 2]}}, 422, "option-invalid", ["numeric", "'age'"]),
    ({"steps": 0}, 422, "request-invalid", ["body.spec.steps"]),
    ({"sample": 1 << 21}, 422, "request-invalid", ["body.spec.sample"]),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spec", "others", "more"),
    [
        (TREE, "attributes", REFUSED_TREES),
        (LINEAR, "features", REFUSED_LINEAR),
        (BAYES, "features", REFUSED_BAYES),
    ],
    ids=["tree", "linear", "bayes"],
)
def test_what_cannot_be_learned_is_refused_at_once(survey, assert_problem, spec, others, more):
    study = survey()
    before = study.miner.snapshot()
    for change, status, code, words in [*REFUSED, *more]:
        named = {name.replace("OTHERS", others): value for name, value in change.items()}
        answer = study.job(**{**spec, **named})
        assert_problem(answer, status, code, *(word.replace("OTHERS", others) for word in words))
    assert study.miner.snapshot() == before


@pytest.mark.slow
def test_what_a_tree_may_cost_is_asked_before_it_runs(survey, assert_problem, monkeypatch):
    study = survey(limits=Limits(search_variables=3, job_cells=17))
    answer = study.job(**TREE)
    assert_problem(answer, 413, "limit-exceeded", "attributes", "4 variables", "3 are allowed")
    three = {**TREE, "attributes": ["age", "sport"]}
    assert study.learn(**three)["document"], "all reports are one table, whatever the depth"
    deep = {**three, "estimator": "ml"}
    assert_problem(study.job(**deep), 413, "limit-exceeded", "max_depth", "18 cells")
    assert study.learn(**deep, max_depth=1)["document"]
    monkeypatch.setattr(classifiers, "CUBE_CELLS", 17)
    assert_problem(study.job(**three), 413, "limit-exceeded", "max_depth", "18 cells")
    monkeypatch.setattr(classifiers, "INFORMATION_CELLS", 5)
    assert_problem(study.job(**three), 413, "limit-exceeded", "attributes", "6 cells")
    monkeypatch.undo()
    monkeypatch.setattr(classifiers, "MOST_NODES", 2)
    job = study.analyst.wait(study.job(**three).headers["location"])
    assert job["state"] == "succeeded", "it was learned before"
    job = study.analyst.wait(study.job(**three, significance=0.01).headers["location"])
    assert job["problem"]["code"] == "limit-exceeded"
    assert "nodes" in job["problem"]["detail"]


def test_what_a_classifier_may_cost_is_asked_before_it_runs(survey, assert_problem, monkeypatch):
    study = survey(limits=Limits(job_cells=35))
    assert_problem(study.job(**LINEAR), 413, "limit-exceeded", "features", "36 cells")
    assert study.learn(**LINEAR, features=["age", "sport"])["document"]
    monkeypatch.setattr(classifiers, "MOST_COLUMNS", 3)
    answer = study.job(**LINEAR, features=["age", "sport", "smoker"])
    assert_problem(answer, 413, "limit-exceeded", "4 columns", "features")
    few = {"features": ["age", "sport"], "encoding": "ordinal", "seed": 3}
    assert study.learn(**LINEAR, **few)["document"]


@pytest.mark.slow
@pytest.mark.parametrize("spec", [TREE, LINEAR], ids=["tree", "linear"])
def test_pooled_reports_are_afforded_by_the_tables_of_a_model(survey, spec):
    """All variables together would have 36 cells, more than are allowed."""
    study = survey(limits=Limits(job_cells=35))
    model = study.learn(**spec, estimator="pooled")
    page = study.owner("GET", f"/v1/models/{model['id']}/page").text
    if spec is TREE:
        assert model["document"]["through"] in ("naive-bayes", "tan")
        assert "Through a model: no reports tell the attributes of a path together" in page
        text = study.owner("GET", f"/v1/models/{model['id']}/text").text
        assert text.startswith("Through a model")
    else:
        assert model["document"]["basis"] == "network"
        assert "drawn from a Bayesian network classifier" in page


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["naive-bayes", "tan"])
def test_a_bayesian_classifier_is_a_network_and_predicts_what_is_incomplete(survey, kind):
    study = survey()
    model = study.learn(**BAYES, model=kind)
    path = f"/v1/models/{model['id']}"
    assert model["document"]["model"] == kind
    elsewhere = read_predictor(study.owner("GET", f"{path}/document").text)
    network = read_bif(study.owner("GET", f"{path}/bif").text)
    assert network.structure.parents["ill"] == ()
    assert network.tables["ill"] == pytest.approx(elsewhere.network.tables["ill"], rel=1e-9)
    assert "bits" in study.owner("GET", f"{path}/text").text
    asked = study.owner("POST", f"{path}/predictions", json={"records": [{"smoker": None}, {}]})
    assert asked.status_code == 200, asked.text
    shares = [p["probabilities"] for p in asked.json()["predictions"]]
    assert shares[0] == pytest.approx(shares[1])
    assert shares[0] == pytest.approx(network.tables["ill"])
    drawn = study.owner("GET", f"{path}/samples", params={"records": 5})
    assert len(drawn.text.splitlines()) == 6


def test_what_a_bayesian_classifier_may_cost_is_asked_before_it_runs(survey, assert_problem):
    study = survey(limits=Limits(search_variables=2))
    assert_problem(study.job(**BAYES), 413, "limit-exceeded", "features", "variables")
