"""Owners -> shared trees -> HTTP, with real processes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.forked import Forked
from tests.places import ROOT

pytestmark = pytest.mark.end_to_end

EXAMPLE = ROOT / "examples" / "model-sharing"

KILLED = """
import os, signal, httpx
from owner_agent.cli.main import build
from owner_agent.state.environment import Environment

class Killed(httpx.HTTPTransport):
    def handle_request(self, request):
        if request.method == "POST" and request.url.path.endswith("/releases"):
            super().handle_request(request)
            os.kill(os.getpid(), signal.SIGKILL)
        return super().handle_request(request)

build(Environment(transport=Killed()))()
"""


def _table(seed: int) -> str:
    made = subprocess.run(
        [sys.executable, str(EXAMPLE / "patients.py"), str(seed)],
        capture_output=True, check=True, text=True,
    )  # fmt: skip
    return made.stdout.replace("patient_id", "id", 1)


def _section(name: str = "site") -> str:
    text = (EXAMPLE / f"{name}.toml").read_text(encoding="utf-8")
    return "[share_model]" + text.partition("[share_model]")[2]


def _share(run, site: Path):
    said = ["share-model", "--publish", "--yes", "--no-report", "--json", "--site", str(site)]
    done = run("owner_agent", *said)
    return done, json.loads(done.stdout)["release"] if done.returncode == 0 else None


def test_trees_of_two_owners_arrive_sealed_and_are_learned_from(learning_study, run):
    """One of them is private and its owner is killed in between: it is not drawn again."""
    study = learning_study
    north = study.add_owner("north", _table(1), _section())
    south = study.add_owner("south", _table(2), _section("private"))
    done, first = _share(run, north)
    assert done.returncode == 0, done.stderr
    assert (first["already"], first["records"]) == (False, 2000)
    words = ["share-model", "--publish", "--yes", "--no-report", "--site", str(south)]
    log = study.root / "killed.log"
    assert Forked(KILLED, *words, out=log).wait() == -signal.SIGKILL, log.read_text()
    state = south.parent / ".pramana"
    before = {path.name: path.read_bytes() for path in state.rglob("*.json")}
    assert len(before) == 1, "the tree lay in the outbox before it left"
    done, second = _share(run, south)
    assert done.returncode == 0, done.stderr
    after = {path.name: path.read_bytes() for path in state.rglob("*.json")}
    assert after == before
    releases = {release["name"]: release for release in study.releases()}
    assert releases.keys() == {first["name"], second["name"]}
    assert releases[second["name"]]["model"]["epsilon"] == 1
    for release in releases.values():
        assert (release["state"], release["kind"]) == ("sealed", "knowledge-model")
        assert release["records"] == 0
    spec = {"kind": "model-sharing", "target": "diagnosis"}
    job = study.admin.post("/v1/studies/trial/jobs", {"spec": spec})
    done = study.admin.wait(f"/v1/jobs/{job['id']}")
    assert done["state"] == "succeeded", done
