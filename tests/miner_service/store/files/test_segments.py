"""The folder of parts and columns."""

from __future__ import annotations

import hashlib

import pytest

from miner_service.settings import Settings, StorageSettings
from miner_service.store.segments import open_segments

BODY = b"the bytes of a part"
SHA = hashlib.sha256(BODY).hexdigest()


def written(segments, body=BODY):
    """A finished file that a caller hands over."""
    scratch = segments.scratch_path()
    scratch.write_bytes(body)
    return scratch


def files_below(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


@pytest.fixture
def open_again(tmp_path):
    """Return what opens the same folder once more, as another process does."""

    def opened():
        segments = open_segments(
            Settings(tmp_path / "data", storage=StorageSettings(files=tmp_path / "records"))
        )
        segments.prepare()
        return segments

    return opened


@pytest.fixture
def segments(open_again):
    return open_again()


def test_a_sweep_removes_what_no_release_needs(segments):
    for release in ("open", "sealed", "withdrawn", "absent"):
        segments.put_part(release, 0, written(segments))
        segments.put_data(release, written(segments))
    states = {name: name for name in ("open", "sealed", "withdrawn")}
    assert sorted(segments.sweep(lambda: states)) == [
        "columns/absent",
        "columns/withdrawn",
        "parts/absent",
        "parts/sealed",
        "parts/withdrawn",
    ]
    assert segments.sweep(lambda: states) == []
    assert segments.read_part("open", 0, SHA) == BODY
    # Another process may be between making these columns and saying that they are sealed.
    assert segments.data_path("open").exists()
    assert segments.data_path("sealed").exists()
    assert not segments.data_path("withdrawn").exists()


def test_a_sweep_leaves_what_is_announced_and_sent_while_it_looks(segments, open_again):
    other = open_again()

    def states():
        # After the files were listed and before they are judged.
        other.put_part("new", 0, written(other))
        return {}

    segments.sweep(states)
    assert segments.read_part("new", 0, SHA) == BODY


def test_what_another_process_is_writing_is_not_swept_while_it_lives(
    segments, open_again, tmp_path
):
    other = open_again()
    half_done = written(other)
    open_again().prepare()
    assert segments.sweep(dict) == []
    assert half_done.exists()
    other.put_part("r-1", 0, half_done)
    abandoned = written(other)
    del other
    open_again()
    assert not abandoned.exists()
    assert not [name for name in files_below(tmp_path) if "scratch" in name]
