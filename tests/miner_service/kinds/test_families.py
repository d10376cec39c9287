"""Releases by every kind of channel: those that need no matrix come in at any size."""

from __future__ import annotations

import itertools

import pytest

from miner_service.settings import Limits
from pramana_core.channels import (
    RESOLUTION,
    Choice,
    CutAndPaste,
    Grouped,
    Mixture,
    Product,
    Sampled,
    Symmetric,
)
from pramana_core.domain import Variable
from pramana_core.plan import Block, Plan
from pramana_core.wire.channels import PlanMessage

EIGHT = tuple(str(i) for i in range(8))
SIX = tuple(Variable(f"v{i}", EIGHT) for i in range(6))
PAIRS = list(itertools.combinations(range(6), 2))
ROOMY = {
    "mixture": Mixture.from_gamma(8**6, 19.0),
    "cut-and-paste": CutAndPaste.from_probability((8,) * 6, 2, 0.3),
    "sampled": Sampled(
        (8,) * 6,
        tuple(Choice(p, RESOLUTION // 15, Symmetric.from_gamma(64, 19.0)) for p in PAIRS),
    ),
}


@pytest.mark.parametrize("name", ROOMY)
def test_a_channel_without_a_matrix_comes_in_at_any_size(miner, build, name):
    plan = Plan((Block(SIX, ROOMY[name]),))
    miner.study("asia")
    release = build(plan, [1, 2, 3], {v.name: [0, 1, 2] for v in SIX})
    path = miner.owner("asia", "north").publish("asia", release)
    assert path


def test_a_matrix_that_must_be_held_is_bounded(start, build, assert_problem):
    miner = start(Limits(channel_size=5))
    miner.study("asia")
    owner = miner.owner("asia", "north")
    grouped = Grouped.from_probability([[0, 1, 2], [3, 4, 5, 6, 7]], 0.3)
    inside = Sampled((8, 8), (Choice((0,), RESOLUTION // 2, grouped),))
    for block in (Block(SIX[:1], grouped), Block(SIX[:2], inside)):
        release = build(Plan((block,)), [1], {name: [0] for name in block.names})
        answer = owner("POST", "/v1/studies/asia/releases", json=release.body)
        assert_problem(answer, 413, "limit-exceeded")


@pytest.mark.parametrize("inner", [False, True])
def test_the_subsets_of_sampled_channels_are_bounded(start, build, assert_problem, inner):
    """A plan of one subset for each pair of its columns takes seconds to read."""
    miner = start(Limits(subsets=5))
    miner.study("asia")
    owner = miner.owner("asia", "north")
    for number, accepted in ((5, True), (6, False)):
        choices = (Choice((0,), RESOLUTION // 8, Symmetric.from_gamma(8, 9.0)),) * number
        channel = Sampled((8, 8), choices)
        plan = Plan((Block(SIX[:2], Product((2,), (channel,)) if inner else channel),))
        body = {"plan": PlanMessage.from_plan(plan).model_dump(mode="json")}
        answer = owner("POST", "/v1/studies/asia/privacy", json=body)
        if accepted:
            assert answer.status_code == 200
        else:
            assert_problem(answer, 413, "limit-exceeded", "subsets")
            release = build(plan, [1], {name: [0] for name in plan.reported_sizes})
            answer = owner("POST", "/v1/studies/asia/releases", json=release.body)
            assert_problem(answer, 413, "limit-exceeded", "subsets")
