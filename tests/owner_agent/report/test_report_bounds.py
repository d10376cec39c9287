"""What the plan's report claims of several blocks, many variables and impossible beliefs."""

import io
import itertools
import json
import math

import numpy as np
import pytest
from rich.console import Console

from owner_agent.report.losses import Bounds
from owner_agent.report.plan_shown import PLAN
from owner_agent.report.report import report, warnings
from owner_agent.site.planning import PlannedSite
from pramana_core.channels import (
    RESOLUTION,
    Choice,
    Dense,
    Identity,
    Sampled,
    Symmetric,
)
from pramana_core.domain import Variable
from pramana_core.plan import Block, Plan
from pramana_core.privacy import Amplification


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


def printed(made):
    out = io.StringIO()
    PLAN.printed(Console(file=out, width=100), Console(quiet=True), made)
    return out.getvalue()


def flat(text):
    return " ".join(text.split())


# Several blocks ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_beliefs_across_blocks_are_bounded_by_all_blocks_together():
    """Ma 3.1.2 on both blocks' reports: who knows that v0 = v1 learns of v0 from both."""
    blocks = [binary(5, "v0"), binary(5, "v1")]
    joint = np.kron(blocks[0].channel.matrix(), blocks[1].channel.matrix())
    belief = np.array([0.05, 0, 0, 0.95])
    posterior = belief[:, None] * joint / (belief @ joint)
    made = report(plan_of(*blocks), 1000)
    assert made.together.rho2 == pytest.approx(posterior[0].max(), rel=1e-6)
    assert made.together.rho2 == pytest.approx(0.568, abs=5e-4)
    # The negative control: a block's own bound does not hold for such beliefs.
    assert made.variables[0].bounds.rho2 < 0.21 < posterior[0].max()
    text = flat(PLAN.html(made, "o"))
    assert "<b>56.8 %</b><span>the most a belief of 5 % about sensitive variables" in text
    assert "block alone:<br>5 % grows" in text
    assert "limit by gamma" in text
    assert "under any other beliefs about this block" in " ".join(text.split())
    assert "whatever else is believed" not in text
    assert "reports of other blocks may add to it" in text
    assert "Public columns are told as they are" in text
    told = flat(printed(made))
    assert "gamma 25, epsilon 3.219; 5% grows to 56.8%, however their values go together." in told
    assert "other blocks may tell of it too" in told


@pytest.mark.parametrize(("gamma", "expected"), [(18.0, 0), (20.0, 1)])
def test_blocks_that_prove_nearly_anything_together_are_warned_of(gamma, expected):
    """From a gamma of 361 about both on; one of them alone is far from it."""
    blocks = [binary(gamma, "a"), binary(gamma, "b"), block(["c"], [2], Identity(2))]
    said = warnings(plan_of(*blocks, sensitive={"a", "b"}))
    assert len(said) == expected
    assert all("2 blocks together" in line and "gamma 400" in line for line in said)
    assert not warnings(plan_of(*blocks, sensitive={"a"}))


def test_epsilons_add_where_gamma_is_beyond_all_numbers():
    many = [binary(6, f"v{i}") for i in range(400)]
    assert Amplification.together(many).epsilon == pytest.approx(400 * math.log(6), rel=1e-6)
    assert Amplification.together(many).gamma == math.inf
    bounds = Bounds.together(many)
    assert bounds.told.written_gamma == ">1e308"
    assert bounds.rho2 == pytest.approx(1)
    assert bounds.as_dict()["gamma"] is None
    assert bounds.as_dict()["epsilon"] == pytest.approx(716.7, abs=0.05)
    assert Amplification.together([]).epsilon == 0
    assert Bounds.together([many[0], block(["x"], [2], Identity(2))]).told.written_gamma == "∞"
    three = [binary(3, "a"), block(["b"], [2], Dense.binary(0.1, 0.25))]
    product = np.kron(three[0].channel.matrix(), three[1].channel.matrix())
    ratio = (product.max(axis=0) / product.min(axis=0)).max()
    assert Amplification.together(three).epsilon == pytest.approx(math.log(ratio), rel=1e-9)


@pytest.mark.slow
def test_page_and_terminal_say_that_gamma_is_beyond_all_numbers():
    made = report(plan_of(*(binary(4e9, f"v{i}") for i in range(40))), 100)
    assert "epsilon of all sensitive variables of a record together (gamma &gt;1e308)" in flat(
        PLAN.html(made, "o")
    )
    assert "gamma >1e308, epsilon 8" in flat(printed(made))
    json.dumps(made.as_dict(), allow_nan=False)


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
    first = made.variables[0]
    share = 39 / math.comb(40, 2)
    assert first.reported == pytest.approx(share, rel=1e-6)
    assert made.blocks[0].attack.figures["guess_worst"] == pytest.approx(19 / 22 / 2**38, rel=1e-6)
    assert "one of 780 parts sampled" in PLAN.html(made, "o")


@pytest.mark.slow
def test_many_subsets_are_listed_as_far_as_there_is_room():
    made = report(plan_of(sampled(20, 2)), 1000)
    text = flat(printed(made))
    assert text.count("of the records report v") == 12
    assert "Reported are v0 by 10.0%" in text
    assert "in 190 sets." in text
    shown = PLAN.html(made, "o")
    assert shown.count('<td class="left">v0, v') == 12
    assert "The JSON file lists all sets." in shown
    assert len(made.as_dict()["blocks"][0]["choices"]) == 190
    few = report(plan_of(sampled(4, 2)), 1000)
    assert printed(few).count("of the records report v") == 6
    assert PLAN.html(few, "o").count('<td class="left">v') == 6 + 2 * 4


# Beliefs, and blocks of both kinds ---------------------------------------------------------------


def test_blocks_of_public_and_sensitive_variables_are_warned_of():
    joint = block(["age", "ill", "sex"], [2, 2, 2], Symmetric.from_gamma(8, 5))
    (said,) = warnings(plan_of(joint, sensitive={"ill"}))
    assert said.startswith("age, sex are public but in a block with ill:")
    assert "counts as corrected, and keeps its whole report" in said
    assert warnings(plan_of(sampled(3, 2), sensitive={"v1", "v2"}))[0].startswith("v0 is public")
    for sensitive in ({"age", "ill", "sex"}, set()):
        assert not warnings(plan_of(joint, sensitive=sensitive))
    names = [f"n{i}" for i in range(8)]
    wide = block(names, [2] * 8, Symmetric.from_gamma(256, 5))
    (said,) = warnings(plan_of(wide, sensitive={"n7"}))
    assert "n0, n1, n2, n3, n4, n5 and 1 more are public" in said
