"""Every learner on published networks under every bound: a short form of `make networks`."""

from __future__ import annotations

import importlib.resources
import itertools
import json
import os
import warnings
from pathlib import Path

import pytest
from typer.testing import CliRunner

from benchmarks.whole_record import commands
from benchmarks.whole_record.commands import (
    LEARNERS,
    NETWORKS,
    WAYS,
    NetworkCommand,
    arguments_of,
    network_file,
    read,
    section,
    settings,
)
from pramana.cli import app
from tests.pramana.simulate.test_simulate_learners import FAMILIES

SMALL = ("cancer", "survey")
"""The networks run here: of two categories and of three."""

SHORT = {
    *(("cancer", learner, way) for learner in LEARNERS for way in WAYS),
    *(("survey", *both) for both in zip(LEARNERS, [*WAYS, "gamma 19"], strict=True)),
}
"""What `make test` runs of them: each learner and each way meets categories of both numbers."""


def simulated(arguments: list[str]) -> dict[str, object]:
    ended = CliRunner().invoke(app, ["simulate", *arguments, "--json"])
    assert ended.exit_code == 0, ended.output
    found: dict[str, object] = json.loads(ended.stdout)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("network", "learner", "way"),
    [
        one if one in SHORT else pytest.param(*one, marks=pytest.mark.campaign)
        for one in itertools.product(SMALL, LEARNERS, WAYS)
    ],
)
def test_what_is_designed_is_learned(network: str, learner: str, way: str, tmp_path: Path):
    found = simulated(arguments_of(NetworkCommand(network, learner, way), tmp_path, 5000))
    assert found["learner"] == learner


@pytest.mark.slow
@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_is_learned(family: str, learner: str, tmp_path: Path):
    arguments = arguments_of(NetworkCommand("cancer", learner, "gamma 19"), tmp_path, 5000)
    arguments[arguments.index("auto")] = family
    assert simulated(arguments)["learner"] == learner


def test_the_table_tells_of_every_command_how_it_ended():
    found = read()
    assert set(found) <= {one.name for one in settings()}
    text = section(found)
    for network, nodes in NETWORKS.items():
        run = any(name.startswith(f"{network},") for name in found)
        assert (f"| {network}, {nodes} |" in text) == run
        assert run or network in text[text.index("Not measured") :]
    made = {
        NetworkCommand("asia", "tree", "gamma 5").name: {
            "records": 9, "seconds": 7.04, "ended": "learned", "accuracy": [0.5, 0.75],
        },
        NetworkCommand("asia", "tree", "gamma 19").name: {
            "records": 9, "seconds": 1.6, "ended": "refused", "said": ["no"],
        },
    }  # fmt: skip
    assert "| asia, 8 | tree | 7.0 s, 50.0 (75.0) | refused, 2 s | - | - |" in section(made)
    assert "280 commands 2 were run, with 9 records; 1 of them learned" in section(made)


def test_a_command_that_dies_is_an_outcome(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(commands, "_answer", lambda *_: os._exit(9))
    with warnings.catch_warnings():
        # Of threads of the tests', which the process that is forked does not need.
        warnings.simplefilter("ignore", DeprecationWarning)
        found = commands.outcome_of(NetworkCommand("cancer", "tree", "gamma 5"), tmp_path, 9, 600.0)
    assert (found["ended"], found["records"]) == ("died", 9)


def test_the_networks_are_all_of_up_to_80_nodes(tmp_path: Path):
    folder = importlib.resources.files("pgmpy") / "utils/example_models"
    packed = [one.name for one in folder.iterdir() if one.name.endswith(".bif.gz")]
    nodes = {
        name: network_file(name, tmp_path).read_text(encoding="utf-8").count("\nvariable ")
        for name in (one.removesuffix(".bif.gz") for one in packed)
    }
    assert {name: count for name, count in nodes.items() if count <= 80} == NETWORKS
