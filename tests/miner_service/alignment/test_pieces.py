"""What is remembered of pieces: right whichever way it is kept, and bounded in bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from miner_service.alignment import pieces
from miner_service.alignment.pieces import PieceReader, RecordSet
from pramana_core.marginals.passes import JointCounts

SOURCES, RECORDS = 12, 3000


@pytest.fixture
def sources(monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    """Which of many releases each record is in, many sets of releases with a few records each."""
    rng = np.random.default_rng(3)
    there = rng.random((SOURCES, RECORDS)) < 0.5
    there[:, : RECORDS // 3] = True
    there = there[:, rng.permutation(RECORDS)]
    every = np.array([b"%016d" % number for number in range(RECORDS)])
    codes = rng.integers(0, 3, (SOURCES, RECORDS)).astype(np.uint8)
    monkeypatch.setattr(pieces, "load_keys", lambda path: every[there[int(path.name)]])
    columns = {str(place): codes[place][there[place]] for place in range(SOURCES)}
    monkeypatch.setattr(pieces, "load_columns", lambda path, _: {f"v{path}": columns[path.name]})
    return there, codes


def test_many_sources_are_counted_right_and_take_no_more_memory_than_is_meant(
    sources: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    there, codes = sources
    most = 1 << 18
    monkeypatch.setattr(pieces, "_KEPT_BYTES", most)
    reader = PieceReader(Path)
    releases = tuple(map(str, range(SOURCES)))
    names = [f"v{release}" for release in releases]
    patterns = np.unique(there, axis=1).T
    full, few = np.ones(SOURCES, dtype=bool), patterns[len(patterns) // 2]
    for pattern in (full, few, full):
        records = RecordSet(
            releases,
            (None,) * SOURCES,
            tuple((name,) for name in names),
            dict.fromkeys(names, 3),
            tuple(map(bool, pattern)),
        )
        cut = records.pieces(there.sum(axis=1).tolist(), lambda r: pieces.load_keys(Path(r)), 100)
        first, second = (names[place] for place in np.flatnonzero(pattern)[:2])
        found = reader.counted(records, cut, JointCounts(((first, second),)), threads=2)
        rows = (pattern == there.T).all(axis=1)
        own = [codes[names.index(name)][rows] for name in (first, second)]
        expected = np.zeros((3, 3), dtype=np.int64)
        np.add.at(expected, tuple(own), 1)
        assert found is not None
        np.testing.assert_array_equal(np.asarray(found[0]), expected)
        every = [pieces._bytes_of(one) for one in reader._rows.cache.values()]
        assert sum(every) <= most
        assert 1 < len(every) < len(cut)
