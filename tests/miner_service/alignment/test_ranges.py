"""Cutting releases into ranges of pseudonyms, against plain sets."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from miner_service.alignment.ranges import key_ranges, record_groups

# Few distinct bytes, zeros among them: ties in long prefixes and trailing zeros are common.
KEY = st.binary(min_size=3, max_size=3).map(
    lambda b: bytes([b[0] % 3, *[0] * 7, b[1] % 3, *[0] * 5, b[2] % 3, b[0] % 2])
)
SOURCES = st.lists(st.sets(KEY, max_size=12), min_size=1, max_size=4)
SPREAD = [{bytes([first, *[0] * 14, last]) for last in range(5)} for first in range(4)]
SKEWED = [{bytes(14) + bytes([1, last]) for last in range(9)} | {b"\xff" * 16}, {bytes(16)}]


def ascending(keys):
    return np.array(sorted(keys), dtype="S16")


@settings(max_examples=100, deadline=None)
@given(SOURCES, st.integers(1, 8))
@example(SPREAD, 3)
@example(SKEWED, 1)
@example([set(), SPREAD[0], SPREAD[0]], 2)
@example([set(), set()], 2)
def test_ranges_and_groups_hold_each_record_once(sets, at_most):
    keys = [ascending(one) for one in sets]
    found, last, cuts = {}, b"", list(key_ranges(keys, at_most))
    for place, own in enumerate(keys):
        assert [row for cut in cuts for row in range(len(own))[cut.slices[place]]] == [
            *range(len(own))
        ]
    for cut in cuts:
        held = [own[part] for own, part in zip(keys, cut.slices, strict=True)]
        assert max(map(len, held)) == at_most or (cut is cuts[-1] and any(map(len, held)))
        assert max(map(len, held)) <= at_most
        assert all(bytes(key) >= last for own in held for key in own)
        last = max(bytes(key) for own in held for key in own)
        groups = record_groups(keys, cut)
        assert len({group.sources for group in groups}) == len(groups)
        for group in groups:
            same = [
                own[rows].tolist()
                for own, rows in zip(keys, group.rows, strict=True)
                if rows is not None
            ]
            assert all(one == same[0] == sorted(one) for one in same)
            assert len(same[0]) == group.records > 0
            found |= {key.ljust(16, b"\0"): group.sources for key in same[0]}
    assert found == {key: tuple(key in one for one in sets) for key in set().union(*sets)}


def test_more_sources_than_are_told_apart_at_once():
    everywhere, nearly = bytes([1] * 16), bytes([2] * 16)
    sets = [{everywhere} | ({nearly} if place not in (3, 17, 39) else set()) for place in range(40)]
    keys = [ascending(one) for one in sets]
    (cut,) = key_ranges(keys)
    groups = {group.sources: group.records for group in record_groups(keys, cut)}
    assert groups == {(True,) * 40: 1, tuple(nearly in one for one in sets): 1}
