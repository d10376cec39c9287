"""What two owners tell of a record by one coin: enumerated, in exact fractions."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

import pytest

from pramana_core.channels import RESOLUTION, Coordinated, Symmetric
from pramana_core.domain import Variable
from pramana_core.plan import Block
from pramana_core.privacy import Amplification, BlockDisclosure, CoinDisclosure, gamma, total_loss
from pramana_core.study_plan import StudyPart, StudyPlan, StudySet

EIGHTH = RESOLUTION // 8
PAIR = Symmetric(4, EIGHTH)
"""5/8 on the diagonal, 1/8 off it: gamma 5."""
WHOLE, HALF = Symmetric(2, EIGHTH), Symmetric(2, 2 * EIGHTH)
"""Gammas 7 and 3."""
WEST = (Variable("class", ("0", "1")), Variable("a", ("0", "1")))
EAST = (Variable("b", ("0", "1")),)
CELLS = list(itertools.product(range(2), repeat=3))

PLAN = StudyPlan(
    (("west", WEST), ("east", EAST)),
    (
        StudySet(2 * EIGHTH, (StudyPart(0, (0, 1), PAIR),)),
        StudySet(EIGHTH, (StudyPart(0, (0,), HALF), StudyPart(1, (0,), HALF))),
        # The same variable alone, with all it may lose: the report looks like the one above.
        StudySet(EIGHTH, (StudyPart(0, (0,), WHOLE),)),
        StudySet(3 * EIGHTH, (StudyPart(0, (1,), HALF), StudyPart(1, (0,), HALF))),
    ),
)

Report = tuple[int | None, ...]
Law = dict[Report, Fraction]


def law_at(block: Block, truth: Sequence[int], coin: int) -> Law:
    """The chance of each of one owner's reports where the coin has fallen."""
    channel = block.channel
    assert isinstance(channel, Coordinated)
    for (start, end), choice in zip(channel.spans, channel.choices, strict=True):
        if start <= coin < end:
            made: Law = {}
            symmetric = choice.channel
            assert isinstance(symmetric, Symmetric)
            for values in itertools.product(*(range(channel.sizes[a]) for a in choice.axes)):
                same = all(truth[a] == v for a, v in zip(choice.axes, values, strict=True))
                report: list[int | None] = [None] * len(channel.sizes)
                for axis, value in zip(choice.axes, values, strict=True):
                    report[axis] = value
                units = symmetric.keep_units if same else symmetric.off_units
                made[tuple(report)] = Fraction(units, RESOLUTION)
            return made
    return {(None,) * len(channel.sizes): Fraction(1)}


def coins() -> Iterator[tuple[int, Fraction]]:
    """Every value of the coin that differs from the one before it, and its chance."""
    starts = [*itertools.accumulate((one.weight for one in PLAN.sets), initial=0), RESOLUTION]
    for low, high in itertools.pairwise(starts):
        yield low, Fraction(high - low, RESOLUTION)


def both(west: Law, east: Law) -> Law:
    return {(*a, *b): p * q for (a, p), (b, q) in itertools.product(west.items(), east.items())}


def mixed(laws: Iterable[tuple[Fraction, Law]]) -> Law:
    made: Law = {}
    for share, law in laws:
        for report, chance in law.items():
            made[report] = made.get(report, Fraction(0)) + share * chance
    return made


def owner_laws(truth: Sequence[int], coin: int) -> tuple[Law, Law]:
    return (
        law_at(PLAN.block("west"), truth[:2], coin),
        law_at(PLAN.block("east"), truth[2:], coin),
    )


def worst(laws: Sequence[Law]) -> Fraction:
    """How much likelier a report is under one record than under another, at most."""
    for law in laws:
        assert sum(law.values()) == 1
    return max(
        chance / other[report]
        for one, other in itertools.product(laws, repeat=2)
        for report, chance in one.items()
    )


def test_who_knows_the_coin_learns_as_much_as_the_study_plan_states():
    """All records, all coins, all reports of both owners: 3 x 3 in a set over both of them."""
    found = max(worst([both(*owner_laws(cell, coin)) for cell in CELLS]) for coin, _ in coins())
    assert found == Fraction(9)
    assert PLAN.amplification.gamma == pytest.approx(float(found), rel=1e-12)


def test_choices_that_are_not_coordinated_tell_more():
    """The control: each owner has a coin of its own, and another record may be at its worst."""
    laws = []
    for cell in CELLS:
        west = mixed((p, owner_laws(cell, c)[0]) for c, p in coins())
        east = mixed((p, owner_laws(cell, c)[1]) for c, p in coins())
        laws.append(both(west, east))
    assert worst(laws) == Fraction(5 * 3)
    assert worst(laws) > Fraction(9)


def test_an_owner_s_part_costs_what_its_strongest_channel_does_to_whom_the_coin_is_known():
    west = PLAN.block("west").channel
    # Seven, alone of the class; who does not know the coin cannot tell it from the weaker one.
    assert gamma(west) == pytest.approx(7, rel=1e-12)
    blind = [mixed((p, owner_laws(cell, c)[0]) for c, p in coins()) for cell in CELLS]
    assert worst(blind) == 5
    assert PLAN.loss_at("west").gamma == pytest.approx(7, rel=1e-12)
    assert PLAN.loss_at("east").gamma == pytest.approx(3, rel=1e-12)


def told(owner: str, *, draw: str = "1", coin: bool = True) -> BlockDisclosure:
    block = PLAN.block(owner)
    return BlockDisclosure(
        owner,
        block.names,
        Amplification.of(block.channel),
        draw,
        coin=CoinDisclosure.of(block.channel) if coin else None,
    )


def test_a_study_adds_up_set_by_set():
    study = total_loss([told("west"), told("east")])
    assert study.record.determined.gamma == pytest.approx(9, rel=1e-12)
    assert study.owners["west"].determined.gamma == pytest.approx(7, rel=1e-12)
    assert study.owners["east"].determined.gamma == pytest.approx(3, rel=1e-12)
    assert study.variables["b"].gamma == pytest.approx(3, rel=1e-12)


def test_what_is_told_beside_a_coin_adds():
    other = BlockDisclosure("east", ("d",), Amplification.of_gamma(2), "1")
    study = total_loss([told("west"), told("east"), other])
    assert study.record.determined.gamma == pytest.approx(9 * 2, rel=1e-12)
    # Another plan is another coin.
    west = told("west")
    assert west.coin is not None
    elsewhere = BlockDisclosure(
        "east",
        ("b",),
        Amplification.of_gamma(3),
        "1",
        coin=CoinDisclosure("0" * 64, west.coin.spans),
    )
    assert total_loss([west, elsewhere]).record.determined.gamma == pytest.approx(7 * 7, rel=1e-12)


def test_drawn_anew_the_set_that_tells_most_is_told_again():
    study = total_loss([told("west"), told("east"), told("west", draw="2"), told("west", draw="2")])
    assert study.record.determined.gamma == pytest.approx(9 * 7, rel=1e-12)
    assert study.owners["west"].determined.gamma == pytest.approx(7 * 7, rel=1e-12)
