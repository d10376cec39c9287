"""Designs under a central bound: what the plan states is the bound that was required."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from pramana_core.design import Design, Learn, Problem, Requirements, find_design, option
from pramana_core.design.families import independent, sampled
from pramana_core.errors import OptionError
from pramana_core.privacy import (
    CentralLoss,
    ShuffledReport,
    central_loss,
    largest_gamma,
)
from tests.shared.design.designs import problem, sized

RECORDS = 20_000
HALF = CentralLoss(0.5, 1e-8)


def under(given: Problem, central: CentralLoss = HALF, gamma: float = 1e4) -> Problem:
    return replace(given, needs=replace(given.needs, gamma=gamma, central=central))


def stated(made: Design, central: CentralLoss = HALF) -> float:
    records = made.problem.records
    return central_loss(ShuffledReport.of(made.plan), records, central.delta).epsilon


@pytest.mark.parametrize("owners", [1, 3])
@pytest.mark.parametrize("learn", ["pairs", "counts", "classifier"])
def test_every_family_has_the_largest_gamma_with_which_it_states_the_bound(
    learn: Learn, owners: int
):
    domain = sized(2, 9, 4, 40, 3, 2)
    how = {"target": "v5"} if learn == "classifier" else {}
    given = problem(domain, learn, RECORDS, owners=owners, **how)
    made, worst = find_design(under(given)), largest_gamma(RECORDS, HALF)
    for one in made.options:
        if one.plan is not None:
            each = stated(replace(made, chosen=one))
            assert each <= HALF.epsilon, one.family
            assert one.built_for >= worst, one.family
    assert stated(made) > 0.98 * HALF.epsilon
    assert made.chosen.gamma > 1.05 * worst
    assert (
        made.chosen.prediction.loss < find_design(under(given, gamma=worst)).chosen.prediction.loss
    )


def test_gamma_is_a_limit_besides():
    given = problem(sized(2, 3, 4), "pairs", RECORDS)
    limited = find_design(under(given, gamma=19.0))
    assert limited.chosen.plan == find_design(given).chosen.plan
    most = find_design(under(given, CentralLoss(9.9, 1e-8)))
    assert most.chosen.built_for == 1e4


@pytest.mark.parametrize("central", [CentralLoss(1e-3, 1e-8), CentralLoss(0.5, 1e-300)])
def test_a_bound_that_shuffling_does_not_earn_has_its_own_gamma(central: CentralLoss):
    made = find_design(under(problem(sized(2, 3), "pairs", 3), central))
    assert stated(made, central) <= central.epsilon
    assert made.chosen.gamma == pytest.approx(math.exp(central.epsilon), rel=1e-5)


def test_a_family_whose_sets_change_with_gamma_keeps_the_bound():
    """Above gamma 200 its sets are pairs, whose reports hide less: epsilon jumps there."""
    given = under(problem(sized(40, 40, 40), "counts", RECORDS))
    whole, single = [("v0", "v1", "v2")], [("v0",), ("v1",), ("v2",)]
    made = option(
        given, "jumps", lambda needs: sampled(whole if needs.gamma < 200 else single)(needs)
    )
    assert made.plan is not None
    assert central_loss(ShuffledReport.of(made.plan), RECORDS).epsilon <= HALF.epsilon
    assert made.built_for >= largest_gamma(RECORDS, HALF)


def test_many_categories_allow_a_larger_gamma_than_two():
    """The reports of two categories are the worst of their gamma."""
    found = []
    for size in (2, 64):
        given = under(problem(sized(size), "counts", RECORDS))
        found.append(option(given, "independent", independent).gamma)
    assert found[0] == pytest.approx(largest_gamma(RECORDS, HALF), rel=1e-4)
    assert found[1] > 1.2 * found[0]


def test_public_columns_have_no_central_bound():
    with pytest.raises(OptionError) as error:
        Requirements.of(sized(2, 3), public=("v0",), central=HALF)
    assert error.value.where == "central_epsilon"
