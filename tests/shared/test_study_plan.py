"""Study plans: what they take, what they state, and what the owners' parts are together."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from functools import reduce

import numpy as np
import pytest

from pramana_core.channels import (
    RESOLUTION,
    Choice,
    Coordinated,
    Dense,
    Identity,
    Mixture,
    Product,
    Sampled,
    Symmetric,
    Withheld,
)
from pramana_core.domain import Variable
from pramana_core.errors import PlanError
from pramana_core.plan import Block, Plan
from pramana_core.study_plan import StudyPart, StudyPlan, StudySet

EIGHTH = RESOLUTION // 8
A, B = Variable("a", ("0", "1")), Variable("b", ("0", "1", "2"))
C, D = Variable("c", ("0", "1")), Variable("d", ("0", "1"))
PAIR, HALF = Mixture.from_gamma(6, 9.0), Symmetric.from_gamma(2, 3.0)
THIRD = Symmetric.from_gamma(3, 3.0)

PLAN = StudyPlan(
    (("north", (A, B)), ("south", (C,)), ("west", (D,))),
    (
        StudySet(2 * EIGHTH, (StudyPart(0, (0, 1), PAIR),)),
        StudySet(EIGHTH, (StudyPart(0, (1,), THIRD), StudyPart(1, (0,), HALF))),
        StudySet(
            EIGHTH, (StudyPart(0, (0,), HALF), StudyPart(1, (0,), HALF), StudyPart(2, (0,), HALF))
        ),
        StudySet(EIGHTH, (StudyPart(1, (0,), Dense.binary(0.1, 0.2)), StudyPart(2, (0,), HALF))),
        # The same variables and channels as above: one choice of the owners together.
        StudySet(EIGHTH, (StudyPart(0, (1,), THIRD), StudyPart(1, (0,), HALF))),
    ),
)


def own_law(block: Block, coin: int) -> np.ndarray:
    """The law of an owner's reports (true cells x reported cells) where the coin has fallen."""
    channel = block.channel
    assert isinstance(channel, Coordinated)
    sizes = channel.sizes
    codes = [size + 1 for size in sizes]
    law = np.zeros((int(np.prod(sizes)), int(np.prod(codes))))
    for row, cell in enumerate(itertools.product(*map(range, sizes))):
        told = [
            choice
            for (start, end), choice in zip(channel.spans, channel.choices, strict=True)
            if start <= coin < end
        ]
        if not told:
            law[row, -1] = 1
            continue
        (choice,) = told
        own = tuple(sizes[axis] for axis in choice.axes)
        part = np.ravel_multi_index(tuple(cell[axis] for axis in choice.axes), own)
        for values in itertools.product(*map(range, own)):
            report = list(sizes)
            for axis, value in zip(choice.axes, values, strict=True):
                report[axis] = value
            chance = choice.channel.matrix()[part, np.ravel_multi_index(values, own)]
            law[row, np.ravel_multi_index(report, codes)] += chance
    return law


@pytest.mark.parametrize(
    "owners",
    [
        ("north", "south", "west"),
        ("west", "south", "north"),
        ("north", "south"),
        ("north", "west"),
        ("south", "west"),
    ],
)
def test_parts_together_are_what_every_value_of_the_coin_makes_of_them(owners):
    """By brute force over the coin, of all owners and of some of them."""
    blocks = [PLAN.block(owner) for owner in owners]
    wanted = sum(
        reduce(np.kron, [own_law(block, coin) for block in blocks]) / 8
        for coin in range(0, RESOLUTION, EIGHTH)
    )
    plan = Plan.combine(Plan((block,)) for block in blocks)
    (joined,) = plan.blocks
    np.testing.assert_allclose(joined.channel.matrix(), wanted, atol=1e-15)
    assert joined.names == tuple(name for block in blocks for name in block.names)
    # The control: owners who choose for themselves report something else together.
    apart = reduce(np.kron, [block.channel.matrix() for block in blocks])
    assert np.abs(apart - wanted).max() > 0.01


