"""What a study comes to, against enumerated reports of all its owners."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from pramana_core.channels import Dense, Symmetric, Transition
from pramana_core.privacy import Amplification, BlockDisclosure, Extremes, total_loss

SMALL = {
    ("north", "A"): Symmetric.from_gamma(2, 3.0),
    ("north", "B"): Dense.binary(0.1, 0.25),
    ("south", "C"): Symmetric.from_gamma(2, 5.0),
}


def told(owner, variables, amplification, draw, randomized=True):
    if isinstance(amplification, Transition):
        amplification = Amplification.of(amplification)
    return BlockDisclosure(owner, tuple(variables), amplification, draw, randomized)


def one_each(channels=SMALL):
    return [told(owner, name, channel, name) for (owner, name), channel in channels.items()]


def amplified(truths, about):
    """The largest factor by which some report changes the odds of two values of a column.

    `truths` are the possible records, equally likely; a report is one of each column. Enumerated
    from the definition, over all reports of all owners.
    """
    channels = list(SMALL.values())
    worst = 1.0
    for report in itertools.product(range(2), repeat=len(channels)):
        chances = np.zeros(2)
        for truth in truths:
            seen = [c.matrix()[t, r] for c, t, r in zip(channels, truth, report, strict=True)]
            chances[truth[about]] += math.prod(seen)
        worst = max(worst, float(chances.max() / chances.min()))
    return worst


def test_columns_that_determine_each_other_are_amplified_by_everybody_s_draws():
    """Two owners' reports, enumerated: one hidden bit that all three columns show."""
    study = total_loss(one_each())
    together = [(0, 0, 0), (1, 1, 1)]
    # B's channel is at its worst for the report 1 only: the truths may go together either way.
    crossed = [(0, 1, 0), (1, 0, 1)]
    worst = max(amplified(together, 0), amplified(crossed, 0))
    assert study.record.determined.gamma == pytest.approx(worst, rel=1e-9)
    assert study.owners["north"].determined.gamma == pytest.approx(3 * 7.5, rel=1e-7)
    # The negative control: what one owner's figure, or one column's, says does not hold for it.
    assert study.owners["north"].determined.gamma < worst * 0.5


def test_the_same_draws_told_again_add_nothing_and_other_draws_do():
    three = Amplification.of_gamma(3.0)
    again = [told("north", "A", three, "d1"), told("north", "A", three, "d1")]
    assert total_loss(again).record.determined == three
    anew = [*again, told("north", "A", three, "d2")]
    assert total_loss(anew).record == Extremes(three + three, three + three)
    # Draws are an owner's own: another owner's identity of the same name is another draw.
    others = [told("north", "A", three, "d1"), told("south", "B", three, "d1")]
    assert total_loss(others).record.determined == three + three
    # So are those of another block, whatever is said of them.
    both = [told("north", "A", three, "d1"), told("north", "B", three, "d1")]
    assert total_loss(both).record.determined == three + three


def test_a_joint_block_counts_once_for_a_record_and_whole_for_each_of_its_columns():
    joint = Amplification.of_gamma(19.0)
    study = total_loss([told("north", "AB", joint, "d"), told("north", "C", joint, "e")])
    assert [c.amplification for c in study.columns] == [joint, joint, joint]
    assert study.record == Extremes(joint, joint + joint)


def test_columns_told_as_they_are_are_named_and_in_no_sum():
    three = Amplification.of_gamma(3.0)
    proof = Amplification(math.inf)
    study = total_loss([told("north", "A", three, "d"), told("north", "B", proof, "e", False)])
    assert study.column("north", "B").amplification is None
    assert study.record == Extremes(three, three)
    # A column that another release told as it is has no bound left, whatever its other draws cost.
    both = [told("north", "A", three, "d"), told("north", "A", proof, "e", False)]
    assert total_loss(both).column("north", "A").amplification is None
    assert total_loss(both).record.determined == three


def test_records_of_different_people_lose_what_their_own_owner_told():
    three, five = Amplification.of_gamma(3.0), Amplification.of_gamma(5.0)
    same = [told("north", "A", three, "d"), told("south", "A", five, "e")]
    apart = total_loss(same, different_people=True)
    assert apart.record == Extremes(five, five)
    # Of the same people both told one secret: its draws add although it is one variable.
    assert total_loss(same).record == Extremes(three + five, three + five)


@pytest.mark.parametrize("about", range(3))
def test_independent_columns_are_amplified_by_their_own_draws_alone(about):
    study = total_loss(one_each())
    independent = list(itertools.product(range(2), repeat=3))
    factor = amplified(independent, about)
    assert study.columns[about].amplification.gamma == pytest.approx(factor, rel=1e-9)
    assert factor <= study.record.independent.gamma * (1 + 1e-9)
