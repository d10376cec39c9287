"""Names that are nearly right: each is answered with the one that was probably meant."""

from __future__ import annotations

import pytest

import pramana as pm
from tests.pramana.face.mistakes.client import _connect as connect

PEOPLE = pm.example("titanic")
DOMAIN = pm.Domain.of(**{name: sorted(PEOPLE[name].unique()) for name in PEOPLE})
PLAN = pm.plan(DOMAIN, p=0.1)
KEYS = pm.Keys.for_experiments(1)
IDS = PEOPLE.index
REPORTS = pm.randomize(PEOPLE, PLAN, KEYS, record_id=IDS, study="s")
NET = pm.BayesNet({"sex": [], "survived": ["sex"]}).fit(REPORTS)


def mask(**options):
    numbers = PEOPLE.assign(debt=range(len(PEOPLE)))
    return pm.mask(numbers, **{"confidential": ["debt"], **options})


NEAR = {
    "a public name": (lambda: pm.DecisonTree, "DecisionTree"),
    "a table": (lambda: pm.example("titanik"), "'titanic'"),
    "a column": (
        lambda: pm.randomize(PEOPLE.rename(columns={"sex": "SEX"}), PLAN, KEYS, record_id=IDS),
        "'SEX'",
    ),
    "a column of ids": (lambda: pm.randomize(PEOPLE, PLAN, KEYS, record_id="Clas"), "'class'"),
    "a category": (lambda: DOMAIN["sex"].code("Female"), "'female'"),
    "a variable": (lambda: DOMAIN["survive"], "'survived'"),
    "a variable of a table": (
        lambda: pm.estimate(REPORTS).table("survivd"),
        "'survived'",
    ),
    "a target": (lambda: pm.NaiveBayes("Survived").fit(REPORTS), "'survived'"),
    "a feature": (lambda: pm.NaiveBayes("survived", ["clas"]).fit(REPORTS), "'class'"),
    "a node": (lambda: NET.query("Sex"), "'sex'"),
    "a public variable": (lambda: pm.plan(DOMAIN, p=0.1, public=["ages"]), "'age'"),
    "a channel": (
        lambda: pm.plan(DOMAIN, p=0.1, channels={"sex": {"kind": "symetric", "p": 0.1}}),
        "'symmetric'",
    ),
    "an option of a function": (lambda: pm.connect("https://x", tokenfile="me"), "'token_file'"),
    "an option of a learner": (lambda: pm.DecisionTree("ill", maxdepth=3), "'max_depth'"),
    "a choice of a learner": (
        lambda: pm.LinearClassifier("sex", loss="Logistic").fit(REPORTS),
        "'logistic'",
    ),
    "a column to mask": (lambda: mask(confidential=["debts"]), "'debt'"),
    "a method of masking": (lambda: mask(method="shufle"), "'shuffle'"),
    "an option of a method": (lambda: mask(method="sadp", noize=1.0), "'noise'"),
    "an estimator": (lambda: pm.estimate(REPORTS, estimator="poold"), "'pooled'"),
    "a study": (lambda: connect().study("voyages"), "'voyage'"),
    "a job": (lambda: connect().study("voyage").job("j1"), "'j-1'"),
}


@pytest.mark.parametrize("what", NEAR)
def test_what_is_nearly_a_name_is_answered_with_it(what):
    call, meant = NEAR[what]
    with pytest.raises((pm.PramanaError, AttributeError)) as caught:
        call()
    assert f"did you mean {meant}?" in str(caught.value)
