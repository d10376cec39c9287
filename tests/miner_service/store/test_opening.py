"""Opening a database waits for whoever is opening it, however slow that is.

Patience that a clock measures is taken from those who wait: what they rely on is that they wait.
"""

from __future__ import annotations

import threading

import pytest

from miner_service.store import database as tables
from miner_service.store import postgres
from miner_service.store.postgres import PostgresStore
from tests.waiting_processes import one_is_held_while_others_start

OPEN = """
from miner_service.settings import Settings
from miner_service.store import sqlite
from miner_service.store import database as tables
from miner_service.store.sqlite import open_database
"""
IMPATIENT = """
import sqlite3
connect = sqlite3.connect
sqlite3.connect = lambda *args, **options: connect(*args, **{**options, "timeout": 0})
sqlite._PRAGMAS = [p for p in sqlite._PRAGMAS if "busy_timeout" not in p]
"""
READ = """
from sqlalchemy import text
database = open_database(Settings(folder))
with database.read() as session:
    assert session.scalar(text("SELECT version_num FROM alembic_version")) == tables.HEAD
database.close()
"""


@pytest.mark.end_to_end
def test_processes_that_open_an_empty_file_wait_for_the_one_that_makes_the_tables(tmp_path):
    making = """
make = tables.Base.metadata.create_all
tables.Base.metadata.create_all = lambda connection: (make(connection), hold())
"""
    other = OPEN + IMPATIENT + READ
    one_is_held_while_others_start(tmp_path, OPEN + making + READ, other)


def test_a_service_on_postgresql_waits_for_the_one_that_upgrades(postgres_place, monkeypatch):
    """Its own patience with a lock is at an end at once."""
    inside, go_on, waits = threading.Event(), threading.Event(), threading.Event()
    make = tables.Base.metadata.create_all

    def slowly(connection):
        make(connection)
        inside.set()
        go_on.wait()

    monkeypatch.setattr(tables.Base.metadata, "create_all", slowly)
    monkeypatch.setattr(postgres.time, "sleep", lambda _: waits.set())
    failed = []

    def open_one(address):
        try:
            PostgresStore(address).close()
        except Exception as error:  # noqa: BLE001 the test tells
            failed.append(error)
            waits.set()

    first = threading.Thread(target=open_one, args=(postgres_place,))
    first.start()
    inside.wait()
    impatient = f"{postgres_place}&options=-c%20lock_timeout%3D1ms"
    other = threading.Thread(target=open_one, args=(impatient,))
    other.start()
    waits.wait()
    go_on.set()
    for thread in (first, other):
        thread.join()
    assert failed == []


@pytest.fixture
def postgres_place(postgres):
    return postgres.url()
