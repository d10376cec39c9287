"""A miner combines released trees to what `fit` makes here of the same messages."""

from __future__ import annotations

import pytest

import pramana as pm
from pramana_core.errors import OptionError
from pramana_core.wire.jobs import ModelSharingSpec
from tests.miner_service.sharing import body
from tests.pramana.client.world import STUDY, opened


@pytest.fixture(scope="module")
def people():
    return pm.example("titanic")


@pytest.fixture(scope="module")
def trees(people):
    return [pm.share_tree(people.iloc[k::2], "survived", 20) for k in (0, 1)]


@pytest.fixture(scope="module")
def world(tmp_path_factory, trees):
    """A miner to whom two owners released what `pm.share_tree` made of their records."""
    with opened(tmp_path_factory.mktemp("sharing")) as world:
        for owner, tree in zip(("north", "south"), trees, strict=True):
            token = world.owner(owner)
            told = body(tree.message, owner)
            made = world.rest("POST", f"/v1/studies/{STUDY}/releases", token, json=told)
            world.rest("POST", f"/v1/releases/{made['id']}/seal", token)
        yield world


def test_the_estimator_has_the_options_of_the_job():
    job = ModelSharingSpec(kind="model-sharing").model_dump(exclude={"kind"})
    assert pm.CombinedTrees().get_params() == job


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"method": "labelled", "seed": 3, "scale": 2.0},
        {"method": "votes"},
        {"model": "naive-bayes"},
    ],
    ids=str,
)
def test_the_miner_makes_what_fit_makes(world, trees, people, options):
    found = world.study().run(pm.CombinedTrees(**options)).wait().model
    here = pm.CombinedTrees(**options).fit(trees)
    assert found.get_params() == here.get_params()
    told, made = found.to_document()["document"], here.to_document()["document"]
    assert told["model"] == made["model"]
    assert (found.predict_proba(people) == here.predict_proba(people)).all()
    assert (found.n_records_, found.n_trees_) == (2201, 2)
    assert repr(found) == repr(here)
    again = type(found).from_json(found.to_json())
    assert repr(again) == repr(found)


@pytest.mark.parametrize("wrong", [{"records": "any"}, {"estimator": "ml"}])
def test_trees_are_neither_aligned_nor_counted(world, wrong):
    with pytest.raises(OptionError):
        world.study().run(pm.CombinedTrees(), **wrong)