def test_a_part_that_is_alone_stays_and_other_blocks_stand_where_they_were():
    public = Block((Variable("p", ("0", "1")),), Identity(2))
    other = Block((Variable("q", ("0", "1")),), HALF)
    north, west = PLAN.block("north"), PLAN.block("west")
    assert Plan.combine([Plan((public, north)), Plan((other,))]).blocks == (public, north, other)
    plan = Plan.combine([Plan((public, north)), Plan((other, west))])
    assert [block.names for block in plan.blocks] == [("p",), ("a", "b", "d"), ("q",)]
    # Parts of different plans are not drawn by one coin.
    elsewhere = replace(PLAN, sets=PLAN.sets[1:]).block("west")
    assert len(Plan.combine([Plan((north,)), Plan((elsewhere,))]).blocks) == 2
    with pytest.raises(PlanError):
        Plan.combine([Plan((north,)), Plan((north,))])


def test_numbers_that_categories_stand_for_are_the_owner_s_own():
    numbered = replace(B, representatives=(1.5, 2.5, 7.0))
    plan = replace(PLAN, owners=(("north", (A, numbered)), *PLAN.owners[1:]))
    assert plan.digest == PLAN.digest
    assert plan.block("north").digest == PLAN.block("north").digest
    assert list(PLAN.departures("north", Plan((plan.block("north"),)))) == []
    assert plan.together.domain["b"].representatives == (1.5, 2.5, 7.0)


def test_it_says_what_each_owner_reports_and_what_it_costs():
    assert PLAN.reported("north") == {"a": 3 / 8, "b": 4 / 8}
    assert PLAN.reported("west") == {"d": 2 / 8}
    assert PLAN.reported("nobody") == {}
    assert PLAN.loss_at("north").gamma == pytest.approx(9, rel=1e-9)
    # 0.9 / 0.2 is less than 0.8 / 0.1.
    assert PLAN.loss_at("south").gamma == pytest.approx(8, rel=1e-9)
    assert PLAN.loss_at("nobody").gamma == 1
    assert PLAN.amplification.gamma == pytest.approx(27, rel=1e-9)


def test_the_digest_is_of_the_canonical_form_and_names_the_coin():
    written = json.loads(PLAN.canonical_json())
    assert written == PLAN.as_dict()
    assert [owner["name"] for owner in written["owners"]] == ["north", "south", "west"]
    channel = PLAN.block("south").channel
    assert isinstance(channel, Coordinated)
    assert channel.coin == PLAN.digest
    lighter = (replace(PLAN.sets[0], weight=EIGHTH), *PLAN.sets[1:])
    assert replace(PLAN, sets=lighter).digest != PLAN.digest


@pytest.mark.parametrize(
    ("owners", "sets", "where"),
    [
        ((("n", (A,)), ("n", (B,))), None, "n"),
        ((("n", (A,)), ("s", (A,))), None, "a"),
        ((), None, None),
        ((("n", (A,)), ("s", ())), None, "owners"),
        (None, (), "sets"),
        (None, (StudySet(RESOLUTION, PLAN.sets[0].parts), PLAN.sets[1]), "sets"),
        (None, (StudySet(0, PLAN.sets[0].parts),), "sets"),
        (None, (StudySet(1, ()),), "set 0"),
        (None, (StudySet(1, PLAN.sets[1].parts[::-1]),), "set 0"),
        (None, (StudySet(1, (StudyPart(3, (0,), HALF),)),), "set 0"),
        (None, (StudySet(1, (StudyPart(-1, (0,), HALF),)),), "set 0"),
        (None, (StudySet(1, (StudyPart(0, (2,), HALF),)),), "set 0"),
        (None, (StudySet(1, (StudyPart(0, (1, 0), PAIR),)),), "set 0"),
        (None, (StudySet(1, (StudyPart(0, (1,), HALF),)),), "set 0"),
        (None, (StudySet(1, (StudyPart(0, (0,), Withheld(2)),)),), "set 0"),
    ],
)
def test_what_is_no_study_plan_is_refused_with_its_place(owners, sets, where):
    with pytest.raises(PlanError) as caught:
        StudyPlan(
            PLAN.owners if owners is None else owners, PLAN.sets[:1] if sets is None else sets
        )
    assert caught.value.where == where


