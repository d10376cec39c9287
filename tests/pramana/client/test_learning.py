"""What the miner learns is what `fit` learns here from the same reports."""

from __future__ import annotations

import pandas as pd
import pytest

import pramana as pm
from shared.errors import NotFitted
from shared.plan import Plan

LEARNERS = {
    "tree": lambda: pm.DecisionTree("survived", max_depth=2, prune=False),
    "tree of some": lambda: pm.DecisionTree("survived", ["sex", "class"]),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_the_miner_learns_what_fit_learns(world, together, name):
    learner = LEARNERS[name]()
    found = world.study().run(learner).wait().model
    here = LEARNERS[name]().fit(together)
    assert type(found) is type(here)
    assert found is not learner
    assert found.get_params() == here.get_params()
    assert found.to_document()["document"] == here.to_document()["document"]
    assert found.n_records_ == here.n_records_ == 2201
    assert found.estimated_by_ == here.estimated_by_ == "moment"
    assert found.epsilon_ == pytest.approx(here.epsilon_)
    assert found.gamma_ == pytest.approx(here.gamma_)


def test_the_learner_itself_stays_unfitted(world):
    learner = pm.DecisionTree("survived")
    world.study().run(learner).wait()
    with pytest.raises(NotFitted):
        learner.score(pm.example("titanic"))


@pytest.mark.parametrize("estimator", ["auto", "ml", "pooled", "log-linear"])
def test_a_table_is_the_frame_that_estimate_has(world, together, estimator):
    asked = ["sex", "survived"]
    found = world.study().table(asked, estimator=estimator).wait().model
    # A job counts the variables that it names: what is modelled is modelled of these.
    blocks = tuple(block for block in together.plan.blocks if set(block.names) <= set(asked))
    alone = pm.Reports(Plan(blocks), {name: together.codes[name] for name in asked})
    here = pm.estimate(alone, estimator=estimator).table(asked)
    pd.testing.assert_frame_equal(found, here)
