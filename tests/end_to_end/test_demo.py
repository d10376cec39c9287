"""`pramana demo` as a person runs it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.end_to_end.conftest import forking
from tests.forked import run_command

pytestmark = pytest.mark.end_to_end

RECORDS = 4000
WORDS = ("--records", str(RECORDS), "--seed", "5")


def of_session(leader: int) -> list[str]:
    """Return the running processes of a session: those that its leader started, and theirs."""
    found = []
    for process in psutil.process_iter(["status", "cmdline"]):
        with suppress(ProcessLookupError):
            if os.getsid(process.pid) == leader and process.info["status"] != psutil.STATUS_ZOMBIE:
                found.append(" ".join(process.info["cmdline"] or []))
    return found


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a demonstration left behind, which is no process."""
    out = tmp_path_factory.mktemp("demo") / "out"
    with forking():
        done = run_command("pramana", "demo", *WORDS, "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert "T=1, L=1" in done.stdout
    assert (out / "report.html").stat().st_size > 10_000
    return out


def test_the_result_has_every_parameter(demo: Path):
    result = json.loads((demo / "result.json").read_text())
    assert result["records"] == RECORDS
    assert result["seconds"] > 0
    assert len(result["parameters"]) == 64
    for parameter in result["parameters"]:
        assert {"node", "value", "parents", "truth", "estimate", "se"} <= set(parameter)
    assert max(abs(p["z"]) for p in result["parameters"] if p["z"] is not None) < 6
    by_name = {(p["node"], p["value"], *p["parents"].values()): p for p in result["parameters"]}
    assert by_name["T", "1", "2"]["truth"] == 0.9
    assert by_name["L", "2", "1"]["truth"] == 0.4


def test_a_seed_reproduces_the_demonstration(demo: Path, run, tmp_path: Path):
    with forking():
        done = run("pramana", "demo", *WORDS, "--out", str(tmp_path / "again"), "--json")
    assert done.returncode == 0, done.stderr
    again, first = json.loads(done.stdout), json.loads((demo / "result.json").read_text())
    assert again["parameters"] == first["parameters"]


@pytest.mark.parametrize("arguments", [["--records", "0"], ["--records", "many"], ["--seed", "-1"]])
def test_bad_options_make_nothing(run, tmp_path: Path, arguments: list[str]):
    done = run("pramana", "demo", *arguments, "--out", str(tmp_path / "out"))
    assert done.returncode == 2
    assert arguments[0].strip("-") in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_folder_of_someone_elses_is_left_alone(run, tmp_path: Path):
    (tmp_path / "thesis.txt").write_text("years of work")
    done = run("pramana", "demo", "--records", "50", "--out", str(tmp_path))
    assert done.returncode == 2
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.txt"]


def test_ended_from_outside_it_leaves_no_process(until, tmp_path: Path):
    out = tmp_path / "out"
    command = [sys.executable, "-m", "pramana", "demo", "--records", "50", "--out", str(out)]
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    until((out / "logs" / "miner.ready").exists, process)
    started = of_session(process.pid)
    assert any("miner_service serve" in line for line in started), started
    process.terminate()
    assert process.wait() == 128 + signal.SIGTERM
    until(lambda: not of_session(process.pid))
