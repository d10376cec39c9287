"""Every learner on published networks under every bound: a short form of `make networks`."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from benchmarks.whole_record import EVERY, LEARNERS, PLAIN, arguments_of
from pramana.cli import app

SMALL = ("cancer", "survey")
"""The networks run here: of two categories and of three."""

SHORT = {
    *(("cancer", learner, way) for learner in LEARNERS for way in PLAIN),
    *(("survey", *both) for both in zip(LEARNERS, [*PLAIN, "gamma 19"], strict=True)),
}
"""What `make test` runs of them: each learner and each way meets categories of both numbers."""


def simulated(arguments: list[str]) -> dict[str, object]:
    ended = CliRunner().invoke(app, ["simulate", *arguments, "--json"])
    assert ended.exit_code == 0, ended.output
    found: dict[str, object] = json.loads(ended.stdout)
    return found


def arguments_to_learn(network: str, learner: str, way: str, folder: Path) -> list[str]:
    (command,) = [c for c in EVERY if (c.source, c.learner, c.way) == (network, learner, way)]
    arguments = arguments_of(command, folder, folder)
    arguments[arguments.index("--records") + 1] = "5000"
    return arguments


@pytest.mark.slow
@pytest.mark.parametrize(
    ("network", "learner", "way"),
    [
        one if one in SHORT else pytest.param(*one, marks=pytest.mark.campaign)
        for one in itertools.product(SMALL, LEARNERS, PLAIN)
    ],
)
def test_what_is_designed_is_learned(network: str, learner: str, way: str, tmp_path: Path):
    found = simulated(arguments_to_learn(network, learner, way, tmp_path))
    assert found["learner"] == learner
