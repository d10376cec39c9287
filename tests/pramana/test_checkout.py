"""Experiments are found beside the package in a checkout, and nowhere else."""

import sys
from pathlib import Path

import pytest

from pramana.checkout import experiments
from pramana_core.errors import OptionError
from tests.places import ROOT


def test_in_a_checkout_they_are_found(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place != str(ROOT)])
    assert Path(str(experiments("run").__file__)).is_relative_to(ROOT / "benchmarks")
    assert sys.path[0] == str(ROOT)
    before = list(sys.path)
    experiments("run")
    assert sys.path == before


def test_without_one_a_sentence_says_where_they_are(tmp_path: Path):
    before = list(sys.path)
    with pytest.raises(OptionError, match="run from a checkout of Pramana") as found:
        experiments("run", beside=tmp_path)
    assert found.value.exit_code == 2
    assert sys.path == before
