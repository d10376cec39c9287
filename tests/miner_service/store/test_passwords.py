"""The password of a PostgreSQL, whatever characters it has: it opens, and is nowhere to be read."""

from __future__ import annotations

import json
import os
import time
from contextlib import ExitStack

import psutil
import pytest

from miner_service.settings import Settings, StorageSettings
from miner_service.store.postgres import parse_address, read_password, shown
from miner_service.store.sqlite import open_database
from owner_agent.site.table_source import TableSource
from owner_agent.table.database import database_columns
from pramana_core.errors import NotReady, OptionError, TableError
from tests.forked import Forked
from tests.postgres import running_postgres

PASSWORD = "zQ@4/xV#9:kW%7?jY pL&'8"


def pieces(password=PASSWORD):
    """Every piece of a password that would help to guess it."""
    return {password[i : i + 4] for i in range(len(password) - 3)}


def assert_told_nothing(*texts):
    for text in texts:
        assert not [piece for piece in pieces() if piece in text], text


def change_password(connection, password):
    secret = connection.execute("SELECT quote_literal(%s)", [password]).fetchone()[0]
    connection.execute(f"ALTER ROLE miner PASSWORD {secret}")


@pytest.fixture(scope="module")
def guarded():
    """A server that asks its user for a password."""
    with ExitStack() as stack:
        server = stack.enter_context(running_postgres("fsync=off"))
        with server.connect() as connection:
            connection.execute("CREATE ROLE miner LOGIN CREATEDB")
            change_password(connection, PASSWORD)
            connection.execute("CREATE DATABASE miner OWNER miner")
            rules = server.folder / "data" / "pg_hba.conf"
            asked = "host all miner 127.0.0.1/32 scram-sha-256\n"
            rules.write_text(asked + rules.read_text())
            connection.execute("SELECT pg_reload_conf()")
        yield server


@pytest.fixture
def address(guarded):
    return f"postgresql://miner@127.0.0.1:{guarded.port}/miner"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "password"
    path.write_text(PASSWORD + "\n")
    return path


def refused(settings):
    with pytest.raises(NotReady) as told:
        open_database(settings)
    return str(told.value)


def test_a_password_of_any_characters_opens_and_a_wrong_one_does_not(
    address, file, tmp_path, caplog, monkeypatch
):
    def settings(**more):
        return Settings(tmp_path, storage=StorageSettings(database=address, **more))

    open_database(settings(database_password_file=file)).close()
    # In the address it is written in percent signs; what a file says holds before it.
    wrong = address.replace("miner@", "miner:other@")
    storage = StorageSettings(database=wrong, database_password_file=file)
    open_database(Settings(tmp_path, storage=storage)).close()
    without = refused(settings())
    file.write_text(PASSWORD[::-1])
    reversed_ = refused(settings(database_password_file=file))
    assert "password" in without
    assert_told_nothing(without, reversed_, caplog.text)
    # libpq's own file goes on working.
    own = tmp_path / "pgpass"
    own.touch(mode=0o600)
    own.write_text("*:*:*:miner:" + PASSWORD.replace("\\", "\\\\").replace(":", "\\:") + "\n")
    monkeypatch.setenv("PGPASSFILE", str(own))
    open_database(settings()).close()


def test_a_changed_password_is_read_from_its_file_at_the_next_start(
    guarded, address, file, tmp_path, monkeypatch
):
    """The miner reads its own file, and an owner's agent libpq's for its table."""
    own, table = tmp_path / "pgpass", TableSource(tmp_path, database=address, query="pg_am")
    own.touch(mode=0o600)
    own.write_text(f"*:*:*:miner:{PASSWORD[:4]}\n")
    monkeypatch.setenv("PGPASSFILE", str(own))
    settings = Settings(
        tmp_path, storage=StorageSettings(database=address, database_password_file=file)
    )
    with guarded.connect() as connection:
        change_password(connection, "another")
        try:
            refused(settings)
            with pytest.raises(TableError):
                database_columns(table)
            file.write_text("another\n")
            own.write_text("*:*:*:miner:another\n")
            open_database(settings).close()
            assert "amname" in database_columns(table)
        finally:
            change_password(connection, PASSWORD)


@pytest.mark.parametrize("text", ["", "\n", None])
def test_a_file_without_a_password_is_refused(tmp_path, text):
    path = tmp_path / "password"
    if text is not None:
        path.write_text(text)
    with pytest.raises(OptionError):
        read_password(path)


@pytest.mark.parametrize("form", ["zQ4@xV9kW", "@zQ4xV9kW", "zQ4xV9kW@", "12@34xV", "zQ@x:V9"])
def test_an_address_that_its_password_breaks_is_refused_and_shows_nothing(form):
    address = f"postgresql://miner:{form}@db.example.org/miner"
    with pytest.raises(OptionError) as told:
        parse_address(address)
    assert not [piece for piece in pieces(form) if piece in str(told.value)]
    assert "PRAMANA_DATABASE_PASSWORD_FILE" in str(told.value)


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("postgresql://miner@db.example.org/miner", "postgresql://db.example.org/miner"),
        ("postgresql://u:p%40ss%2F@[::1]:5433/x?sslmode=require", "postgresql://::1:5433/x"),
        ("postgres:///x?host=/run/postgresql", "postgresql:///x"),
        ("postgresql://u:a:b%25@h/x", "postgresql://h/x"),
        ("postgresql://u@h/my%20db", "postgresql://h/my db"),
        ("postgresql://u%40org@%2Frun%2Fpg/x", "postgresql:///run/pg/x"),
        ("postgresql://u@h1,h2:5433/x", "postgresql://h1,h2:5433/x"),
        ("postgresql://u@/x?host=h1:1&host=h2:2", "postgresql:///x"),
    ],
)
def test_control_addresses_without_doubt_are_taken(address, told):
    assert shown(parse_address(address)) == told


@pytest.mark.parametrize("address", ["mysql://u@h/x", "zQ4xV9kW", "postgresql://h:zQ4xV9kW/x"])
def test_an_address_that_is_none_is_refused_and_not_shown(address):
    with pytest.raises(OptionError) as told:
        parse_address(address)
    assert "zQ4x" not in str(told.value)


@pytest.mark.end_to_end
def test_no_piece_of_a_password_is_in_a_log_or_the_list_of_processes(address, file, tmp_path):
    environment = {
        **os.environ,
        "PRAMANA_DATABASE": address,
        "PRAMANA_DATABASE_PASSWORD_FILE": str(file),
    }
    ready, log = tmp_path / "ready.json", tmp_path / "log"
    words = ["serve", "--port", "0", "--workers", "1", "--data", str(tmp_path / "data")]
    words += ["--ready-file", str(ready)]
    service = Forked("miner_service", *words, env=environment, out=log)
    try:
        while not ready.exists():
            assert service.poll() is None, log.read_text()
            time.sleep(0.05)
        assert json.loads(ready.read_text())["pid"] == service.pid
        here = psutil.Process(service.pid)
        processes = [here, *here.children(recursive=True)]
        assert_told_nothing(*(" ".join(process.cmdline()) for process in processes))
    finally:
        service.terminate()
        service.wait()
    assert_told_nothing(log.read_text())
