"""What an operator reads in the service's log, and what `/readyz` says when files are away."""

from __future__ import annotations

import errno
import json
import logging
import os
import re
import socket
import time
from contextlib import ExitStack, suppress
from datetime import datetime

import httpx
import pytest

from miner_service import logs
from tests.forked import Forked

LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00 (INFO|WARNING|ERROR) [\w.]+: ")


def lines_of(log):
    """The lines of standard error that are JSON; the announcements to people are not."""
    return [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]


def ready(url):
    """The parts that are away."""
    answer = httpx.get(f"{url}/readyz", timeout=None)
    return set(answer.json()["where"].split(", ")) if answer.status_code == 503 else set()


@pytest.mark.end_to_end
def test_every_request_and_job_has_a_line_and_no_line_has_a_secret(killed, release_a):
    killed.again("--workers", "1", "--log-format", "json")
    path = killed(killed.owner, "POST", "/v1/studies/asia/releases", json=release_a.body)
    path = path.headers["location"]
    for number, part in enumerate(release_a.parts):
        killed.put(path, number, part)
    killed(killed.owner, "POST", f"{path}/seal")
    issued = killed(killed.admin, "POST", "/v1/studies/asia/tokens", json={"name": "ana"}).json()
    analyst, body = issued["token"], {"spec": {"structure": {"A": []}}}
    made = killed(analyst, "POST", "/v1/studies/asia/jobs", json=body)
    job = made.headers["location"]
    while killed(analyst, "GET", job).json()["state"] in ("queued", "running"):
        time.sleep(0.05)
    wrong = f"t-000000000000.{'w' * 43}"
    refused = httpx.get(f"{killed.url}/v1/studies", headers={"Authorization": f"Bearer {wrong}"})
    nowhere = httpx.get(f"{killed.url}/v1/{killed.admin}", headers={"X": analyst})
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    with httpx.Client() as browser:
        page = browser.get(f"{killed.url}/pages/sign-in").text
        word = re.search(r'name="word" value="([^"]+)"', page)[1]
        sent = f"word={word}&token={wrong}&then="
        assert browser.post(f"{killed.url}/pages/sign-in", content=sent, headers=form).is_error
    killed.process.terminate()
    assert killed.process.wait() == 0

    lines = lines_of(killed.log)
    for line in lines:
        assert datetime.fromisoformat(line["time"]).utcoffset().total_seconds() == 0
        assert line["level"] in ("INFO", "WARNING", "ERROR")
    by_request = {line["request"]: line for line in lines if line["message"] == "request"}
    entry = by_request[made.headers["request-id"]]
    assert entry["seconds"] > 0
    expected = {
        "level": "INFO",
        "method": "POST",
        "route": "create_job",
        "status": made.status_code,
        "role": "analyst",
        "caller": "ana",
        "study": "asia",
        "address": "127.0.0.1",
    }
    assert {name: entry.get(name) for name in expected} == expected
    problem = by_request[refused.json()["request"]]
    assert (problem["level"], problem["code"]) == ("WARNING", "unauthenticated")
    assert "revoked" in problem["reason"]
    assert by_request[nowhere.headers["request-id"]]["path"].startswith("/v1/t-")
    (sign_in,) = (line for line in by_request.values() if line.get("route") == "sign_in")
    assert (sign_in["level"], sign_in["status"]) == ("WARNING", 401)
    assert sign_in["code"] == "unauthenticated"
    runs = [(line["run"], line["event"]) for line in lines if line["message"] == "job"]
    assert runs == [(1, "Queued."), (1, "Run 1 began."), (1, "Succeeded.")]
    assert {line["job"] for line in lines if line["message"] == "job"} == {job.rsplit("/", 1)[1]}
    assert [line["message"] for line in lines if line["logger"].endswith("cli.main")] == [
        "ready",
        "stopped",
    ]
    audit = killed.log.parent / "data" / "audit.jsonl"
    noted = {line.get("request"): line for line in map(json.loads, audit.read_text().splitlines())}
    assert noted[entry["request"]]["address"] == "127.0.0.1"
    assert noted[entry["request"]]["action"] == "create_job"
    everything = killed.log.read_text() + audit.read_text()
    for token in (killed.admin, killed.owner, analyst, wrong):
        assert token.split(".")[1] not in everything


@pytest.mark.end_to_end
def test_a_line_of_text_has_time_and_level(serve):
    url, process, log = serve("--workers", "0")
    httpx.get(f"{url}/v1/studies")
    process.terminate()
    assert process.wait() == 0
    lines = [line for line in log.read_text().splitlines() if LINE.match(line)]
    (refused,) = (line for line in lines if "route=list_studies" in line)
    assert " WARNING " in refused
    assert "status=401" in refused
    assert 'reason="The request has no bearer token."' in refused
    assert len(lines) == 3, "ready, request, stopped"


