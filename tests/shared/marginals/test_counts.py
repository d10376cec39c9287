"""Counting: every record once, in its own cell, whatever the sizes and types."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramana_core.errors import DomainError, EmptyTable, LimitExceeded, UnknownVariable
from pramana_core.kernels import counting
from pramana_core.marginals.counts import CUBE_CELLS, ReportedCounts, tabulate


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4), st.integers(0, 1)), max_size=60),
    st.sampled_from([np.uint8, np.uint16, np.uint32]),
)
def test_tabulate_is_a_counter(records, dtype):
    columns = [np.array([r[i] for r in records], dtype=dtype) for i in range(3)]
    table = tabulate(columns, (3, 5, 2))
    seen = Counter(records)
    for cell in itertools.product(range(3), range(5), range(2)):
        assert table[cell] == seen[cell]


def test_marginals_of_the_cube_equal_direct_counts():
    rng = np.random.default_rng(1)
    sizes = {"a": 2, "b": 3, "c": 4}
    columns = {n: rng.integers(0, k, 500).astype(np.uint16) for n, k in sizes.items()}
    cube = ReportedCounts(columns, sizes)
    # With one more column the cube would be too large, and each table is counted by itself.
    more = np.zeros(500, dtype=np.uint32)
    direct = ReportedCounts({**columns, "d": more}, {**sizes, "d": CUBE_CELLS})
    for names in (["a"], ["c", "a"], ["b", "c", "a"], ["a", "b", "c"]):
        assert np.array_equal(cube.table(names), direct.table(names))


def test_many_tables_are_counted_in_one_pass_and_kept(monkeypatch: pytest.MonkeyPatch):
    rng = np.random.default_rng(2)
    sizes = {"a": 2, "b": 3, "c": 4, "d": CUBE_CELLS}
    columns = {n: rng.integers(0, min(k, 9), 700).astype(np.uint32) for n, k in sizes.items()}
    counts, passes = ReportedCounts(columns, sizes), []
    count = counting.count_tables

    def counted(*asked, **options):
        passes.append(len(asked[2]))
        return count(*asked, **options)

    monkeypatch.setattr(counting, "count_tables", counted)
    asked = [["a", "b"], ["c"], ["b", "a"], ["c", "b", "a"], []]
    for _ in range(2):
        for names, table in zip(asked, counts.tables(asked), strict=True):
            alone = tabulate([columns[n] for n in names], [sizes[n] for n in names])
            assert np.array_equal(table, alone) or (not names and table == 700)
    assert passes[0] == 4
    assert sum(passes[1:]) == 2 * len(asked)  # those of `tabulate`
    with pytest.raises(ValueError, match="read-only"):
        counts.table(["a", "b"])[0, 0] = 1


def test_what_cannot_be_counted_is_refused():
    codes = np.array([0, 1, 3], dtype=np.uint8)
    with pytest.raises(DomainError):
        tabulate([codes], (3,))
    with pytest.raises(DomainError):
        tabulate([codes, codes[:2]], (4, 4))
    with pytest.raises(LimitExceeded):
        tabulate([codes] * 9, (4096,) * 9)
    with pytest.raises(EmptyTable):
        ReportedCounts({"a": codes[:0]}, {"a": 4})
    with pytest.raises(DomainError):
        ReportedCounts({"a": codes}, {"b": 4})
    with pytest.raises(DomainError):
        ReportedCounts({"a": codes, "b": codes[:1]}, {"a": 4, "b": 4})
    with pytest.raises(UnknownVariable):
        ReportedCounts({"a": codes}, {"a": 4}).table(["z"])
