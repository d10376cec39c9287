"""What the miner learns is what `fit` learns here from the same reports."""

from __future__ import annotations

import pandas as pd
import pytest

import pramana as pm
from pramana_core.plan import Plan
from tests.pramana.client.world import STUDY, opened


@pytest.fixture(scope="module")
def world(tmp_path_factory, reports):
    """A miner with the releases of both owners, for all of these: they change nothing."""
    with opened(tmp_path_factory.mktemp("learning")) as world:
        for owner, made in reports.items():
            world.publish(owner, made)
        yield world


LEARNERS = {
    "tree": lambda: pm.DecisionTree("survived", ["sex", "class"], max_depth=2, prune=False),
    "Bayes": lambda: pm.BayesClassifier("survived", model="tan"),
    "linear": lambda: pm.LinearClassifier("survived", l2=0.01),
    "network": lambda: pm.BayesNet(draws=20, seed=3, max_parents=2),
    "network given": lambda: pm.BayesNet([("sex", "survived"), ("class", "survived")]),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNERS)
def test_the_miner_learns_what_fit_learns(world, together, name):
    learner = LEARNERS[name]()
    found = world.study().run(learner, estimator="ml").wait().model
    here = LEARNERS[name]().fit(pm.estimate(together, estimator="ml"))
    assert type(found) is type(here)
    assert found is not learner
    assert found.get_params() == here.get_params()
    assert found.to_document()["document"] == here.to_document()["document"]
    assert found.n_records_ == here.n_records_ == 2201
    assert found.estimated_by_ == here.estimated_by_ == "ml"
    assert found.epsilon_ == pytest.approx(here.epsilon_)
    assert found.gamma_ == pytest.approx(here.gamma_)
    assert len(found.plan_digests_) == 2


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ["auto", "ml", "pooled"])
def test_a_table_is_the_frame_that_estimate_has(world, together, estimator):
    asked = ["sex", "survived"]
    found = world.study().table(asked, estimator=estimator).wait().model
    # A job counts the variables that it names: what is modelled is modelled of these.
    blocks = tuple(block for block in together.plan.blocks if set(block.names) <= set(asked))
    alone = pm.Reports(Plan(blocks), {name: together.codes[name] for name in asked})
    here = pm.estimate(alone, estimator=estimator).table(asked)
    pd.testing.assert_frame_equal(found, here)


@pytest.mark.slow
def test_an_owner_reads_a_model_and_knows_its_own_plan(world, reports):
    job = world.study().run(pm.NaiveBayes("survived")).wait()
    guest = world.connect(token=world.tokens["port"]).study(STUDY)
    assert guest.alignment().in_all == 2201
    assert guest.releases()["owner"].tolist() == ["port"]
    found = guest.job(job.id).model
    assert found.to_document()["document"] == job.model.to_document()["document"]
    assert found.plan_digests_ == (reports["port"].plan.digest,)
