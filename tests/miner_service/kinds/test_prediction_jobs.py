"""Classifiers over HTTP: learned through models, and read."""

from __future__ import annotations

import pytest

from miner_service.settings import Limits
from pramana_core.learn.learners import read_predictor
from pramana_core.learn.networks.bif import read_bif

TREE = {"kind": "decision-tree", "target": "ill"}
LINEAR = {"kind": "linear-classifier", "target": "ill"}
BAYES = {"kind": "bayes-classifier", "target": "ill"}


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
def test_a_bayesian_classifier_is_a_network(survey, kind):
    study = survey()
    model = study.learn(**BAYES, model=kind)
    path = f"/v1/models/{model['id']}"
    assert model["document"]["model"] == kind
    elsewhere = read_predictor(study.owner("GET", f"{path}/document").text)
    network = read_bif(study.owner("GET", f"{path}/bif").text)
    assert network.structure.parents["ill"] == ()
    assert network.tables["ill"] == pytest.approx(elsewhere.network.tables["ill"], rel=1e-9)
    assert "bits" in study.owner("GET", f"{path}/text").text
