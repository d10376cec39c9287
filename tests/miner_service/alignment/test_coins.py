"""Whether what several owners report of a record is possible at one value of their coin."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from miner_service.alignment.coins import require_one_coin
from pramana_core.channels import RESOLUTION, Choice, Mixture, Sampled, Symmetric
from pramana_core.domain import Variable
from pramana_core.errors import RecordsDoNotAlign
from pramana_core.marginals.counts import ReportedCounts
from pramana_core.plan import Block
from pramana_core.study_plan import StudyPart, StudyPlan, StudySet

EIGHTH = RESOLUTION // 8
BINARY = Symmetric.from_gamma(2, 3.0)
A, B, C, D = (Variable(name, ("0", "1")) for name in "abcd")
SHARED = StudyPlan(
    (("north", (A, B)), ("south", (C,)), ("west", (D,))),
    (
        StudySet(2 * EIGHTH, (StudyPart(0, (0, 1), Mixture.from_gamma(4, 9.0)),)),
        StudySet(EIGHTH, (StudyPart(0, (0,), BINARY), StudyPart(1, (0,), BINARY))),
        StudySet(
            EIGHTH,
            (
                StudyPart(0, (1,), BINARY),
                StudyPart(1, (0,), BINARY),
                StudyPart(2, (0,), BINARY),
            ),
        ),
        StudySet(2 * EIGHTH, (StudyPart(2, (0,), BINARY),)),
    ),
)
"""Two eighths report nothing."""
OWNERS = ("north", "south", "west")


def reports(codes: dict[str, np.ndarray]) -> ReportedCounts:
    return ReportedCounts(codes, dict.fromkeys(codes, 3))


def blocks(*owners: str, plan: StudyPlan = SHARED) -> list[tuple[str, Block]]:
    return [(owner, plan.block(owner)) for owner in owners]


def possible(owners: tuple[str, ...]) -> set[tuple[str, ...]]:
    """The sets of these owners' variables that some value of the coin has them report."""
    held = {name: [v.name for v in variables] for name, variables in SHARED.owners}
    found: set[tuple[str, ...]] = {()}
    for one in SHARED.sets:
        told = [
            held[SHARED.owners[part.owner][0]][axis]
            for part in one.parts
            if SHARED.owners[part.owner][0] in owners
            for axis in part.axes
        ]
        found.add(tuple(told))
    return found


@pytest.mark.parametrize("owners", [OWNERS, OWNERS[:2], OWNERS[1:], OWNERS[::2]])
def test_it_takes_the_sets_of_the_coin_and_no_others(owners):
    """Every subset of the variables, as what one record reports."""
    given = blocks(*owners)
    names = [name for _, block in given for name in block.names]
    for reported in itertools.product([False, True], repeat=len(names)):
        told = tuple(name for name, there in zip(names, reported, strict=True) if there)
        codes = {n: np.array([1 if n in told else 2], np.uint8) for n in names}
        if told in possible(owners):
            require_one_coin(given, reports(codes))
        else:
            with pytest.raises(RecordsDoNotAlign):
                require_one_coin(given, reports(codes))


def test_it_says_how_many_records_of_whom_and_what_to_do():
    codes = {n: np.array([2, 2, 0], np.uint8) for n in ("a", "b", "c")}
    with pytest.raises(RecordsDoNotAlign) as raised:
        require_one_coin(blocks("north", "south"), reports(codes))
    assert "Of 3 records that ['north', 'south'] report" in str(raised.value)
    assert "the sets of 1." in str(raised.value)
    assert raised.value.where == "north, south"
    assert "linkage secret" in str(raised.value.remedy)


def test_what_no_coin_is_shared_by_is_passed_by():
    codes = {n: np.array([0], np.uint8) for n in "abcd"}
    require_one_coin(blocks("north"), reports(codes))
    other = StudyPlan(SHARED.owners, SHARED.sets[1:])
    require_one_coin([*blocks("north"), *blocks("south", plan=other)], reports(codes))
    alone = Block((D,), Sampled((2,), (Choice((0,), EIGHTH, BINARY),)))
    require_one_coin([*blocks("north"), ("west", alone)], reports(codes))
