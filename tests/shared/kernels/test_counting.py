"""Compiled counting is numpy's to the bit, whatever the types, layouts, chunks and threads."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import numpy as np
import pytest

from pramana_core.errors import DomainError
from pramana_core.kernels import counting
from pramana_core.kernels.compiled import can_compile
from pramana_core.kernels.counting import count_tables

SIZES = (3, 2, 7, 64, 300, 70_000)
TYPES = (np.uint8, np.uint8, np.uint16, np.uint32, np.uint16, np.uint64)
LENGTHS = (0, 1, 63, 65, 4097, 16_385, 70_001)


@pytest.fixture(params=["compiled", "numpy"])
def way(request, monkeypatch: pytest.MonkeyPatch) -> str:
    """Count in one way, however little there is to count."""
    if request.param == "compiled":
        pytest.importorskip("numba")
        monkeypatch.setattr(counting, "_LEAST_SAVED", -1.0)
        monkeypatch.setattr(counting, "_LEAST_OF_THREAD", 1e-9)
    monkeypatch.setattr(counting, "can_compile", lambda _: request.param == "compiled")
    return str(request.param)


def made(records: int) -> list[np.ndarray]:
    rng = np.random.default_rng(records)
    drawn = zip(SIZES, TYPES, strict=True)
    return [rng.integers(0, size, records).astype(dtype) for size, dtype in drawn]


def plainly(columns, sizes, table) -> np.ndarray:
    """Count one table by one call of numpy over whole columns: another way than either."""
    shape = [sizes[column] for column in table]
    counts = np.zeros(shape, dtype=np.int64)
    np.add.at(counts, tuple(columns[column].astype(np.int64) for column in table), 1)
    return counts


def same(found, columns, sizes, tables) -> None:
    for counts, table in zip(found, tables, strict=True):
        expected = plainly(columns, sizes, table)
        assert counts.dtype == np.int64
        assert counts.shape == expected.shape
        assert np.array_equal(counts, expected), table


PAIRS = tuple(itertools.combinations(range(4), 2))
TABLES = (*PAIRS, (1, 0), (0,), (4, 1), (2, 1, 0), (3, 2, 1, 0), (5, 0), (4, 3, 0))


@pytest.mark.parametrize("records", LENGTHS)
def test_all_tables_of_one_pass_are_right(way: str, records: int):
    columns = made(records)
    for threads in (1, 2):
        found = count_tables(columns, SIZES, TABLES, threads=threads, at_once=1 << 13)
        same(found, columns, SIZES, TABLES)


def test_columns_of_any_layout_are_read(way: str, tmp_path):
    records = 5_003
    rng = np.random.default_rng(6)
    both = rng.integers(0, 5, (records, 2)).astype(np.uint8)
    mapped = np.memmap(tmp_path / "codes", np.uint16, "w+", shape=(records,))
    mapped[:] = rng.integers(0, 6, records)
    signed = rng.integers(0, 4, records)
    columns = [
        both[:, 0],
        both[::-1, 1],
        np.repeat(rng.integers(0, 3, records).astype(np.uint32), 2)[::2],
        np.memmap(tmp_path / "codes", np.uint16, "r"),
        signed.astype(">u4"),
        signed.astype(np.int16),
        rng.integers(0, 2, records).astype(bool),
    ]
    sizes = (5, 5, 3, 6, 4, 4, 2)
    tables = [*itertools.combinations(range(7), 2), (0, 1, 2, 3, 4, 5, 6)]
    found = count_tables(columns, sizes, tables, threads=2, at_once=1_000)
    same(found, columns, sizes, tables)


def resident(file: Path) -> int:
    """Return how many KiB of a mapped file are in this process's memory."""
    told = Path("/proc/self/smaps").read_text(encoding="utf-8").split(str(file))
    return sum(int(part.split("Rss:")[1].split()[0]) for part in told[1:])


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="only Linux tells it")
def test_what_was_read_of_a_mapped_file_is_not_kept_in_memory(way: str, tmp_path: Path):
    file, records = tmp_path / "codes", 4 << 20
    np.tile(np.arange(4, dtype=np.uint8), records // 4).tofile(file)
    mapped = np.memmap(file, np.uint8, "r")
    assert mapped.sum() == 6 << 20
    assert resident(file) >= 4096
    [counts] = count_tables([mapped[3:]], (4,), [(0,)], threads=2)
    assert counts.tolist() == [(1 << 20) - 1] * 3 + [1 << 20]
    assert resident(file) < 1024
    own = np.memmap(file, np.uint8, "c")
    own[:] = 0
    for _ in range(2):
        assert count_tables([own], (4,), [(0,)])[0][0] == records


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.uint64, np.int8, np.int64])
@pytest.mark.parametrize("tables", [[(0, 1)], [(1, 0), (0, 1)] * 30, [(1,)]])
def test_a_code_outside_its_column_is_refused(way: str, dtype, tables):
    codes = np.zeros(30_000, dtype=dtype)
    codes[29_999] = 3
    fine = np.zeros(30_000, dtype=np.uint8)
    with pytest.raises(DomainError):
        count_tables([fine, codes], (2, 3), tables, threads=2, at_once=7_000)
    with pytest.raises(DomainError):
        count_tables([fine, codes], (2, 3), tables, names=["a", "b"])
    assert count_tables([fine, codes], (2, 4), tables)[0].sum() == 30_000
    if np.issubdtype(dtype, np.signedinteger):
        codes[5] = -1
        with pytest.raises(DomainError):
            count_tables([fine, codes], (2, 4), tables)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_tick_stops_a_count(way: str, threads: int):
    def tick() -> None:
        raise InterruptedError

    columns = [np.zeros(400_000, dtype=np.uint8)] * 2
    with pytest.raises(InterruptedError):
        count_tables(columns, (2, 2), [(0, 1)], threads=threads, at_once=1 << 14, tick=tick)


def test_without_numba_the_counts_are_the_same(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    monkeypatch.setattr(counting, "_LEAST_SAVED", -1.0)
    assert not can_compile()
    columns = made(4_097)
    same(count_tables(columns, SIZES, TABLES), columns, SIZES, TABLES)


def test_a_table_of_no_columns_counts_all_records_beside_others(way: str):
    columns = made(4_097)
    tables = [(0,), (), (1, 2), ()]
    found = count_tables(columns, SIZES, tables)
    assert found[1] == found[3] == 4_097
    same(found[::2], columns, SIZES, tables[::2])