@pytest.fixture
def logged(capsys):
    """Return the lines that the log of this process wrote."""
    return lambda: capsys.readouterr().err.splitlines()


@pytest.mark.parametrize("form", list(logs.LogFormat))
def test_no_text_of_a_client_forges_a_line(logged, form):
    logs.configure(form)
    forged = 'ana" status=200\n2026-01-01T00:00:00.000+00:00 INFO x: \u202egood\x1b[2J'
    log = logging.getLogger("miner_service.http.access")
    log.info("request", extra={"caller": forged, "status": 401})
    log.warning(forged)
    lines = logged()
    assert len(lines) == 2
    assert all(line.isascii() and line.isprintable() for line in lines)
    if form == "json":
        assert json.loads(lines[0])["caller"] == forged
        assert json.loads(lines[1])["message"] == forged
    else:
        assert json.dumps(forged) in lines[0]
        assert lines[0].endswith(" status=401")


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
sys.argv[0] = "miner-service"
from miner_service.cli.main import main
main()
"""


@pytest.mark.end_to_end
def test_a_low_limit_on_files_is_one_line(tmp_path):
    """More connections come than there are files; the service refuses some and goes on."""
    log, file = tmp_path / "log", tmp_path / "ready.json"
    words = ("serve", "--data", str(tmp_path / "data"), "--port", "0", "--workers", "0")
    process = Forked(LIMITED, *words, "--ready-file", str(file), "--log-format", "json", out=log)
    while not file.exists():
        assert process.poll() is None, log.read_text()
        time.sleep(0.02)
    url = json.loads(file.read_text())["url"]
    port = int(url.rpartition(":")[2])
    with ExitStack() as stack:
        many = [socket.create_connection(("127.0.0.1", port)) for _ in range(100)]
        for one in map(stack.enter_context, many):
            one.settimeout(None)
        with suppress(ConnectionResetError):
            assert many[-1].recv(1) == b"", "it is refused"
    assert httpx.get(f"{url}/healthz", timeout=None).status_code == 200
    process.terminate()
    assert process.wait() == 0
    (low,) = (line for line in lines_of(log) if line["message"] != "request" and "limit" in line)
    assert (low["level"], low["limit"], low["connections"]) == ("WARNING", 64, 16)
    assert {line["message"] for line in lines_of(log)} == {
        low["message"],
        "ready",
        "request",
        "stopped",
    }
    assert "Traceback" not in log.read_text()


def test_an_error_that_the_event_loop_repeats_is_one_line(logged):
    logs.configure("text")
    loop = logging.getLogger("asyncio")
    error = OSError(errno.EMFILE, os.strerror(errno.EMFILE))
    for number in range(2048):
        loop.error(f"socket.accept() out of system resource\nsocket: {number}", exc_info=error)
        loop.error(f"Exception in callback f({number})", exc_info=ValueError("-1"))
    loop.error("another")
    lines = [line for line in logged() if LINE.match(line)]
    assert len(lines) == 3
    assert lines[0].endswith("socket.accept() out of system resource: Too many open files")


@pytest.mark.end_to_end
@pytest.mark.parametrize(
    ("moved", "away"),
    [
        ("data", {"database", "files", "audit"}),
        ("data/miner.sqlite", {"database"}),
        ("files", {"files"}),
        ("data/audit.jsonl", {"audit"}),
    ],
)
def test_what_was_moved_away_is_missed_and_no_change_is_made(serve, tmp_path, moved, away):
    settings = tmp_path / "miner.toml"
    settings.write_text('[storage]\nfiles = "files"\n' if moved == "files" else "")
    admin = tmp_path / "admin"
    url, _, _ = serve("--settings", str(settings), "--admin-token-file", str(admin))
    headers = {"Authorization": f"Bearer {admin.read_text().strip()}"}
    assert ready(url) == set()
    place, elsewhere = tmp_path / moved, tmp_path / "elsewhere"
    place.rename(elsewhere)
    assert ready(url) == away
    if "audit" in away:
        made = httpx.post(f"{url}/v1/studies", json={"name": "asia"}, headers=headers)
        assert (made.status_code, made.json()["code"]) == (503, "not-ready")
    assert not place.exists(), "nothing was created in its stead"
    elsewhere.rename(place)
    assert ready(url) == set()
    listed = httpx.get(f"{url}/v1/studies", headers=headers)
    assert listed.json()["items"] == []
