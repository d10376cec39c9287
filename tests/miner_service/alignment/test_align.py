"""The merge of pseudonyms against plain sets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miner_service.alignment.ranges import common_rows, record_counts

# Few distinct bytes, zeros among them: ties in long prefixes and trailing zeros are common.
KEY = st.binary(min_size=2, max_size=2).map(
    lambda b: bytes([b[0] % 3, *[0] * 13, b[1] % 3, b[0] % 2])
)
KEYS = st.sets(KEY, min_size=1, max_size=12)


def ascending(keys):
    return np.array(sorted(keys), dtype="S16")


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(st.lists(KEYS, min_size=1, max_size=4))
def test_overlap_is_that_of_the_sets(sets):
    arrays = [ascending(keys) for keys in sets]
    counts, common = record_counts(arrays), set.intersection(*sets)
    assert counts.get((True,) * len(sets), 0) == len(common)
    assert sum(counts.values()) == len(set.union(*sets))
    for array, rows in zip(arrays, common_rows(arrays), strict=True):
        assert array[rows].tolist() == ascending(common).tolist()
