"""Decision trees and linear classifiers over HTTP: learned, read, and asked for predictions."""

from __future__ import annotations

import json

import numpy as np
import pytest

from miner_service.settings import Limits
from pramana_core.learn.learners import read_predictor
from pramana_core.learn.networks.bif import read_bif

TREE = {"kind": "decision-tree", "target": "ill"}
LINEAR = {"kind": "linear-classifier", "target": "ill"}
BAYES = {"kind": "bayes-classifier", "target": "ill"}
BOTH = pytest.mark.parametrize("spec", [TREE, LINEAR, BAYES], ids=["tree", "linear", "bayes"])
RECORDS = [
    {"smoker": "yes", "age": ">=45", "sport": "low"},
    {"smoker": "no", "age": 24, "sport": "low"},
    {"smoker": "no", "age": 30.0, "sport": "high"},
]
CODES = {"smoker": [1, 0, 0], "age": [2, 0, 1], "sport": [0, 0, 2]}


def codes():
    return {name: np.array(column, dtype=np.uint8) for name, column in CODES.items()}


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


@pytest.mark.slow
@BOTH
def test_probabilities_of_many_classes_are_bounded_before_any_is_made(survey, assert_problem, spec):
    """3 records and the 2 classes of `ill` make 6 numbers."""
    study = survey(limits=Limits(prediction_cells=5))
    path = f"/v1/models/{study.learn(**spec)['id']}/predictions"
    answer = study.owner("POST", path, json={"records": RECORDS})
    assert_problem(answer, 413, "limit-exceeded", "records")
    assert study.owner("POST", path, json={"records": RECORDS[:2]}).status_code == 200


@pytest.mark.slow
@pytest.mark.parametrize("spec", [TREE, LINEAR], ids=["tree", "linear"])
def test_pooled_reports_are_afforded_by_the_tables_of_a_model(survey, spec):
    """All variables together would have 36 cells, more than are allowed."""
    study = survey(limits=Limits(job_cells=35))
    model = study.learn(**spec, estimator="pooled")
    page = study.owner("GET", f"/v1/models/{model['id']}/page").text
    if spec is TREE:
        assert model["document"]["through"] in ("naive-bayes", "tan")
        assert "Through a model" in page
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
