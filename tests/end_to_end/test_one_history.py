"""Copies, older states and new names of one owner, with real processes: no second draw passes."""

from __future__ import annotations

import json
import shutil

import pytest

from tests.forked import Forked

pytestmark = pytest.mark.end_to_end

STATUS = """
[[variables]]
name = "status"
categories = ["no", "yes"]
sensitive = true
channel = { kind = "symmetric", p = 0.1 }
"""
EPSILON = 2.197  # ln 9


def _table(corrected: int = 0, records: int = 400) -> str:
    rows = (f"p{i},{'yes' if (i % 3 == 0) != (i < corrected) else 'no'}" for i in range(records))
    return "\n".join(["id,status", *rows]) + "\n"


def _publish(run, site, *words):
    return run("owner_agent", "publish", "--yes", "--json", "--site", str(site), *words)


def _renamed(site, name: str) -> None:
    site.write_text(site.read_text().replace('owner = "a"', f'owner = "{name}"'))


def test_an_older_backup_under_a_new_name_is_refused(study, run):
    site = study.add_owner("a", _table(), STATUS)
    shutil.copytree(site.parent / ".pramana", site.parent / "backup")
    assert _publish(run, site).returncode == 0
    shutil.rmtree(site.parent / ".pramana")
    (site.parent / "backup").rename(site.parent / ".pramana")
    (site.parent / "table.csv").write_text(_table(corrected=40))
    _renamed(site, "a2")
    study.join("a2", site)
    for choice in ([], ["--corrections", "keep"]):
        refused = _publish(run, site, *choice)
        assert refused.returncode == 4, refused.stderr
        assert "history-lost" in refused.stderr
    assert [release["owner"] for release in study.releases()] == ["a"]


def test_a_new_name_with_the_whole_history_adds_nothing(study, run):
    site = study.add_owner("a", _table(), STATUS)
    assert _publish(run, site).returncode == 0
    study.admin._call("DELETE", "/v1/studies/trial/owners/a")
    (site.parent / "table.csv").write_text(_table(records=420))
    _renamed(site, "a2")
    study.join("a2", site)
    done = _publish(run, site)
    assert done.returncode == 0, done.stderr
    (repeated,) = json.loads(done.stdout)["repeated"]
    assert (repeated["records"], repeated["changed"]) == (400, 0)
    told = study.admin.get("/v1/studies/trial/privacy")
    assert told["record"]["determined"]["epsilon"] == pytest.approx(EPSILON, abs=1e-3)


@pytest.mark.parametrize("rejoined", [False, True])
def test_what_a_removed_owner_told_stays_in_the_budget(study, run, rejoined):
    """People declared different, a lost folder, and the same 400 people under another name."""
    said = {"name": "apart", "people": "different", "max_epsilon_record": 3.0}
    study.admin.post("/v1/studies", said)
    study.name = "apart"
    site = study.add_owner("a", _table(), STATUS)
    assert _publish(run, site).returncode == 0
    if rejoined:
        study.admin._call("DELETE", "/v1/studies/apart/owners/a")
        shutil.rmtree(site.parent)
    # Control: beside an owner that is still there another one has people of its own.
    other = study.add_owner("a2", _table() if rejoined else _table().replace("p", "q"), STATUS)
    done = _publish(run, other)
    assert (done.returncode == 0) is not rejoined, done.stderr
    assert len(study.releases()) == (1 if rejoined else 2)
    record = study.admin.get("/v1/studies/apart/privacy")["record"]["determined"]
    assert record["epsilon"] == pytest.approx(EPSILON, abs=1e-3)


_WAITING = """
import time, httpx
from pathlib import Path
from owner_agent.cli.main import build
from owner_agent.state.environment import Environment
from pramana_core.terminal import run

class Together(httpx.HTTPTransport):
    def handle_request(self, request):
        if request.method == "POST" and request.url.path.endswith("/releases"):
            Path({mine!r}).touch()
            while not Path({other!r}).exists():
                time.sleep(0.01)
        return super().handle_request(request)

run(build(Environment(transport=Together())))
"""


def test_of_two_copies_that_publish_at_once_one_is_refused(study):
    """Both looked at what the miner has before either announced; their tables differ."""
    site = study.add_owner("a", _table(), STATUS)
    shutil.copytree(site.parent, study.root / "copy")
    copy = study.root / "copy" / "site.toml"
    (copy.parent / "table.csv").write_text(_table(corrected=40))
    logs, agents = [], []
    for mine, other, place in (("1", "2", site), ("2", "1", copy)):
        script = _WAITING.format(mine=str(study.root / mine), other=str(study.root / other))
        logs.append(study.root / f"{mine}.log")
        words = ("publish", "--yes", "--site", str(place))
        agents.append(Forked(script, *words, out=logs[-1]))
    codes = [agent.wait() for agent in agents]
    assert sorted(codes) == [0, 4], [log.read_text() for log in logs]
    assert "history-lost" in logs[codes.index(4)].read_text()
    assert len(study.releases()) == 1


def _retold(change: str) -> str:
    lines = _table(records=400).replace("p", "00").splitlines()
    match change:
        case "zeros lost in 5 %":
            lines = [line[2:] if n % 20 == 1 else line for n, line in enumerate(lines)]
        case "full width":
            lines = [line.replace("00", "００", 1) for line in lines]
        case "zero width":
            lines = [f"\u200b{line}" if n else line for n, line in enumerate(lines)]
        case "doubled":
            lines += [f"x{line}" for line in lines[1:]]
        case "some are new":
            lines += [f"x{line}" for line in lines[1:50]]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("change", "answer"),
    [
        ("zeros lost in 5 %", "records-exchanged"),
        ("doubled", "records-exchanged"),
        ("full width", "already"),
        ("zero width", "already"),
        ("some are new", "sealed"),
    ],
)
def test_people_whose_ids_change_form_are_not_randomized_twice_without_a_word(
    study, run, change, answer
):
    site = study.add_owner("a", _retold(""), STATUS)
    assert _publish(run, site).returncode == 0
    (site.parent / "table.csv").write_text(_retold(change), encoding="utf-8")
    plan = json.loads(run("owner_agent", "plan", "--json", "--site", str(site)).stdout)
    records = plan["corrections"]["records"]
    done = _publish(run, site)
    if answer == "records-exchanged":
        assert (done.returncode, len(study.releases())) == (2, 1), done.stderr
        assert "records-exchanged" in done.stderr
        done = _publish(run, site, "--accept-new-people")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["already"] == (answer == "already")
    new = {"zeros lost in 5 %": 20, "doubled": 400, "some are new": 49}.get(change, 0)
    assert records == {"earlier": 400, "gone": 20 * (new == 20), "new": new}
