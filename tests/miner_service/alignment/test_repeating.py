"""Releases held against earlier ones by the same draws, against counting by hand."""

from __future__ import annotations

import itertools
import tracemalloc

import numpy as np
import pytest

from miner_service.alignment.copies import Reports, repeated

A, B, PAIR = ("a",), ("b",), ("a", "b")


def reports(records):
    """A release of {pseudonym: {column: code}}."""
    keys = sorted(records)
    names = {name for record in records.values() for name in record}
    return Reports(
        np.array([bytes([7] * 15 + [key]) for key in keys], dtype="S16").view("V16"),
        {n: np.array([records[key][n] for key in keys], dtype=np.uint8) for n in names},
    )


def by_hand(new, earlier):
    """The same, record by record and block by block."""
    found = {}
    for draw in {draw for _, blocks in earlier for draw in blocks}:
        records = changed = 0
        differing, anew = set(), False
        for key, now in new.items():
            before = {
                place: [other[key][n] == now[n] for n in blocks[draw]]
                for place, (other, blocks) in enumerate(earlier)
                if draw in blocks and key in other
            }
            differs = {place for place, same in before.items() if not all(same)}
            records += bool(before)
            changed += bool(differs)
            differing |= differs
            anew |= bool(before) and differs == set(before)
        found[draw] = (records, changed, differing, anew)
    return found


def told(new, earlier, **options):
    found = repeated(reports(new), [(reports(r), blocks) for r, blocks in earlier], **options)
    return {d: (f.records, f.changed, f.differing, f.anew) for d, f in found.items()}


def test_every_release_of_two_people_beside_every_two_earlier_ones_is_counted_as_by_hand():
    # Each person is away, or reports 0 or 1.
    releases = [
        {key: {"a": value} for key, value in zip((1, 2), values, strict=True) if value is not None}
        for values in itertools.product((None, 0, 1), repeat=2)
    ]
    some = [one for one in releases if one]
    for new, first, second in itertools.product(some, repeat=3):
        earlier = [(first, {"d": A}), (second, {"d": A})]
        assert told(new, earlier) == by_hand(new, earlier)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("chunk", [1, 3, 100])
def test_many_releases_of_several_blocks_are_counted_as_by_hand(seed, chunk):
    rng = np.random.default_rng(seed)

    def drawn():
        keys = rng.choice(40, rng.integers(1, 30), replace=False)
        return {int(k): {n: int(rng.integers(2)) for n in PAIR} for k in keys}

    blocks = [{"d": A}, {"e": B}, {"d": A, "e": B}, {"pair": PAIR}, {"other": A}]
    earlier = [(drawn(), blocks[rng.integers(len(blocks))]) for _ in range(7)]
    new = drawn()
    assert told(new, earlier, chunk=chunk) == by_hand(new, earlier)


@pytest.mark.slow
def test_releases_of_any_size_are_compared_in_the_memory_of_one_chunk():
    """What numpy holds besides the releases, which are mapped from their files, stays the same."""

    def peak(records):
        keys = np.arange(records, dtype=">u8").repeat(2).view("V16")
        release = Reports(keys, {"a": np.zeros(records, np.uint8)})
        other = Reports(keys, {"a": np.ones(records, np.uint8)})
        tracemalloc.start()
        found = repeated(release, [(other, {"d": A})] * 3, chunk=1 << 12)
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert found["d"].changed == records
        return size

    assert peak(1 << 17) < peak(1 << 13) + (1 << 17)
