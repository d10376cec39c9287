"""What reports can tell of so many records, foretold: against what they then tell."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pramana_core.channels import Symmetric
from pramana_core.design.predict import ERRORS, MOST_CELLS, telling
from pramana_core.domain import Domain, Variable
from pramana_core.plan import Block, Plan

FEW = Variable("few", ("a", "b"))
MANY = Variable("many", tuple("abcdef"))
THIRD = Variable("third", ("a", "b", "c"))


def randomized(*variables, p=0.2):
    return Plan(tuple(Block((v,), Symmetric.from_probability(v.size, p)) for v in variables))


def test_unrandomized_shares_are_told_as_binomials_are():
    found = telling(Plan.unrandomized(Domain((FEW, MANY))), 400)
    by_name = {one.names[0]: one for one in found.single}
    for name, share in (("few", 1 / 2), ("many", 1 / 6)):
        error = math.sqrt(share * (1 - share) / 400)
        assert by_name[name].share == pytest.approx(ERRORS * error, rel=1e-12)
        assert by_name[name].departure == pytest.approx(ERRORS * error / share, rel=1e-12)
    (pair,) = found.pairs
    assert pair.share == pytest.approx(ERRORS * math.sqrt((1 / 12) * (11 / 12) / 400), rel=1e-12)


def test_randomized_shares_are_told_as_their_estimates_are_over_all_reports():
    plan = randomized(FEW, MANY)
    found = telling(plan, 1000)
    for one, block in zip(found.single, plan.blocks, strict=True):
        size = block.variables[0].size
        matrix = block.channel.matrix()
        # Of each report the estimate of the first cell, and how often it comes: by brute force.
        estimates, often = np.linalg.inv(matrix)[:, 0], matrix.mean(axis=0)
        mean = float(often @ estimates)
        assert mean == pytest.approx(1 / size)
        variance = float(often @ np.square(estimates)) - mean**2
        assert one.share == pytest.approx(ERRORS * math.sqrt(variance / 1000), rel=1e-9)


def test_it_names_the_sharpest_and_the_least_sharp_pair():
    found = telling(randomized(MANY, FEW, THIRD), 1000)
    assert [one.names[0] for one in found.single] == ["few", "third", "many"]
    assert [set(one.names) for one in found.pairs] == [{"few", "third"}, {"third", "many"}]
    assert found.pairs[0].departure < found.pairs[1].departure
    of_one = telling(randomized(MANY, FEW, THIRD), 1000, target="many")
    assert [set(one.names) for one in of_one.pairs] == [{"many", "few"}, {"many", "third"}]


def test_four_times_the_records_tell_half_the_departure():
    few, many = (telling(randomized(FEW, MANY), records) for records in (500, 2000))
    for before, after in zip((*few.single, *few.pairs), (*many.single, *many.pairs), strict=True):
        assert after.departure == pytest.approx(before.departure / 2, rel=1e-12)


def test_what_is_too_long_is_counted_and_not_predicted():
    long = Variable("long", tuple(f"c{i}" for i in range(MOST_CELLS + 1)))
    found = telling(randomized(FEW, long), 100)
    assert [one.names for one in found.single] == [("few",)]
    assert (found.pairs, found.untold) == ((), 1)