def test_it_is_made_of_one_sampled_block_of_all_variables():
    owners = [(name, [v.name for v in variables]) for name, variables in PLAN.owners]
    made = StudyPlan.of(PLAN.together, owners)
    assert made.owners == PLAN.owners
    assert made.together == PLAN.together
    assert {one.weight for one in made.sets} == {EIGHTH, 2 * EIGHTH}


def sampled(*choices: Choice) -> Plan:
    return Plan((Block((A, B, C, D), Sampled((2, 3, 2, 2), choices)),))


TWO = [("north", ["a", "b"]), ("south", ["c", "d"])]


@pytest.mark.parametrize(
    ("plan", "owners"),
    [
        (sampled(Choice((0, 1), 1, PAIR)), TWO[::-1]),
        (sampled(Choice((0, 1), 1, PAIR)), TWO[:1]),
        (Plan((Block((A,), HALF),)), [("n", ["a"])]),
        (sampled(Choice((1, 2), 1, PAIR)), TWO),
        (sampled(Choice((0, 1, 2), 1, Product((1, 2), (HALF, PAIR)))), TWO),
    ],
)
def test_a_plan_of_another_form_makes_no_study_plan(plan, owners):
    with pytest.raises(PlanError):
        StudyPlan.of(plan, owners)


def test_an_owner_without_a_part_reports_nothing():
    plan = replace(PLAN, sets=PLAN.sets[:2])
    assert [plan.reports(name) for name, _ in plan.owners] == [True, True, False]
    with pytest.raises(PlanError):
        plan.block("west")
    with pytest.raises(PlanError):
        plan.block("east")
    assert not plan.reports("east")
    assert plan.together.domain.names == ("a", "b", "c")


PUBLIC = Block((Variable("p", ("0", "1")),), Identity(2))
SILENT = Block((Variable("q", ("0", "1")),), Withheld(2))
MORE = Block((Variable("q", ("0", "1")),), HALF)


def departures(owner: str, *blocks: Block) -> list[str]:
    return list(PLAN.departures(owner, Plan(blocks)))


def test_a_release_follows_with_its_part_whole_and_public_columns_beside_it():
    assert departures("north", PLAN.block("north")) == []
    assert departures("north", PUBLIC, PLAN.block("north"), SILENT) == []
    assert departures("stranger", PUBLIC, SILENT) == []


def test_what_does_not_follow_is_said():
    north = PLAN.block("north")
    assert departures("north", PUBLIC) == ["it lacks the part of 'north', a block of ['a', 'b']"]
    (more,) = departures("north", north, MORE)
    assert more.startswith("it randomizes ['q'] outside the study plan")
    swapped, lacks = departures("north", PLAN.block("south"))
    assert swapped == "the study plan has no block ['c'] for this owner"
    assert lacks.startswith("it lacks")
    stranger = departures("stranger", north)
    assert stranger == ["the study plan has no block ['a', 'b'] for this owner"]


def test_another_coin_and_other_sets_of_this_one_are_told_apart():
    other = replace(PLAN, sets=PLAN.sets[1:])
    said, _ = departures("north", other.block("north"))
    assert other.digest[:12] in said
    assert PLAN.digest[:12] in said
    north = PLAN.block("north")
    assert isinstance(north.channel, Coordinated)
    stronger = replace(north.channel.choices[0], channel=Mixture.from_gamma(6, 100.0))
    liar = replace(north.channel, choices=(stronger, *north.channel.choices[1:]))
    said, _ = departures("north", Block(north.variables, liar))
    assert said == "its block ['a', 'b'] differs from the study plan in its sets or channels"
