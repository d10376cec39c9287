"""The memory of reports: what goes in comes out again, and a record never gets a second report."""

import io

import numpy as np
import pytest

from owner_agent.release import memory as memory_module
from owner_agent.release.memory import Memory, MemoryRange, load_memory, save_memory
from pramana_core.errors import Conflict, StoreCorrupt


def keys_of(numbers):
    """Return pseudonyms that sort as the numbers do, some with zero bytes at their end."""
    made = np.zeros((len(numbers), 2), dtype=">u8")
    high, low = np.divmod(np.asarray(numbers, dtype=np.int64), 4)
    made[:, 0], made[:, 1] = high, low << 40
    return made.view("V16").ravel()


def grown(memory, numbers, reports, release="r"):
    """Return a memory with the reports of one more release."""
    file = io.BytesIO()
    memory.write(file, keys_of(numbers), reports, release)
    file.seek(0)
    return Memory(file)


def recalled(memory, numbers, draw):
    """Return by number the reports that a draw made, as {number: codes}."""
    keys, found = keys_of(numbers), {}
    for held, rows in memory.beside(keys):
        names = [n.partition("/")[2] for n in held.table.column_names if n.startswith(f"{draw}/")]
        for name in names:
            known, codes = held.reported(draw, name, keys[rows])
            for place, code in zip(np.arange(len(keys))[rows][known], codes, strict=True):
                found[numbers[place]] = (*found.get(numbers[place], ()), int(code))
    return found


@pytest.fixture(params=[2, 3, 1 << 18])
def rows(request, monkeypatch):
    """Ranges of two records, of three, and of all."""
    monkeypatch.setattr(memory_module, "READ_ROWS", request.param)
    return request.param


@pytest.mark.usefixtures("rows")
def test_what_is_remembered_is_recalled():
    memory = grown(Memory(), [1, 5, 9], {"d": {"a": np.array([0, 1, 2], np.uint8)}})
    memory = grown(memory, [3, 5], {"d": {"a": np.array([2, 1], np.uint8)}})
    memory = grown(memory, [2, 9], {"e": {"b": np.array([70_000, 8], np.uint32)}})
    assert recalled(memory, [1, 2, 3, 9], "d") == {1: (0,), 3: (2,), 9: (2,)}
    assert recalled(memory, [1, 2, 9], "e") == {2: (70_000,), 9: (8,)}
    assert not recalled(memory, [1], "unknown")
    assert recalled(memory, [4, 20, 21, 22, 23], "d") == {}


@pytest.mark.usefixtures("rows")
def test_a_second_report_of_a_record_by_the_same_draw_is_refused():
    memory = grown(Memory(), [1, 5], {"d": {"a": np.array([0, 1], np.uint8)}})
    other = {"d": {"a": np.array([0, 1], np.uint8)}}
    with pytest.raises(Conflict):
        grown(memory, [5, 6], other)
    grown(memory, [5], {"other draw": {"a": np.array([0], np.uint8)}})


@pytest.mark.parametrize("more", [0, 1, 40, 900])
def test_ranges_of_any_length_hold_what_one_range_does(monkeypatch, more):
    """Few records beside many that are remembered, many beside few, and the same ones."""
    rng = np.random.default_rng(more)
    first, second = (np.sort(rng.choice(3_000, n, replace=False)) for n in (600, 60 + more))
    # A record reports the same whenever it does.
    made = [{"d": {"a": (n % 7).astype(np.uint8)}} for n in (first, second)]
    read = {}
    for rows in (64, 1 << 18):
        monkeypatch.setattr(memory_module, "READ_ROWS", rows)
        memory = grown(grown(Memory(), first, made[0]), second, made[1], "s")
        sizes = [len(held) for held in memory.ranges()]
        assert max(sizes) <= rows
        assert all(size == rows for size in sizes[:-1]), "ranges do not become ever shorter"
        read[rows] = b"".join(MemoryRange(held).keys.tobytes() for held in memory.ranges())
        assert recalled(memory, np.arange(3_000), "d") == {
            int(n): (int(n) % 7,) for n in {*first, *second}
        }
        assert memory.releases == {"r", "s"}
    assert read[64] == read[1 << 18]


def test_it_is_the_same_after_it_was_written(tmp_path):
    rng = np.random.default_rng(4)
    numbers = np.arange(0, 2_000, 2)
    sets = rng.integers(0, 1 << 62, len(numbers), dtype=np.uint64)
    both = {"d": {"a/b": sets, "c": (sets % 7).astype(np.uint8)}}
    save_memory(tmp_path, "asia", Memory(), keys_of(numbers), both, "f" * 64)
    more = {"e": {"c": np.array([5, 6], np.uint16)}}
    save_memory(tmp_path, "asia", load_memory(tmp_path, "asia"), keys_of([3, 7]), more, "e" * 64)
    again = load_memory(tmp_path, "asia")
    assert again.releases == {"e" * 64, "f" * 64}
    expected = {int(n): (int(s), int(s % 7)) for n, s in zip(numbers, sets, strict=True)}
    assert recalled(again, np.arange(2_000), "d") == expected
    assert recalled(again, np.arange(2_000), "e") == {3: (5,), 7: (6,)}
    (held,) = again.ranges()
    assert [str(one.type) for one in held.schema][1:] == ["uint64", "uint8", "uint16"]
    (file,) = (tmp_path / "reported").iterdir()
    assert (file.name, file.stat().st_mode & 0o777) == ("asia.arrow", 0o600)
    assert load_memory(tmp_path, "europe").releases == frozenset()


@pytest.mark.parametrize("damage", ["cut", "other", "empty"])
def test_a_damaged_memory_is_not_taken_for_none(tmp_path, damage):
    reports = {"d": {"v": np.ones(3, np.uint8)}}
    save_memory(tmp_path, "asia", Memory(), keys_of([1, 2, 3]), reports, "f" * 64)
    path = tmp_path / "reported" / "asia.arrow"
    content = {"cut": path.read_bytes()[:-20], "other": b"ARROW1 of another kind", "empty": b""}
    path.write_bytes(content[damage])
    with pytest.raises(StoreCorrupt):
        load_memory(tmp_path, "asia")
