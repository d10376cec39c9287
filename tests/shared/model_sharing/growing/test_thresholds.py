"""Thresholds lie between their neighbours, are short, and are not a record's own value."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramana_core.model_sharing.growing.offers import between

NUMBERS = st.floats(-1e100, 1e100, allow_nan=False)


@pytest.mark.parametrize(
    ("left", "right", "whole", "found"),
    [
        (3.0, 4.0, True, 3.0),
        (37.0, 41.0, True, 40.0),
        (3.0, 1000.0, True, 500.0),
        (-3.0, 4.0, False, 0.0),
        (0.0, 1.0, False, 0.5),
        (999.9, 1000.1, False, 1000.0),
        (0.12345, 0.12391, False, 0.1237),
        (5.0, 6.0, False, 5.5),
        (1e15, 1e15 + 2, True, 1e15 + 1),
        (20.0, 22.0, True, 21.0),
        (20.0, 21.0, True, 20.0),
        (1e15 + 1, 1e15 + 3, True, 1e15 + 2),
        (-41.0, -37.0, True, -40.0),
        (-4.0, -3.0, True, -4.0),
        (1.0, math.nextafter(1.0, 2), False, 1.0),
        (0.0, 5e-324, False, 0.0),
        (-5e-324, 1e100, False, 0.0),
    ],
)
def test_the_shortest_number_nearest_to_the_middle(
    left: float, right: float, whole: bool, found: float
):
    assert between(left, right, whole=whole) == found


@given(NUMBERS, NUMBERS)
def test_numbers_are_parted(one: float, other: float):
    if one != other:
        left, right = sorted((one, other))
        found = between(left, right)
        assert left <= found < right
        # Only neighbours among floats, or such as have no short number between, share one.
        if math.nextafter(math.nextafter(left, right), right) < right and left > 1e-280:
            assert left < found


@given(st.integers(-(2**53), 2**53), st.integers(-(2**53), 2**53))
def test_whole_numbers_are_parted_by_a_whole_one(one: int, other: int):
    if one != other:
        left, right = sorted((float(one), float(other)))
        found = between(left, right, whole=True)
        # A record's own value only where there is no other.
        assert found == left if right == left + 1 else left < found < right
        assert found == int(found)


@given(st.integers(0, 10**6), st.integers(1, 10**5))
def test_no_shorter_number_lies_between(left: int, width: int):
    """Against all whole numbers between, counted."""
    found = int(between(float(left), float(left + width), whole=True))
    among = np.arange(left + (width > 1), left + width)

    def zeros(number: int) -> int:
        return 7 if number == 0 else len(str(number)) - len(str(number).rstrip("0"))

    best = max(power for power in range(8) if np.any(among % 10**power == 0))
    assert min(zeros(found), 7) == min(best, 7)
