"""Columns of sealed releases: the file that Arrow would write, and how it is read."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from miner_service.store.columns import build_columns, drop_pages, load_columns, load_keys
from miner_service.store.durable import file_sha256
from pramana_core.errors import NotReady, PartInvalid
from pramana_core.wire.parts import RecordSchema, key_column

SCHEMA = RecordSchema({"few": 3, "many": 70_000, "more": 300, "number": None})


def release(records):
    """Pseudonyms and columns of some records; the last pseudonym ends with zeros."""
    rng = np.random.default_rng(records)
    keys = np.sort(np.frombuffer(rng.bytes(16 * records), "S16"))
    keys[-1] = b"\xff" * 9
    columns = {
        name: rng.random(records)
        if size is None
        else rng.integers(0, size, records).astype(SCHEMA.dtype(name))
        for name, size in SCHEMA.sizes.items()
    }
    return keys.view("V16"), columns


def parts_of(keys, columns, *cuts):
    edges = [0, *cuts, len(keys)]
    for start, stop in itertools.pairwise(edges):
        yield keys[start:stop], {name: c[start:stop] for name, c in columns.items()}


@pytest.mark.parametrize(("records", "cuts"), [(1, ()), (64, (1, 2)), (1001, (500,))])
def test_a_file_built_of_parts_is_the_one_that_arrow_writes_at_once(tmp_path, records, cuts):
    keys, columns = release(records)
    built = build_columns(
        SCHEMA, records, parts_of(keys, columns, *cuts), scratch=tmp_path / "built"
    )
    arrays = [key_column(keys), *(pa.array(columns[name]) for name in SCHEMA.sizes)]
    with pa.ipc.new_file(str(tmp_path / "written"), SCHEMA.arrow) as writer:
        writer.write_batch(pa.record_batch(arrays, schema=SCHEMA.arrow))
    assert (tmp_path / "built").read_bytes() == (tmp_path / "written").read_bytes()
    assert built.sha256 == file_sha256(tmp_path / "written")
    assert load_keys(tmp_path / "built").tobytes() == keys.tobytes()
    for name, found in load_columns(tmp_path / "built", list(SCHEMA.sizes)).items():
        assert found.dtype == SCHEMA.dtype(name)
        assert np.array_equal(found, columns[name])


@pytest.mark.parametrize("announced", [99, 101])
def test_other_records_than_announced_leave_no_file(tmp_path, announced):
    with pytest.raises(PartInvalid):
        build_columns(SCHEMA, announced, parts_of(*release(100)), scratch=tmp_path / "built")
    assert not list(tmp_path.iterdir())


def resident(path):
    """The kilobytes of a mapped file that this process has in memory."""
    maps = Path("/proc/self/smaps").read_text(encoding="ascii")
    (own,) = re.findall(rf"{re.escape(str(path))}\n.*?\nRss: +(\d+) kB", maps, re.DOTALL)
    return int(own)


def test_pages_of_mapped_columns_leave_memory_and_come_back(tmp_path):
    path = tmp_path / "built"
    keys, columns = release(50_000)
    build_columns(SCHEMA, len(keys), parts_of(keys, columns), scratch=path)
    held = load_keys(path)
    assert held.tobytes() == keys.tobytes()
    assert resident(path) > 500
    drop_pages([held[100:200], keys])
    assert resident(path) == 0
    assert held.tobytes() == keys.tobytes()


def test_columns_that_are_not_there_are_said_to_be_not_ready(tmp_path):
    with pytest.raises(NotReady):
        load_keys(tmp_path / "r-1.arrow")
