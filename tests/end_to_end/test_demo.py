"""`pramana demo` as a person runs it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from html.parser import HTMLParser
from pathlib import Path

import psutil
import pytest

from tests.end_to_end.conftest import forking
from tests.forked import run_command

pytestmark = pytest.mark.end_to_end

RECORDS = 4000
WORDS = ("--records", str(RECORDS), "--seed", "5")


class Links(HTMLParser):
    """Collects what a page would load from elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.loads += [
            v
            for k, v in attrs
            if k in {"src", "href", "xlink:href"} and v and not v.startswith("#")
        ]


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
    (out / "stdout").write_text(done.stdout)
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


def test_the_report_is_whole_and_loads_nothing(demo: Path):
    text = (demo / "report.html").read_text(encoding="utf-8")
    links = Links()
    links.feed(text)
    assert links.loads == []
    assert "svg" in links.tags
    assert "script" not in links.tags
    assert text.count("<tr") > 64


def test_the_table_fits_a_terminal(demo: Path):
    lines = (demo / "stdout").read_text().splitlines()
    assert any("T=1, L=1" in line for line in lines)
    assert max(len(line) for line in lines if "=" in line) <= 100


def test_the_tables_lie_on_disk(demo: Path):
    for owner in ("clinic", "laboratory", "registry"):
        assert (demo / "sites" / owner / "table.csv").read_text().count("\n") == RECORDS + 1


def test_a_seed_reproduces_the_demonstration(demo: Path, run, tmp_path: Path):
    with forking():
        done = run("pramana", "demo", *WORDS, "--out", str(tmp_path / "again"), "--json")
    assert done.returncode == 0, done.stderr
    again, first = json.loads(done.stdout), json.loads((demo / "result.json").read_text())
    assert again["parameters"] == first["parameters"]


@pytest.mark.campaign
def test_in_processes_of_their_own_the_result_is_the_same(demo: Path, until, tmp_path: Path):
    """That these are started and stopped, the test of a demonstration that is ended shows, too."""
    out = tmp_path / "out"
    command = [sys.executable, "-m", "pramana", "demo", *WORDS, "--out", str(out)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True) as process:
        _, errors = process.communicate()
    assert process.returncode == 0, errors
    until(lambda: not of_session(process.pid))
    there, here = (json.loads((folder / "result.json").read_text()) for folder in (out, demo))
    assert there["parameters"] == here["parameters"]


BAD = [
    (["--records", "0"], 2, "records must be at least 1"),
    (["--records", "many"], 2, "--records"),
    (["--seed", "-1"], 2, "--seed"),
]


@pytest.mark.parametrize(("arguments", "code", "says"), BAD)
def test_bad_options_are_explained(run, tmp_path: Path, arguments: list[str], code: int, says: str):
    done = run("pramana", "demo", *arguments, "--out", str(tmp_path / "out"))
    assert done.returncode == code
    assert says in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_folder_of_someone_elses_is_left_alone(run, tmp_path: Path):
    (tmp_path / "thesis.txt").write_text("years of work")
    done = run("pramana", "demo", "--records", "50", "--out", str(tmp_path))
    assert done.returncode == 2
    assert "nothing in it was touched" in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_demonstrations_folder_is_kept_if_more_was_put_there(run, demo: Path, tmp_path: Path):
    out = tmp_path / "out"
    shutil.copytree(demo, out)
    (out / "stdout").unlink()
    (out / "my-notes.txt").write_text("mine")
    done = run("pramana", "demo", "--records", "50", "--out", str(out))
    assert done.returncode == 2
    assert "my-notes.txt" in done.stderr
    assert (out / "result.json").exists()


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
