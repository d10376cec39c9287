"""`python -m benchmarks.bench` as people and scripts run it, on topics that take no time."""

from __future__ import annotations

import json
import sys
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from benchmarks.bench import __main__ as command
from benchmarks.bench.measuring import Comparison, measure, read, write
from pramana_core.errors import OptionError, Unreachable

SIZES = ("--records", "5000", "--records", "6000")


def weights(bench):
    return [Comparison("a stone", "a feather", lambda: 9, lambda: 3, unit="g", aim=2.0)]


def lengths(bench):
    assert bench.sizes == [bench.size(5000), bench.size(6000)]

    def away():
        raise Unreachable("The peer is away.")

    return [
        Comparison("a mile", "a league", lambda: 1, lambda: 3, unit="mi", rounds=1),
        Comparison("an ell", "a peer that fails", lambda: 1, away, unit="mi", rounds=1),
    ]


@pytest.fixture
def bench(tmp_path, monkeypatch):
    monkeypatch.setattr(command, "TOPICS", {"one": "one:GROUPS", "other": "other:GROUPS"})
    for topic, group in {"one": weights, "other": lengths}.items():
        module = SimpleNamespace(GROUPS=(group,))
        monkeypatch.setitem(sys.modules, f"benchmarks.bench.{topic}", module)

    def run(*words):
        return CliRunner().invoke(command.app, ["--out", str(tmp_path), *words])

    return run


def names(tmp_path):
    return [one["name"] for one in json.loads((tmp_path / "bench.json").read_text())]


def test_a_topic_is_measured_shown_and_kept_beside_others(bench, tmp_path):
    shown = bench("--only", "weights")
    assert shown.exit_code == 0
    assert "a stone" in shown.stdout
    assert "3" in shown.stdout
    assert (tmp_path / "bench.png").read_bytes().startswith(b"\x89PNG")
    (found,) = json.loads(bench("--only", "one", "--json").stdout)
    assert found["ratio"] == 3.0
    bench("--only", "other", *SIZES)
    assert names(tmp_path) == ["a stone", "a mile"]


def test_a_peer_that_fails_is_named_and_the_others_are_kept(bench, tmp_path):
    failed = bench(*SIZES, "--quick")
    assert isinstance(failed.exception, Unreachable)  # exit code 5
    assert failed.exception.exit_code == 5
    assert names(tmp_path) == ["a stone", "a mile"]


def test_what_is_stored_of_a_peer_that_fails_stays(bench, tmp_path, monkeypatch):
    monkeypatch.setattr(command, "STORED", tmp_path / "stored.json")
    monkeypatch.setattr(command, "PICTURE", tmp_path / "stored.png")
    before = Comparison("an ell", "a peer that fails", lambda: 1, lambda: 2, unit="mi")
    write(tmp_path / "stored.json", [measure(before)])
    assert isinstance(bench(*SIZES, "--store").exception, Unreachable)
    stored = {one.name: one.ratio for one in read(tmp_path / "stored.json")}
    assert stored == {"an ell": 0.5, "a stone": 3.0, "a mile": pytest.approx(1 / 3, abs=1e-3)}


@pytest.mark.parametrize(
    "words",
    [
        ("--only", "weight"),
        ("--quick", "--store"),
        ("--records", "5000"),
        ("--records", "6000", "--records", "5000"),
    ],
)
def test_wrong_calls_are_told(bench, words):
    wrong = bench(*words)
    assert isinstance(wrong.exception, OptionError)
    assert wrong.exception.remedy
