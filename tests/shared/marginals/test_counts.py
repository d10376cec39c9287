"""Counting: every record once, in its own cell, whatever the sizes and types."""

from __future__ import annotations

import numpy as np
import pytest

from pramana_core.errors import DomainError, EmptyTable, LimitExceeded, UnknownVariable
from pramana_core.kernels import counting
from pramana_core.marginals.counts import CUBE_CELLS, ReportedCounts


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
            alone = np.zeros([sizes[n] for n in names], dtype=np.int64)
            np.add.at(alone, tuple(columns[n] for n in names), 1) if names else alone.fill(700)
            assert np.array_equal(table, alone)
    assert passes == [4]
    with pytest.raises(ValueError, match="read-only"):
        counts.table(["a", "b"])[0, 0] = 1


def test_what_cannot_be_counted_is_refused():
    codes = np.array([0, 1, 3], dtype=np.uint8)
    with pytest.raises(DomainError):
        ReportedCounts({"a": codes}, {"a": 3}).table(["a"])
    wide = ReportedCounts(dict.fromkeys("abcdefghi", codes), dict.fromkeys("abcdefghi", 4096))
    with pytest.raises(LimitExceeded):
        wide.table("abcdefghi")
    with pytest.raises(EmptyTable):
        ReportedCounts({"a": codes[:0]}, {"a": 4})
    with pytest.raises(DomainError):
        ReportedCounts({"a": codes}, {"b": 4})
    with pytest.raises(DomainError):
        ReportedCounts({"a": codes, "b": codes[:1]}, {"a": 4, "b": 4})
    with pytest.raises(UnknownVariable):
        ReportedCounts({"a": codes}, {"a": 4}).table(["z"])
