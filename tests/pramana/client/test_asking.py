"""An estimator is its job: the options, their names and their defaults are the same."""

from __future__ import annotations

import pytest

import pramana as pm
from pramana.client.job import job_of, learner_of
from pramana_core.wire.jobs import CountsSpec, JobCreate

COUNTS: dict[str, object] = {}

PLAIN = {
    "decision-tree": (pm.DecisionTree("ill"), {"target": "ill"}),
    "bayes-classifier": (pm.BayesClassifier("ill"), {"target": "ill"}),
    "linear-classifier": (pm.LinearClassifier("ill"), {"target": "ill"}),
    "bayes-net-structure": (pm.BayesNet(), {}),
    "bayes-net-parameters": (pm.BayesNet({"a": []}), {"structure": {"a": []}}),
    "association-rules": (
        pm.AssociationRules(0.1, max_length=8),
        {"minimum_support": 0.1},
    ),
}


@pytest.mark.parametrize("kind", PLAIN)
def test_what_is_left_out_means_the_same_to_both(kind):
    learner, required = PLAIN[kind]
    spec = JobCreate.model_validate({"spec": {"kind": kind, **required}}).spec
    assert job_of(learner, COUNTS) == spec


@pytest.mark.parametrize("kind", PLAIN)
def test_a_job_has_the_options_of_its_estimator(kind):
    spec = job_of(PLAIN[kind][0], COUNTS)
    assert job_of(learner_of(spec), COUNTS) == spec


def test_counts_are_asked_for_beside_the_options():
    counts = {"records": "any", "estimator": "pooled", "order": 3}
    spec = job_of(pm.NaiveBayes("ill"), counts)
    assert spec.model_dump(include=set(CountsSpec.model_fields)) == counts
    assert spec.model == "naive-bayes"
