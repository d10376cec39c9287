"""What the plan's report claims of several blocks, many variables and impossible beliefs."""

import itertools
import math

import numpy as np
import pytest

from owner_agent.report.plan import report, warnings
from owner_agent.report.study import StudyForecast
from owner_agent.site.planning import PlannedSite
from pramana_core.channels import RESOLUTION, Choice, Identity, Sampled, Symmetric
from pramana_core.domain import Variable
from pramana_core.plan import Block, Plan
from pramana_core.privacy import NOTHING, Extremes
from pramana_core.wire.privacy import (
    ExtremesMessage,
    PrivacyBudget,
    PrivacyForecast,
    StudyPrivacy,
)


def block(names, sizes, channel):
    return Block(
        tuple(
            Variable(n, tuple(f"{n}{k}" for k in range(s)))
            for n, s in zip(names, sizes, strict=True)
        ),
        channel,
    )


def binary(gamma, name):
    return block([name], [2], Symmetric.from_gamma(2, gamma))


def plan_of(*blocks, sensitive=None):
    made = Plan(blocks)
    variables = {v.name: v for v in made.domain}
    names = frozenset(variables if sensitive is None else sensitive)
    return PlannedSite(variables, made, names, {name: name for name in variables})


def test_the_rest_of_a_studys_budget_is_rounded_down():
    nothing = ExtremesMessage.of(Extremes(NOTHING, NOTHING))
    before = StudyPrivacy(
        study="asia", prior=0.05, columns=[], owners=[], record=nothing, different_people=False,
        budget=PrivacyBudget(
            max_epsilon_record=5.0, max_epsilon_column=None, left_for_record=5 - math.log(43)
        ),
    )  # fmt: skip
    budget = before.budget.model_copy(update={"left_for_record": 1 - math.log(2)})
    after = before.model_copy(update={"budget": budget})
    forecast = PrivacyForecast(before=before, after=after, refused=None)
    words = str(StudyForecast("north", forecast).section())
    assert "1.238 of it remains" in words
    assert "0.3068 after this" in words


def test_what_both_budgets_leave_is_not_said_to_remain_of_one():
    nothing = ExtremesMessage.of(Extremes(NOTHING, NOTHING))
    told = StudyPrivacy(
        study="asia", prior=0.05, columns=[], owners=[], record=nothing, different_people=False,
        budget=PrivacyBudget(
            max_epsilon_record=5.0, max_central_epsilon=0.5, central_records=2000,
            max_epsilon_column=None, left_for_record=2.527,
        ),
    )  # fmt: skip
    words = str(
        StudyForecast("north", PrivacyForecast(before=told, after=told, refused=None)).section()
    )
    assert "2.527 of it remains" not in words
    assert "Every plan of epsilon 2.527 fits" in words
    assert "keeps both limits" in words


# Several blocks ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_beliefs_across_blocks_are_bounded_by_all_blocks_together():
    """Ma 3.1.2 on both blocks' reports: who knows that v0 = v1 learns of v0 from both."""
    blocks = [binary(5, "v0"), binary(5, "v1")]
    joint = np.kron(blocks[0].channel.matrix(), blocks[1].channel.matrix())
    belief = np.array([0.05, 0, 0, 0.95])
    posterior = belief[:, None] * joint / (belief @ joint)
    made = report(plan_of(*blocks), 1000)
    together = made.numbers["together"]["rho_2"]
    assert together == pytest.approx(posterior[0].max(), rel=1e-6)
    assert together == pytest.approx(0.568, abs=5e-4)
    # The negative control: a block's own bound does not hold for such beliefs.
    assert made.numbers["variables"][0]["rho_2"] < 0.21 < posterior[0].max()
    assert "56.82 %" in {fact.figure for fact in made.sections[0].facts}


@pytest.mark.parametrize(("gamma", "expected"), [(18.0, 0), (20.0, 1)])
def test_blocks_that_prove_nearly_anything_together_are_warned_of(gamma, expected):
    """From a gamma of 361 about both on; one of them alone is far from it."""
    blocks = [binary(gamma, "a"), binary(gamma, "b"), block(["c"], [2], Identity(2))]
    said = warnings(plan_of(*blocks, sensitive={"a", "b"}))
    assert len(said) == expected
    assert all("gamma 400" in line for line in said)
    assert not warnings(plan_of(*blocks, sensitive={"a"}))


# Many variables and subsets ----------------------------------------------------------------------


def sampled(variables, size, gamma=19.0):
    subsets = list(itertools.combinations(range(variables), size))
    channel = Sampled(
        (2,) * variables,
        tuple(
            Choice(axes, RESOLUTION // len(subsets), Symmetric.from_gamma(2**size, gamma))
            for axes in subsets
        ),
    )
    return block([f"v{i}" for i in range(variables)], [2] * variables, channel)


@pytest.mark.slow
def test_pairs_of_40_variables_are_reported():
    """More variables than numpy broadcasts axes in one call."""
    made = report(plan_of(sampled(40, 2)), 10_000)
    first, (whole,) = made.numbers["variables"][0], made.numbers["blocks"]
    assert first["records_reporting"] == pytest.approx(10_000 * 39 / math.comb(40, 2), rel=1e-6)
    assert whole["guess_blind"] == pytest.approx(2**-40)
    assert len(whole["choices"]) == 780


# Beliefs, and blocks of both kinds ---------------------------------------------------------------


def test_blocks_of_public_and_sensitive_variables_are_warned_of():
    joint = block(["age", "ill", "sex"], [2, 2, 2], Symmetric.from_gamma(8, 5))
    (said,) = warnings(plan_of(joint, sensitive={"ill"}))
    assert "age, sex" in said
    assert len(warnings(plan_of(sampled(3, 2), sensitive={"v1", "v2"}))) == 1
    for sensitive in ({"age", "ill", "sex"}, set()):
        assert not warnings(plan_of(joint, sensitive=sensitive))
