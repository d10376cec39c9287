"""Comparisons, and what they say, with sides whose times are known."""

from __future__ import annotations

import json
import sys

import pytest

from benchmarks.bench.measuring import Bench, Comparison, Spent, measure, read, write
from pramana_core.errors import Unreachable


def timed(*numbers):
    """A side that measures itself: these times, one after the other."""
    left = iter([1.0, *numbers])  # the first run is not counted
    return lambda: Spent(next(left), 100.0)


def test_the_median_ratio_of_runs_in_turn_counts():
    ours, theirs = timed(1.0, 2.0, 9.0), timed(2.0, 2.0, 3.0)
    found = measure(Comparison("a", "b", ours, theirs, clock="elapsed", rounds=3, aim=0.9))
    assert (found.ratio, found.ours, found.theirs) == (1.0, 2.0, 2.0)
    assert found.spread == (0.75, 2.0)
    assert found.missed


def test_sides_take_turns():
    order = []
    measure(Comparison("a", "b", lambda: order.append("o"), lambda: order.append("t"), rounds=4))
    assert "".join(order) == "ot" + "ot" + "to" + "ot" + "to"


def test_another_unit_is_what_the_sides_return():
    found = measure(Comparison("a", "b", lambda: 30, lambda: 600, unit="MiB", rounds=1, aim=1.0))
    assert (found.ratio, found.unit, found.missed) == (0.05, "MiB", False)
    error = Spent(1.0, 1.0, 0.25)
    found = measure(Comparison("a", "b", lambda: error, lambda: 0.5, unit="%", rounds=1))
    assert found.ratio == 0.5


def test_results_are_a_list_of_objects_and_read_back(tmp_path):
    results = [measure(Comparison("a", "b", lambda: 1, lambda: 2, unit="MiB"))]
    write(tmp_path / "out" / "bench.json", results)
    (document,) = json.loads((tmp_path / "out" / "bench.json").read_text())
    assert {"name", "reference", "ratio", "ours", "theirs", "unit", "spread"} <= set(document)
    assert read(tmp_path / "out" / "bench.json") == results
    assert read(tmp_path / "nothing") == []


@pytest.fixture
def environment(tmp_path):
    """An environment of peers that is our own interpreter."""
    place = tmp_path / "environment" / "bin"
    place.mkdir(parents=True)
    (place / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (place / "python").chmod(0o755)
    return tmp_path / "environment"


@pytest.mark.end_to_end
def test_a_peer_runs_in_a_process_of_its_own_and_says_what_fails(tmp_path, environment):
    import numpy as np

    with Bench(tmp_path, environment=environment) as bench:
        folder = bench.saved(v=np.arange(1000, dtype=np.uint8))
        peer = bench.peer("pyfim_itemsets", folder=folder, support=0.05)
        assert peer().elapsed > 0
        peer.end()
        assert peer().processor >= 0  # it starts anew
        unknown = bench.peer("no_such")
        for _ in range(2):
            with pytest.raises(Unreachable, match="no_such failed: AttributeError"):
                unknown()
