"""Designs under a central bound: what the plan states is the bound that was required."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest

from pramana_core.design import (
    Design,
    Learn,
    Problem,
    Requirements,
    builds,
    choose,
    find_design,
    option,
)
from pramana_core.design.families import Build, gamma_diagonal, independent, sampled
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
            assert one.built_for >= worst * (1 - 1e-4), one.family
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
    assert made.built_for >= largest_gamma(RECORDS, HALF) * (1 - 1e-4)


@pytest.mark.parametrize(
    ("sizes", "records", "central", "build"),
    [
        ((8,), 200, CentralLoss(0.25, 1e-6), independent),
        ((2, 40, 3), 1_000, CentralLoss(0.5, 1e-8), gamma_diagonal),
        ((3,), 5_000, CentralLoss(4.0, 1e-10), independent),
    ],
)
def test_the_gamma_is_the_largest_to_a_percent(
    sizes: Sequence[int], records: int, central: CentralLoss, build: Build
):
    given = under(problem(sized(*sizes), "counts", records), central)
    made = option(given, "one", build)
    more = build(replace(given.needs, gamma=1 + (made.built_for - 1) * 1.02))
    below, above = (
        central_loss(ShuffledReport.of(plan), records, central.delta).epsilon
        for plan in (made.plan, more)
        if plan is not None
    )
    assert below <= central.epsilon
    assert below > 0.99 * central.epsilon or above > central.epsilon


def test_a_family_that_states_more_than_the_worst_channels_has_a_smaller_gamma():
    given = under(problem(sized(2), "counts", RECORDS))
    made = option(
        given, "worse", lambda needs: independent(replace(needs, gamma=1.02 * needs.gamma))
    )
    assert made.plan is not None
    assert central_loss(ShuffledReport.of(made.plan), RECORDS).epsilon <= HALF.epsilon
    assert made.gamma > 0.99 * largest_gamma(RECORDS, HALF)
    never = option(given, "never", lambda needs: independent(replace(needs, gamma=1e4)))
    assert never.plan is None
    assert never.reason


def test_designs_do_not_depend_on_the_last_digits_of_a_bound(monkeypatch: pytest.MonkeyPatch):
    given = under(problem(sized(2, 3, 4), "pairs", RECORDS))

    def digests() -> dict[str, str | None]:
        made = {name: option(given, name, build) for name, build in builds(given).items()}
        return {name: one.plan and one.plan.digest for name, one in made.items()}

    expected = digests()
    monkeypatch.setattr(choose, "largest_gamma", lambda *a: largest_gamma(*a) * (1 - 1e-9))
    monkeypatch.setattr(
        choose,
        "central_loss",
        lambda *a: replace(found := central_loss(*a), epsilon=found.epsilon * (1 + 1e-9)),
    )
    given = replace(given)  # without its cached requirements
    assert digests() == expected


def test_vast_and_tiny_central_epsilons_have_a_gamma_or_a_reason():
    given = problem(sized(2, 3), "pairs", 1_000)
    vast = option(under(given, CentralLoss(50.0, 1e-8), 1e300), "independent", independent)
    assert vast.built_for > math.exp(49)
    with pytest.raises(OptionError) as error:
        find_design(under(given, CentralLoss(1e-12, 1e-8)))
    assert error.value.where == "family"


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
