"""Near ties are decided by the order of the candidates, not by the last digits."""

import math

import numpy as np
import pytest

from pramana_core.ties import (
    FITTED_TIE,
    TIE,
    ascending,
    descending,
    exceeds,
    first_largest,
    first_largest_of_rows,
    first_smallest,
    levels,
    reaches,
)

NUDGES = (-1e-13, 0.0, 1e-13)


@pytest.mark.parametrize("nudge", NUDGES)
def test_of_a_tie_the_first_is_chosen_however_it_was_rounded(nudge: float):
    assert first_largest([1.0, 3.0, 3.0 * (1 + nudge), 2.0]) == 1
    assert first_smallest([5.0, 3.0, 3.0 * (1 + nudge), 4.0]) == 1
    assert list(descending([1.0, 3.0, 3.0 * (1 + nudge), 2.0])) == [1, 2, 3, 0]
    assert list(ascending([1.0, 3.0, 3.0 * (1 + nudge), 2.0])) == [0, 3, 1, 2]
    assert not exceeds(3.0 * (1 + nudge), 3.0)
    assert reaches(3.0 * (1 + nudge), 3.0)


def test_what_differs_by_more_is_no_tie():
    assert first_largest([3.0, 3.0 * (1 + 1e-6)]) == 1
    assert first_largest([3.0, 3.0 * (1 + 1e-6)], tie=FITTED_TIE) == 0
    assert first_smallest([3.0, 3.0 * (1 - 1e-6)]) == 1
    assert exceeds(3.0 * (1 + 1e-6), 3.0)
    assert not exceeds(3.0, 3.0 * (1 + 1e-6))
    assert not reaches(3.0, 3.0 * (1 + 1e-6))


def test_what_is_no_number_never_wins_and_infinities_do():
    assert first_largest([math.nan, 1.0, 2.0]) == 2
    assert first_largest([1.0, math.inf, math.inf]) == 1
    assert first_smallest([1.0, -math.inf, 0.0]) == 1
    assert list(descending([1.0, math.inf, 2.0])) == [1, 2, 0]
    assert exceeds(math.inf, 1.0)
    assert not exceeds(1.0, math.inf)
    assert not exceeds(math.inf, math.inf)
    assert reaches(math.inf, math.inf)
    assert not reaches(math.nan, 1.0)
    assert not reaches(1.0, math.nan)


@pytest.mark.parametrize("values", [[], [math.nan]])
def test_without_a_number_there_is_nothing_to_choose(values: list[float]):
    with pytest.raises(ValueError, match="no number"):
        first_largest(values)


@pytest.mark.parametrize("nudge", NUDGES)
def test_each_row_has_its_own_tie(nudge: float):
    """A class by the largest of its probabilities: the first category of those that tie."""
    rows = [[0.2, 0.4, 0.4 * (1 + nudge)], [0.3, 0.1, 0.6], [math.nan, 0.5, 0.5 * (1 + nudge)]]
    assert list(first_largest_of_rows(rows)) == [1, 2, 1]
    logs = [[-math.inf, -700.0, -700.0 * (1 + nudge)], [-math.inf, -math.inf, -math.inf]]
    assert list(first_largest_of_rows(logs)) == [1, 0]


@pytest.mark.parametrize("tie", [TIE, FITTED_TIE])
@pytest.mark.parametrize("parts", [7, 1000, 1024])
def test_no_value_lies_where_its_last_digit_decides(parts: int, tie: float):
    """A grid would part what lies on the middle between two of its points."""
    shares = np.arange(1, parts) / parts
    for way in (0.0, 2.0):
        both = np.stack([shares, np.nextafter(shares, way)], axis=1)
        for pair in (both, both[:, ::-1]):
            values = np.append(pair.ravel(), 1.0)
            assert (np.diff(levels(values, tie=tie)[:-1].reshape(-1, 2)) == 0).all()
            assert list(ascending(values, tie=tie)) == list(range(len(values)))


def test_small_steps_do_not_add_up_to_a_tie():
    """Each of these is within a tie of the next, and the first is not a tie of the last."""
    values = np.linspace(0.0, 12.0, 12_000)
    shuffled = np.random.default_rng(3).permutation(values)
    largest_down = shuffled[descending(shuffled, tie=1e-4)]
    assert largest_down[0] >= 12 * (1 - 1e-4)
    # Nothing stands behind what it exceeds by more than a tie.
    assert (np.maximum.accumulate(largest_down[::-1])[::-1] - largest_down <= 12e-4).all()
    smallest_up = shuffled[ascending(shuffled, tie=1e-4)]
    assert (smallest_up - np.minimum.accumulate(smallest_up[::-1])[::-1] <= 12e-4).all()


@pytest.mark.parametrize("steps", [0.5, 1.0, 1.5, 2.0])
@pytest.mark.parametrize("nudge", [-1e-13, 1e-13])
def test_equal_numbers_where_a_level_ends_are_equal(steps: float, nudge: float):
    """A tie away from the best, and between, as another processor would round one of the two."""
    near = 1.0 - steps * TIE
    values = [1.0 - 0.7 * TIE, near, 1.0, near + nudge]
    found = levels(values)
    assert found[1] == found[3]
    assert list(descending(values)).index(1) < list(descending(values)).index(3)
    assert list(ascending(values)).index(1) < list(ascending(values)).index(3)
