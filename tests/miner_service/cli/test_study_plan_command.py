"""`miner-service study plan`, beside a running service."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from miner_service.cli.main import app
from pramana_core.errors import PramanaError
from tests.miner_service.intake.test_study_plans import AGREED, OTHER


def run(*arguments, code=0):
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    if isinstance(result.exception, PramanaError):
        assert result.exception.exit_code == code
        return str(result.exception)
    assert result.exit_code == code, result.output
    return " ".join(result.output.split())


@pytest.fixture
def plan(miner, tmp_path):
    """Call `plan set s FILE` and the like on the data of a miner with a study of two owners."""
    miner.study("s")
    for owner in ("north", "south"):
        miner.owner("s", owner)
    for name, made in (("agreed", AGREED), ("other", OTHER)):
        (tmp_path / f"{name}.json").write_bytes(made.canonical_json())

    def call(command, *arguments, code=0):
        return run("study", "plan", command, *arguments, "--data", miner.data, code=code)

    return call


def test_a_plan_is_set_shown_and_removed(miner, plan, tmp_path):
    said = plan("set", "s", tmp_path / "agreed.json")
    assert said.startswith(f"The plan of study s is agreed on. Digest {AGREED.digest}.")
    assert "a record loses epsilon 2.197 (gamma 9), by one of 3 sets" in said
    assert "report nothing" not in said
    assert "north: at most epsilon 2.197; reports class 75.0%, a 75.0%." in said
    assert "south: at most epsilon 1.099; reports b 50.0%." in said
    assert plan("set", "s", tmp_path / "agreed.json").startswith("The plan of study s was there.")
    assert plan("show", "s") == said.partition("agreed on. ")[2]
    assert json.loads(plan("show", "s", "--json")) == AGREED.as_dict()
    assert miner.admin.get("/v1/studies/s/plan")["digest"] == AGREED.digest
    plan("set", "s", tmp_path / "other.json")
    assert plan("remove", "s") == "Study s has no plan."
    assert "no such study plan" in plan("show", "s", code=4)
    noted = [json.loads(line) for line in (miner.data / "audit.jsonl").read_text().splitlines()]
    made = [(e["action"], e["outcome"]) for e in noted if e["role"] == "command"]
    assert made == [
        ("put_study_plan", 201),
        ("put_study_plan", 200),
        ("put_study_plan", 201),
        ("delete_study_plan", 204),
    ]


@pytest.mark.slow
def test_what_cannot_be_read_or_is_no_plan_is_refused(plan, tmp_path):
    assert "cannot be read" in plan("set", "s", tmp_path / "none.json", code=2)
    wrong = tmp_path / "wrong.json"
    wrong.write_text('{"owners": [], "sets": [], "more": 1}')
    said = plan("set", "s", wrong, code=2)
    assert "is no study plan: 3 errors" in said
    assert "more" in said
    document = AGREED.as_dict()
    document["sets"][0]["weight"] = 1 << 32
    wrong.write_text(json.dumps(document))
    assert "sum to 1.5" in plan("set", "s", wrong, code=2)
    assert "no such study" in plan("set", "elsewhere", tmp_path / "agreed.json", code=4)
