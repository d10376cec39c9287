"""Designs do not hang on the last digits of what they are compared by."""

from __future__ import annotations

import numpy as np
import pytest

from pramana_core.design import (
    Goal,
    Option,
    PredictedErrors,
    Problem,
    Requirements,
    records_needed,
    reference,
)
from pramana_core.design.choose import records_enough, useful
from pramana_core.design.families import sampled
from pramana_core.design.predict import wanted_cells
from pramana_core.domain import Domain

NUDGES = (1 - 1e-13, 1.0, 1 + 1e-13)
DOMAIN = Domain.of(a="xy", b="pq", c="01")
NEEDS = Requirements(DOMAIN, {"a": 9.0, "b": 9.0, "c": 9.0}, 9.0)
SETS = (("a", "b"), ("a", "c"), ("b", "c"))
PROBLEM = Problem(NEEDS, Goal((("a", "b"),), 2), reference(DOMAIN), 1000)


def predicted(score: float, noise: float = 1.0) -> PredictedErrors:
    return PredictedErrors({2: score}, score, loss=score, noise={("a", "b"): (1.0, noise)})


def of(moments: PredictedErrors, pooled: float = 9.0) -> Option:
    return Option("any", None, moments, pooled=predicted(pooled))


@pytest.mark.parametrize("nudge", NUDGES)
def test_of_estimators_that_are_as_good_the_one_that_supposes_least_is_taken(nudge: float):
    assert of(predicted(0.3), 0.3 * nudge).estimator == "moment"
    assert of(predicted(0.4), 0.3).estimator == "pooled"


@pytest.mark.parametrize("nudge", NUDGES)
def test_weights_that_an_iteration_ended_at_give_one_plan(nudge: float):
    plans = [
        sampled(SETS, np.array([0.25 * each, 0.25, 0.5]))(NEEDS).blocks[0] for each in (nudge, 1.0)
    ]
    assert plans[0] == plans[1]


@pytest.mark.parametrize("nudge", NUDGES)
def test_what_is_reached_exactly_is_reached(nudge: float):
    made = of(predicted(0.1 * nudge, 4.0 * nudge))
    assert useful(made)  # a fifth of an association is left
    assert records_enough(made, PROBLEM) == 1000
    assert records_needed(made, PROBLEM, 0.1) == 1000


@pytest.mark.parametrize("nudge", NUDGES)
def test_cells_at_the_minimum_support_count(nudge: float):
    shares = {"a": np.array([0.5 * nudge, 1 - 0.5 * nudge]), "b": np.array([0.5, 0.5])}
    wanted = wanted_cells(Goal((("a", "b"),), 2, minimum_support=0.25), ("a", "b"), shares)
    assert wanted.all()
    # Where none is as frequent as that, the largest count, all that are as large.
    wanted = wanted_cells(Goal((("a", "b"),), 2, minimum_support=0.5), ("a", "b"), shares)
    assert wanted.all()
