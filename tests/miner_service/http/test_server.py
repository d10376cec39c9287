"""The command `miner-service`: real processes on real ports."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from miner_service.cli.main import app, first_token
from miner_service.http.server import bind, exclusive
from miner_service.services import open_services
from miner_service.settings import Settings, utc_now
from miner_service.store.schema import Base
from miner_service.store.sqlite import SqliteStore
from miner_service.store.tokens import find_token, rotate_admin_token
from pramana_core.audit import AUDIT
from pramana_core.errors import Conflict, OptionError, StoreCorrupt

TOKEN = re.compile(r"t-[0-9a-f]{12}\.[\w-]{43}")


@pytest.fixture
def http():
    """A client that waits for as long as a slow machine takes."""
    with httpx.Client(timeout=None) as client:
        yield client


def run(*arguments, code=0):
    """Run a command to its end in this process."""
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    if isinstance(result.exception, (Conflict, OptionError)):
        assert result.exception.exit_code == code
        return str(result.exception)
    assert result.exit_code == code, result.output
    return result.output


@pytest.mark.end_to_end
def test_it_serves_keeps_its_data_and_ends_when_told(serve, http, tmp_path):
    url, process, log = serve()
    token = TOKEN.search(log.read_text())[0]
    headers = {"Authorization": f"Bearer {token}"}
    assert http.get(f"{url}/readyz").json() == {"status": "ok"}
    made = http.post(f"{url}/v1/studies", json={"name": "asia"}, headers=headers)
    assert made.status_code == 201
    process.send_signal(signal.SIGTERM)
    assert process.wait() == 0
    assert not (tmp_path / "ready.json").exists()

    url, process, log = serve()
    assert "issued at an earlier start" in log.read_text()
    assert not TOKEN.search(log.read_text())
    listed = http.get(f"{url}/v1/studies", headers=headers).json()["items"]
    assert [s["name"] for s in listed] == ["asia"]

    renewed = TOKEN.search(run("admin-token", "--data", tmp_path / "data", "--rotate"))[0]
    assert http.get(f"{url}/v1/studies", headers=headers).status_code == 401
    headers = {"Authorization": f"Bearer {renewed}"}
    assert http.get(f"{url}/v1/studies", headers=headers).status_code == 200
    second = run("serve", "--data", tmp_path / "data", "--port", "0", code=4)
    assert "Another miner is using" in second
    assert renewed not in log.read_text()


@pytest.mark.end_to_end
def test_after_a_kill_what_was_acknowledged_is_there(killed, tmp_path, release_a):
    assert stat.S_IMODE((tmp_path / "admin").stat().st_mode) == 0o600
    assert killed.admin not in killed.log.read_text()
    owner, releases = killed.owner, "/v1/studies/asia/releases"
    path = killed(owner, "POST", releases, json=release_a.body).headers["location"]
    for number in (0, 2):
        killed.put(path, number, release_a.parts[number])
    killed.again(*killed.IDLE)
    assert killed(owner, "GET", path).json()["parts_received"] == [0, 2]
    assert [killed.put(path, number, release_a.parts[number]) for number in (0, 1)] == [200, 201]
    assert killed(owner, "POST", f"{path}/seal").json()["state"] == "sealed"


@pytest.mark.end_to_end
def test_an_invitation_names_the_address_that_is_listened_on(serve, tmp_path):
    data, folder = tmp_path / "data", tmp_path / "given"
    folder.mkdir()
    url, process, _ = serve("--workers", "0")
    run("study", "create", "asia", "--owners", "north", "--folder", folder, "--data", data)
    assert json.loads((folder / "asia-north.invitation").read_text())["miner"] == url
    process.send_signal(signal.SIGTERM)
    process.wait()
    serve("--workers", "0", "--public-url", "https://miner.example.org/p")
    run("study", "invite", "asia", "south", "--folder", folder, "--data", data)
    told = json.loads((folder / "asia-south.invitation").read_text())
    assert told["miner"] == "https://miner.example.org/p"


def test_what_is_stored_is_for_its_owner_only_from_the_start(tmp_path, monkeypatch):
    seen = []
    create = Base.metadata.create_all

    def look(engine):
        seen.append(modes(data))
        create(engine)

    data = tmp_path / "data"
    monkeypatch.setattr(Base.metadata, "create_all", look)
    before = os.umask(0)
    try:
        services = open_services(Settings(data), utc_now)
        with services.database.write() as session:
            rotate_admin_token(session, services.now())
        seen.append(modes(data))
        services.database.close()
    finally:
        os.umask(before)
    assert stat.S_IMODE(data.stat().st_mode) == 0o700
    names = ("opening.lock", "miner.sqlite", "miner.sqlite-wal", "miner.sqlite-shm")
    database = dict.fromkeys(names, 0o600)
    assert seen == [database, database]


def test_a_database_that_others_could_read_is_closed_to_them(tmp_path):
    for name in ("miner.sqlite", "miner.sqlite-wal", "miner.sqlite-shm"):
        (tmp_path / name).touch()
        (tmp_path / name).chmod(0o644)
    database = SqliteStore(tmp_path / "miner.sqlite")
    database.ping()
    assert set(modes(tmp_path).values()) == {0o600}
    database.close()


def modes(folder):
    return {p.name: stat.S_IMODE(p.stat().st_mode) for p in folder.iterdir()}


def test_it_does_not_listen_to_others_unless_told(tmp_path):
    said = run("serve", "--data", tmp_path, "--host", "0.0.0.0", code=2)
    assert "TLS" in said
    assert "--allow-remote" in said
    assert list(tmp_path.iterdir()) == []


def test_a_port_in_use_is_said(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = run("serve", "--data", tmp_path / "data", "--port", port, code=2)
    assert f"Cannot listen on 127.0.0.1 port {port}" in said
    assert "--port 0" in said
    assert not (tmp_path / "data" / "miner.sqlite").exists()


def test_a_data_directory_has_one_miner(tmp_path):
    with exclusive(tmp_path):
        (tmp_path / AUDIT).unlink()
        with pytest.raises(Conflict), exclusive(tmp_path):
            pass
        assert not (tmp_path / AUDIT).exists(), "a log that vanishes while a miner runs is missed"
    with exclusive(tmp_path):
        pass


def started(data: Path) -> list[str]:
    """Start a miner on its data up to the first request; return the actions in its audit log."""
    with exclusive(data):
        first_token(Settings(data), None)
    lines = (data / AUDIT).read_text().splitlines() if (data / AUDIT).is_file() else []
    return [json.loads(line)["action"] for line in lines]


def test_a_lost_audit_log_begins_anew_at_a_start_that_says_so(tmp_path, caplog):
    (tmp_path / "lock").touch()  # an earlier release failed to start
    assert started(tmp_path) == started(tmp_path) == ["issue_admin_token"]
    assert caplog.records == []
    (tmp_path / AUDIT).unlink()
    assert started(tmp_path) == started(tmp_path) == ["begin_audit_log"]
    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_an_audit_log_that_cannot_be_written_is_a_warning_at_the_start(tmp_path, caplog):
    started(tmp_path)
    (tmp_path / AUDIT).unlink()
    (tmp_path / AUDIT).mkdir()
    assert started(tmp_path) == []
    assert "WARNING" in [record.levelname for record in caplog.records]


def test_the_admin_token_is_shown_once(tmp_path):
    assert "no miner's data" in run("admin-token", "--data", tmp_path / "none", code=2)
    with exclusive(tmp_path):
        first_token(Settings(tmp_path), tmp_path / "token")
    first = (tmp_path / "token").read_text()
    assert TOKEN.fullmatch(first.strip())
    said = run("admin-token", "--data", tmp_path, code=4)
    assert "cannot be shown again" in said
    assert "--rotate" in said
    rotate = ("admin-token", "--data", tmp_path, "--rotate", "--admin-token-file")
    assert "exists" in run(*rotate, tmp_path / "token", code=2)
    assert (tmp_path / "token").read_text() == first, "a file was overwritten"
    run(*rotate, tmp_path / "second")
    kept = (tmp_path / "second").read_text()
    assert kept != first
    where = str(tmp_path / "token" / "below")
    arguments = ["admin-token", "--data", str(tmp_path), "--rotate", "--admin-token-file", where]
    assert CliRunner().invoke(app, arguments).exit_code != 0
    database = SqliteStore(tmp_path / "miner.sqlite")
    with database.read() as session:
        assert find_token(session, kept.strip()), "a token that was not handed over replaced one"
        assert not find_token(session, first.strip())
    database.close()
    assert (tmp_path / "audit.jsonl").read_text().count('"issue_admin_token"') == 2


def test_a_token_that_could_not_be_stored_leaves_no_file(tmp_path, monkeypatch):
    def full(*_arguments):
        raise OptionError("the disk is full")

    file = tmp_path / "token"
    with exclusive(tmp_path):
        with monkeypatch.context() as patched:
            patched.setattr("miner_service.cli.main.note", full)
            with pytest.raises(OptionError):
                first_token(Settings(tmp_path), file)
        assert not file.exists()
        first_token(Settings(tmp_path), file)
    assert TOKEN.fullmatch(file.read_text().strip())


def test_tables_that_are_not_a_miners_are_left_alone(tmp_path):
    with closing(sqlite3.connect(tmp_path / "miner.sqlite")) as connection:
        connection.execute("CREATE TABLE payroll (id INTEGER)")
    with pytest.raises(StoreCorrupt):
        SqliteStore(tmp_path / "miner.sqlite")


def test_small_answers_go_at_once(tmp_path):
    """Of a socket that is not said to be TCP asyncio does not set TCP_NODELAY: each answer on a
    connection that stays open would wait some 40 ms."""
    with (
        bind(Settings(tmp_path, port=0)) as listening,
        socket.create_connection(listening.getsockname()),
    ):
        accepted, _ = listening.accept()
        with accepted:
            assert accepted.proto == socket.IPPROTO_TCP
