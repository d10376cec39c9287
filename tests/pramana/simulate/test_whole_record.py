"""What is learned under one bound for the whole record: a short form of `make whole-record`."""

from __future__ import annotations

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from benchmarks.whole_record import ALL, EVERY, FILES, PAGE, RESULTS, TARGETS, page
from pramana.cli import app
from tests.places import DATA

GAMMA = "19"

FLOORS = {"nursery": 0.78, "car": 0.66, "mushroom": 0.84, "breast-cancer-wisconsin": 0.88}
"""Below these no mean of two runs falls: they are more than four deviations under means of five."""


def simulated(*arguments: str) -> dict[str, Any]:
    command = ["simulate", *arguments, "--gamma", GAMMA, "--seed", "1", "--json"]
    ended = CliRunner().invoke(app, command)
    assert ended.exit_code == 0, ended.output
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


def table(name: str) -> str:
    return str(DATA / FILES[name])


@pytest.mark.calibration
@pytest.mark.parametrize("name", FLOORS)
def test_naive_bayes_is_useful_under_one_bound(name: str):
    found = simulated(
        "classifier", "--table", table(name), "--target", TARGETS[name],
        "--set", "model=naive-bayes", "--design", "auto", "--runs", "2",
    )  # fmt: skip
    assert found["setting"]["gamma"] <= float(GAMMA) * (1 + 1e-6)
    assert found["accuracy"]["mean"] > FLOORS[name]
    assert found["accuracy"]["mean"] < found["clean_accuracy"]["mean"] + 0.03


@pytest.mark.calibration
def test_columns_one_by_one_are_not():
    found = simulated(
        "classifier", "--table", table("nursery"), "--target", "class",
        "--set", "model=naive-bayes", "--design", "independent", "--runs", "2",
    )  # fmt: skip
    assert found["accuracy"]["mean"] < FLOORS["nursery"]


def test_the_page_is_of_the_results_and_has_every_setting():
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    wanted = [command.name for command in ALL]
    assert set(results) <= set(wanted)
    assert {name for name in wanted if name not in results} <= {one.name for one in EVERY}
    text = PAGE.read_text(encoding="utf-8")
    assert page(text, results) == text
    assert page(text, results | {ALL[0].name: results[ALL[1].name]}) != text
