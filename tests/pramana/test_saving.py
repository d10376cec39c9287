"""Saving and loading: everything comes back as it was, and nothing else is opened."""

from __future__ import annotations

import json
import math
import pickle
import re
from itertools import product

import pytest

from pramana.estimators.bayes import NaiveBayes
from pramana.estimators.linear import LinearClassifier
from pramana.estimators.network import BayesNet
from pramana.estimators.rules import AssociationRules
from pramana.estimators.tree import DecisionTree
from pramana.frames.examples import example
from pramana.owner.keys import Keys
from pramana.owner.randomizing import randomize
from pramana.saving import load, save
from pramana_core.channels import RESOLUTION, Symmetric
from pramana_core.domain import Domain, Variable
from pramana_core.errors import InputError, NotFitted, PramanaError, StoreCorrupt, TableError
from pramana_core.learn.learners import TREE
from pramana_core.plan import Block, Plan
from pramana_core.study_plan import StudyPart, StudyPlan, StudySet
from tests.pramana.reporting.plans import PLANS, reports_of

TITANIC = example("titanic")
DOMAIN = Domain.of(**{c: sorted(TITANIC[c].unique()) for c in TITANIC})
STUDY = StudyPlan(
    (("north", (DOMAIN["class"],)), ("south", (DOMAIN["sex"],))),
    (
        StudySet(RESOLUTION // 2, (StudyPart(0, (0,), Symmetric.from_gamma(4, 5.0)),)),
        StudySet(RESOLUTION // 2, (StudyPart(1, (0,), Symmetric.from_gamma(2, 5.0)),)),
    ),
)


@pytest.fixture(scope="module")
def tree() -> DecisionTree:
    plan = Plan.unrandomized(DOMAIN)
    reports = randomize(TITANIC, plan, Keys.for_experiments(1), record_id="person")
    return DecisionTree("survived", max_depth=2).fit(reports)


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS.keys())
def test_plans_come_back_as_they_were(tmp_path, plan):
    save(plan, tmp_path / "plan.json")
    assert load(str(tmp_path / "plan.json")) == plan


def test_study_plans_domains_and_reports_come_back_as_they_were(tmp_path):
    numbers = Domain((Variable("age", ("<30", ">=30"), (21.5, 47.25)),))
    for thing in (STUDY, DOMAIN, numbers):
        save(thing, tmp_path / "thing")
        assert load(tmp_path / "thing") == thing
    reports = reports_of(PLANS["sampled"])
    save(reports, tmp_path / "thing")
    assert load(tmp_path / "thing").digest == reports.digest
    assert [path.name for path in tmp_path.iterdir()] == ["thing"]


def test_a_model_comes_back_with_what_it_was_learned_from(tmp_path, tree):
    save(tree, tmp_path / "tree.json")
    loaded = load(tmp_path / "tree.json")
    assert loaded.get_params() == tree.get_params()
    assert loaded.plan_digests_ == tree.plan_digests_
    assert loaded.epsilon_ == tree.epsilon_
    assert (loaded.predict_proba(TITANIC) == tree.predict_proba(TITANIC)).all()
    assert loaded.to_json() == tree.to_json()


def test_plans_of_the_services_are_read(tmp_path):
    (tmp_path / "plan.json").write_bytes(PLANS["mixed"].canonical_json())
    (tmp_path / "study-plan.json").write_bytes(STUDY.canonical_json())
    assert load(tmp_path / "plan.json") == PLANS["mixed"]
    assert load(tmp_path / "study-plan.json") == STUDY


def test_models_of_the_services_are_read(tmp_path, tree):
    bare = TREE.document(tree.model_)
    served = {"id": "m1", "kind": "decision-tree", "records": 2201, "document": bare}
    for document in (bare, served):
        (tmp_path / "tree.json").write_text(json.dumps(document))
        loaded = load(tmp_path / "tree.json")
        assert (loaded.predict(TITANIC) == tree.predict(TITANIC)).all()
        assert loaded.n_records_ == 2201
        assert loaded.epsilon_ == math.inf
        assert loaded.plan_digests_ == ()
        assert loaded.max_depth == 2


def changed(path, **of):
    path.write_text(json.dumps(json.loads(path.read_text()) | of))


def test_a_plan_that_was_changed_is_refused(tmp_path):
    path = tmp_path / "plan.json"
    save(PLANS["symmetric"], path)
    changed(path, content=PLANS["one-hot"].as_dict())
    with pytest.raises(StoreCorrupt, match="its plan does not match the digest"):
        load(path)


def test_later_versions_say_so(tmp_path, tree):
    for thing in (PLANS["symmetric"], tree):
        save(thing, tmp_path / "thing")
        changed(tmp_path / "thing", version=7, further=1)
        with pytest.raises(TableError, match="version 7 of the format; .* reads version 1"):
            load(tmp_path / "thing")


class Trap:
    def __reduce__(self):
        return (pytest.fail, ("a pickle was opened",))


OTHERS = {
    "pickle": (pickle.dumps(Trap()), "it is a pickle, which could run any program"),
    "old pickle": (pickle.dumps(Trap(), protocol=2), "it is a pickle"),
    "text pickle": (pickle.dumps(Trap(), protocol=0), "neither JSON nor Parquet"),
    "joblib's archive": (b"PK\x03\x04 and more", "it is an archive"),
    "text": (b"hello", "neither JSON nor Parquet"),
    "nothing": (b"", "neither JSON nor Parquet"),
    "a list": (b"[1, 2]", "other JSON"),
    "an object": (b'{"a": 1}', "other JSON"),
    "another kind": (
        b'{"kind": "forest"}',
        "it is a 'forest', which is not one of the kinds of models",
    ),
    "a later kind": (
        b'{"format": "pramana", "version": 1, "kind": "budget"}',
        "it contains a 'budget'",
    ),
    "half a plan": (b'{"blocks": [{}]}', "blocks.0.variables"),
    "half a tree": (b'{"kind": "decision-tree"}', "path"),
    "deep": (b"[" * 100_000, "neither JSON nor Parquet"),
    "Parquet of something else": (b"PAR1 and more", "must be a file that Reports.save wrote"),
}


@pytest.mark.parametrize(("content", "said"), OTHERS.values(), ids=OTHERS.keys())
def test_nothing_else_is_opened(tmp_path, content, said):
    (tmp_path / "thing").write_bytes(content)
    with pytest.raises(PramanaError) as caught:
        load(tmp_path / "thing")
    assert said in str(caught.value)
    assert str(caught.value).endswith(".")


def places(document, place=()):
    """Yield where every part of a document is, of a list the first two."""
    yield place
    if isinstance(document, dict | list):
        parts = document if isinstance(document, dict) else range(min(2, len(document)))
        for part in parts:
            yield from places(document[part], (*place, part))


def with_part(document, place, part):
    if not place:
        return part
    changed = document.copy()
    changed[place[0]] = with_part(document[place[0]], place[1:], part)
    return changed


WRONG = (None, True, -1, 1.5, 10**400, 2**63, "", "x" * 200, [], {}, [[]], {"a": 1}, math.nan)


def sentences(text: str) -> int:
    return len(re.findall(r"[.!?](?=\s+[A-Z]|$)", text))


def learned(estimator):
    keys = Keys.for_experiments(1)
    plan = Plan(tuple(Block((v,), Symmetric.from_gamma(v.size, 50.0)) for v in DOMAIN))
    return estimator.fit(randomize(TITANIC, plan, keys, record_id="person"))


SAVED = {
    "plan": lambda: PLANS["sampled"],
    "study plan": lambda: STUDY,
    "domain": lambda: DOMAIN,
    "tree": lambda: learned(DecisionTree("survived", max_depth=1)),
    "naive Bayes": lambda: learned(NaiveBayes("survived")),
    "linear": lambda: learned(LinearClassifier("survived")),
    "network": lambda: learned(BayesNet([("sex", "survived")])),
    "rules": lambda: learned(AssociationRules(0.4, 0.4)),
}


@pytest.mark.slow
@pytest.mark.parametrize("thing", SAVED.values(), ids=SAVED.keys())
def test_whatever_a_file_holds_it_is_read_or_refused_in_one_sentence(tmp_path, thing):
    path = tmp_path / "thing"
    save(thing(), path)
    document = json.loads(path.read_text())
    found = list(places(document))
    refused = 0
    for place, part in product(found[:: max(1, len(found) // 25)], WRONG):
        path.write_text(json.dumps(with_part(document, place, part)))
        try:
            repr(load(path))
        except PramanaError as error:
            refused += 1
            said = str(error)
            assert sentences(said) == 1, (place, part, said)
            assert len(said) < 1500, (place, part)
    assert refused > 100


def test_what_cannot_be_saved_is_said(tmp_path):
    with pytest.raises(InputError, match="thing must be a plan, .* not a DataFrame"):
        save(TITANIC, tmp_path / "thing")
    with pytest.raises(InputError, match="not a Keys"):
        save(Keys.for_experiments(1), tmp_path / "thing")
    with pytest.raises(NotFitted):
        save(DecisionTree("survived"), tmp_path / "thing")
    assert list(tmp_path.iterdir()) == []
