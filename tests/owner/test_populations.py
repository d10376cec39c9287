"""The records of a release are known again by a sample of their pseudonyms."""

import numpy as np
import pytest

from owner_agent.populations import SKETCH_RECORDS, same_records, sketch_of
from shared.wire import KEY_BYTES


def _keys(count, seed=1):
    return np.frombuffer(np.random.default_rng(seed).bytes(KEY_BYTES * count), f"V{KEY_BYTES}")


@pytest.mark.parametrize("count", [1, 3, SKETCH_RECORDS, SKETCH_RECORDS + 1, 5_000])
def test_a_sketch_holds_the_smallest_pseudonyms(count):
    keys = _keys(count)
    smallest = sorted(bytes(key) for key in keys)[:SKETCH_RECORDS]
    assert sketch_of(keys) == b"".join(smallest)
    assert sketch_of(keys[::-1]) == sketch_of(keys)


def test_more_or_fewer_records_are_the_same_and_others_are_not():
    keys = _keys(5_000)
    sketch = sketch_of(keys)
    assert same_records(sketch, keys)
    assert same_records(sketch, np.concatenate([_keys(90_000, seed=2), keys]))
    assert same_records(sketch, keys[: len(keys) * 3 // 4])
    assert not same_records(sketch, keys[: len(keys) // 4])
    assert not same_records(sketch, _keys(90_000, seed=2))


def test_half_of_a_small_table_is_enough():
    keys = _keys(4)
    sketch = sketch_of(keys)
    assert same_records(sketch, keys[:2])
    assert not same_records(sketch, keys[:1])
    assert not same_records(b"", keys)
