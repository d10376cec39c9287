"""`python -m benchmarks.bench`, on groups that take no time."""

from __future__ import annotations

import json

import pytest

from benchmarks.bench import __main__ as command
from benchmarks.bench.measuring import Comparison, measure, read, write
from pramana_core.errors import Unreachable


def weights(bench):
    return [Comparison("a stone", "a feather", lambda: 9, lambda: 3, unit="g", aim=2.0)]


def lengths(bench):
    def away():
        raise Unreachable("The peer is away.")

    return [
        Comparison("a mile", "a league", lambda: 1, lambda: 3, unit="mi", rounds=1),
        Comparison("an ell", "a peer that fails", lambda: 1, away, unit="mi", rounds=1),
    ]


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.setattr(command, "GROUPS", {"weights": weights, "lengths": lengths})


def test_a_group_is_measured_and_kept_beside_others(tmp_path):
    command.bench(["weights"], tmp_path)
    (found,) = json.loads((tmp_path / "bench.json").read_text())
    assert found["ratio"] == 3.0
    with pytest.raises(Unreachable):
        command.bench(["lengths"], tmp_path, quick=True)
    assert [one.name for one in read(tmp_path / "bench.json")] == ["a stone", "a mile"]


def test_what_is_stored_of_a_peer_that_fails_stays(tmp_path, monkeypatch):
    monkeypatch.setattr(command, "STORED", tmp_path / "stored.json")
    before = Comparison("an ell", "a peer that fails", lambda: 1, lambda: 2, unit="mi")
    write(tmp_path / "stored.json", [measure(before)])
    with pytest.raises(Unreachable):
        command.bench([], tmp_path, store=True)
    stored = {one.name: one.ratio for one in read(tmp_path / "stored.json")}
    assert stored == {"an ell": 0.5, "a stone": 3.0, "a mile": pytest.approx(1 / 3, abs=1e-3)}


def test_every_group_is_there(monkeypatch):
    monkeypatch.undo()
    assert {"joint-counts", "networks", "patterns", "passages", "startup"} <= set(command.GROUPS)
