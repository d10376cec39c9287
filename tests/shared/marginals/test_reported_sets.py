"""Records counted by what they report, against counting them one by one."""

from collections import Counter

import numpy as np
import pytest

from pramana_core.errors import LimitExceeded
from pramana_core.marginals.passes import grouped

SIZES = (2, 3, 4, 2, 5)


def drawn(records, rng):
    """Return columns in which each record reports some set of up to three, or nothing."""
    columns = [np.full(records, size, dtype=np.uint8) for size in SIZES]
    for row in range(records):
        for axis in rng.permutation(len(SIZES))[: rng.integers(0, 4)]:
            columns[axis][row] = rng.integers(0, SIZES[axis])
    return columns


def one_by_one(columns):
    found = Counter()
    for record in zip(*columns, strict=True):
        told = tuple(
            (axis, int(code))
            for axis, (code, size) in enumerate(zip(record, SIZES, strict=True))
            if code != size
        )
        found[told] += 1
    return found


@pytest.mark.parametrize("at_once", [1, 7, 1 << 18])
def test_each_set_has_the_counts_of_its_records(at_once):
    columns = drawn(500, np.random.default_rng(5))
    found = grouped(columns, SIZES, at_once=at_once)
    counted = {
        tuple((axis, int(code)) for axis, code in zip(axes, cell, strict=True)): int(counts[cell])
        for axes, counts in found.items()
        for cell in np.ndindex(counts.shape)
        if counts[cell]
    }
    assert counted == one_by_one(columns)


def test_sets_of_many_columns_are_told_apart():
    # 70^11 sets are more than a number of 64 bits can tell.
    columns = [np.array([0, 1, 2], dtype=np.uint8) for _ in range(11)]
    columns += [np.array([2, 2, 2], dtype=np.uint8) for _ in range(59)]
    columns[3][0], columns[40][0] = 2, 1
    found = grouped(columns, [2] * 70)
    first = tuple(axis for axis in range(11) if axis != 3)
    assert set(found) == {(*first, 40), tuple(range(11)), ()}
    assert all(counts.sum() == 1 for counts in found.values())


def test_too_large_a_set_is_refused():
    columns = [np.zeros(1, dtype=np.uint8) for _ in range(6)]
    with pytest.raises(LimitExceeded):
        grouped(columns, [50] * 6)
