"""The memory of reports: what goes in comes out again, and a record never gets a second report."""

import numpy as np
import pytest

from owner_agent.release.memory import Memory, load_memory, save_memory
from pramana_core.errors import Conflict, StoreCorrupt


def keys_of(numbers):
    """Return pseudonyms that sort as the numbers do, some with zero bytes at their end."""
    made = np.zeros((len(numbers), 2), dtype=">u8")
    high, low = np.divmod(np.asarray(numbers, dtype=np.int64), 4)
    made[:, 0], made[:, 1] = high, low << 40
    return made.view("V16").ravel()


def test_what_is_remembered_is_recalled_in_the_order_asked():
    memory = Memory().with_reports(keys_of([1, 5, 9]), {"d": {"a": np.array([0, 1, 2], np.uint8)}})
    memory = memory.with_reports(keys_of([3, 5]), {"d": {"a": np.array([2, 1], np.uint8)}})
    memory = memory.with_reports(keys_of([2, 9]), {"e": {"b": np.array([70_000, 8], np.uint32)}})
    known, columns = memory.of(keys_of([9, 2, 3, 1])).by("d")
    assert known.tolist() == [True, False, True, True]
    assert columns["a"].tolist() == [2, 2, 0]
    known, columns = memory.of(keys_of([1, 2, 9])).by("e")
    assert (known.tolist(), columns["b"].tolist()) == ([False, True, True], [70_000, 8])
    assert not memory.of(keys_of([1])).by("unknown")[0].any()


def test_a_second_report_of_a_record_by_the_same_draw_is_refused():
    memory = Memory().with_reports(keys_of([1, 5]), {"d": {"a": np.array([0, 1], np.uint8)}})
    with pytest.raises(Conflict, match=r"reported some records differently in 'a'"):
        memory.with_reports(keys_of([5, 6]), {"d": {"a": np.array([0, 1], np.uint8)}})
    memory.with_reports(keys_of([5]), {"other draw": {"a": np.array([0], np.uint8)}})
    replaced = memory.with_reports(
        keys_of([5]), {"d": {"a": np.array([0], np.uint8)}}, replacing=True
    )
    assert replaced.of(keys_of([1, 5])).by("d")[1]["a"].tolist() == [0, 0]


def test_it_is_the_same_after_it_was_written(tmp_path):
    rng = np.random.default_rng(4)
    keys = keys_of(np.arange(0, 2_000, 2))
    sets = rng.integers(0, 1 << 62, len(keys), dtype=np.uint64)
    memory = Memory().with_reports(keys, {"d": {"a/b": sets, "c": (sets % 7).astype(np.uint8)}})
    memory = memory.with_reports(keys_of([3, 7]), {"e": {"c": np.array([5, 6], np.uint16)}})
    save_memory(tmp_path, "asia", memory.with_release("f" * 64))
    again = load_memory(tmp_path, "asia")
    assert again.releases == {"f" * 64}
    assert again.keys.tobytes() == memory.keys.tobytes()
    for draw, names in (("d", ("a/b", "c")), ("e", ("c",))):
        assert np.array_equal(again.draws[draw].known, memory.draws[draw].known)
        for name in names:
            held, was = again.draws[draw].columns[name], memory.draws[draw].columns[name]
            assert held.dtype == was.dtype
            known = memory.draws[draw].known
            assert np.array_equal(held[known], was[known])
    (file,) = (tmp_path / "reported").iterdir()
    assert (file.name, file.stat().st_mode & 0o777) == ("asia.arrow", 0o600)
    assert load_memory(tmp_path, "europe").releases == frozenset()


def test_it_is_compact(tmp_path):
    """16 bytes a record, and a byte for each variable of few categories, in whatever many draws."""
    keys = keys_of(np.arange(100_000))
    memory = Memory()
    for number in range(10):
        memory = memory.with_reports(keys, {f"{number}" * 64: {"v": np.ones(100_000, np.uint8)}})
    save_memory(tmp_path, "asia", memory)
    assert (tmp_path / "reported" / "asia.arrow").stat().st_size < 100_000 * (16 + 10) * 1.01


@pytest.mark.parametrize("damage", ["cut", "other", "empty"])
def test_a_damaged_memory_is_not_taken_for_none(tmp_path, damage):
    save_memory(tmp_path, "asia", Memory().with_release("f" * 64))
    path = tmp_path / "reported" / "asia.arrow"
    content = {"cut": path.read_bytes()[:-20], "other": b"ARROW1 of another kind", "empty": b""}
    path.write_bytes(content[damage])
    with pytest.raises(StoreCorrupt, match="Restore it from your backup"):
        load_memory(tmp_path, "asia")
