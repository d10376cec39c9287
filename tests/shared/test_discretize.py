"""Discretization, and cuts into groups of nearly equal size."""

from __future__ import annotations

import numpy as np
import pytest

from pramana_core.channels import Identity
from pramana_core.discretize import Discretization, equal_frequency
from pramana_core.domain import Domain, Variable
from pramana_core.errors import DomainError, OptionError
from pramana_core.plan import Block, Plan
from pramana_core.wire.channels import PlanMessage


def test_a_discretization_replaces_by_order_and_by_means():
    found = Discretization((1.0, 2.5), (0.0, 2.0, 9.0))
    values = [-5, 0.999, 1.0, 2.4, 2.5, 1e300]
    assert found.codes(values).tolist() == [0, 0, 1, 1, 2, 2]
    assert found.codes(values).dtype == np.uint8
    assert found.labels == ("<1", "1-2.5", ">=2.5")
    assert found.variable("x") == Variable("x", found.labels, (0.0, 2.0, 9.0))
    many = tuple(float(i) for i in range(256))
    wide = Discretization(many, (-1.0, *(m + 0.5 for m in many)))
    assert wide.codes([300.0]).dtype == np.uint16
    alone = Discretization((), (3.0,))
    assert (alone.labels, alone.codes([1, 2]).tolist()) == (("all",), [0, 0])
    with pytest.raises(DomainError):
        alone.variable("x")


@pytest.mark.parametrize(
    ("values", "groups", "cuts"),
    [
        (range(1, 13), 4, (3.5, 6.5, 9.5)),
        ([1] * 10 + [2, 3, 4], 3, (1.5, 2.5)),
        ([1, 2, 3] + [9] * 10, 3, (2.5, 6.0)),
        ([1, 2], 2, (1.5,)),
        ([0, 1, 2, 3], 4, (0.5, 1.5, 2.5)),
        ([0, 0, 0, 1], 4, ()),
    ],
)
def test_equal_frequency(values, groups, cuts):
    assert equal_frequency(np.array(values, float), groups, minimum_count=1, step=1) == cuts


def test_values_are_rounded_to_the_grid():
    """Moving every value inside its grid cell changes no cut; moving it further does."""
    rng = np.random.default_rng(7)
    points = rng.integers(-400, 400, size=3_000)
    jitter = rng.uniform(-0.499, 0.499, size=points.size)
    made = [
        equal_frequency(v, 9, minimum_count=100, step=0.1)
        for v in (points * 0.1, (points + jitter) * 0.1, (points + 40 * jitter) * 0.1)
    ]
    assert made[0] == made[1] != made[2]


@pytest.mark.parametrize(
    ("values", "fewest", "step"),
    [([1.0, 1, 1, 2], 2, 1), ([0.0, 1, 2, 3], 3, 1), ([1.0, 2], 1, 1e-30), ([1.0, 2], 1, 1e-200)],
)
def test_impossible_groups_have_no_cuts(values, fewest, step):
    assert equal_frequency(np.array(values), 2, minimum_count=fewest, step=step) == ()


@pytest.mark.parametrize(
    ("cuts", "representatives", "where"),
    [
        ((2.0, 1.0), (0.0, 1.0, 3.0), "cuts"),
        ((1.0,), (0.0,), "representatives"),
        ((1.0,), (1.0, 2.0), "representatives"),
    ],
)
def test_cuts_and_representatives_must_fit(cuts, representatives, where):
    with pytest.raises(OptionError) as raised:
        Discretization(cuts, representatives)
    assert raised.value.where == where


def _plan(representatives):
    variable = Variable("age", ("<30", ">=30"), representatives)
    return Plan((Block((variable,), Identity(2)),))


def test_numbers_travel_and_count():
    plan = _plan((22, 61.5))
    message = PlanMessage.model_validate_json(PlanMessage.from_plan(plan).model_dump_json())
    assert message.to_plan() == plan
    assert message.to_plan().digest == plan.digest == _plan((22.0, 61.5)).digest
    assert plan.digest != _plan(None).digest
    assert message.to_plan().domain.project(["age"])["age"].representatives == (22.0, 61.5)
    assert Domain.of(x="ab")["x"].representatives is None
