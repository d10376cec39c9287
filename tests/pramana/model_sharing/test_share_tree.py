"""`pm.share_tree`: what may leave, what was given up, and files of it."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pandas as pd
import pytest

import pramana as pm
from owner_agent.randomize.exact_noise import ExactNoise
from pramana.model_sharing.sharing import noise_of
from pramana_core.model_sharing.private import GeneratorNoise

LISTED = {
    "class": ["1st", "2nd", "3rd", "crew"],
    "age": ["adult", "child"],
    "sex": ["female", "male"],
    "survived": ["no", "yes"],
}


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    return pm.example("titanic")


@pytest.fixture(scope="module")
def shared(people: pd.DataFrame) -> pm.SharedModel:
    return pm.share_tree(people, "survived", pm.Requirement(k=20), by="pruning")


def test_each_path_counts_the_records_on_it(people: pd.DataFrame, shared: pm.SharedModel):
    """By pandas: the classes of all records that meet a path's conditions."""
    for path in shared.tree.paths():
        on = np.ones(len(people), dtype=bool)
        for name, condition in path.conditions.items():
            labels = shared.tree.schema[name].categories
            on &= people[name].isin([labels[code] for code in condition.codes]).to_numpy()
        label = shared.tree.schema.target.categories[path.leaf.label]
        right = int((people.loc[on, "survived"] == label).sum())
        assert (path.leaf.hit, path.leaf.miss) == (right, int(on.sum()) - right)
        assert on.sum() >= 20


def test_predictions_are_the_majority_of_the_path(people: pd.DataFrame, shared: pm.SharedModel):
    right = sum(leaf.hit for leaf in shared.tree.leaves) / len(people)
    assert shared.score(people) == pytest.approx(right, abs=1e-12)
    assert shared.score(people.drop(columns="survived"), people["survived"]) == shared.score(people)
    shares = shared.predict_proba(people)
    assert shares.shape == (len(people), 2)
    found = shared.classes_[shares.argmax(axis=1)]
    assert Counter(found) == Counter(shared.predict(people))


def test_a_private_tree_has_its_epsilon_and_repeats_by_seed(people: pd.DataFrame):
    made = [
        pm.share_tree(people, "survived", None, categories=LISTED, epsilon=2.0, rng=seed)
        for seed in (1, 1, 2)
    ]
    assert made[0].message == made[1].message != made[2].message
    assert made[0].content.epsilon == 2.0
    assert made[0].content.counts == "noised"
    assert "gamma 7.39, epsilon 2" in repr(made[0])


def test_a_private_tree_does_not_tell_whether_all_numbers_are_whole():
    """One record of 20.5 years would change what is told, whatever the noise."""
    frame = pd.DataFrame({"age": [20.0, 30.0] * 50, "old": ["no", "yes"] * 50})
    declared = {"ranges": {"age": (0, 120)}, "categories": {"old": ["no", "yes"]}}
    schemas = []
    for age in (20.0, 20.5):
        frame.loc[0, "age"] = age
        shared = pm.share_tree(frame, "old", None, epsilon=1.0, rng=1, **declared)
        schemas.append(shared.message["tree"]["attributes"])
    assert schemas[0] == schemas[1]


def test_numbers_are_asked_for_by_thresholds_within_declared_ranges():
    rng = np.random.default_rng(3)
    age = rng.integers(18, 90, 400)
    frame = pd.DataFrame({"age": age, "old": np.where(age > 60, 1, 0)})
    shared = pm.share_tree(frame, "old", 5, ranges={"age": (0, 120)})
    assert shared.score(frame) == 1.0
    assert shared.classes_.tolist() == ["0", "1"]
    (attribute,) = shared.message["tree"]["attributes"]
    assert (attribute["low"], attribute["high"], attribute["whole"]) == (0, 120, True)


def test_a_file_has_what_may_leave_and_no_more(shared: pm.SharedModel, people, tmp_path):
    path = tmp_path / "tree.json"
    pm.save(shared, path)
    text = path.read_text(encoding="utf-8")
    loaded = pm.load(path)
    assert isinstance(loaded, pm.SharedModel)
    assert loaded.message == shared.message
    assert loaded.tree == shared.tree
    assert len(text) < 3 * len(json.dumps(shared.message))
    assert (loaded.predict(people) == shared.predict(people)).all()


def test_private_noise_without_a_seed_is_that_of_releases(people):
    assert isinstance(noise_of(None), ExactNoise)
    assert isinstance(noise_of(3), GeneratorNoise)
    shared = pm.share_tree(people, "survived", None, categories=LISTED, epsilon=2.0)
    assert shared.message["epsilon"] == 2.0


def test_what_was_read_from_records_is_told(people):
    half = pm.share_tree(people, "survived", 20, categories={"sex": LISTED["sex"]})
    told = " ".join(half.protection)
    assert "were not declared" in told
    assert "'class', 'age', 'survived'" in told
    assert "'sex'" not in told
    declared = pm.share_tree(people, "survived", 20, categories=LISTED)
    assert "were not declared" not in " ".join(declared.protection)
