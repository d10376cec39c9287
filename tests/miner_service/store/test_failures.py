"""Databases that are full, away, or named wrongly: what is told, what is left, and no password."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from datetime import UTC, datetime

import pytest
from sqlalchemy import event, text

from miner_service.store.people import create_study, find_study
from miner_service.store.schema import StudyRow
from pramana_core.errors import NotReady, StorageFull, StoreCorrupt
from pramana_core.wire.privacy import StudyCreate

NOW = datetime(2026, 2, 3, tzinfo=UTC)
PASSWORD = "not-shown"


def add_study(database, name, title=""):
    with database.write() as session:
        create_study(session, StudyCreate(name=name, title=title), NOW)


def add_many(database):
    for number in range(2000):
        add_study(database, f"s{number}", "x" * 500)


def change_much(database):
    with database.write() as session:
        find_study(session, "before").title = "changed"
        for number in range(2000):
            create_study(session, StudyCreate(name=f"t{number}", title="x" * 500), NOW)


def add_while(database, happen):
    with database.write() as session:
        create_study(session, StudyCreate(name="during"), NOW)
        happen()
        create_study(session, StudyCreate(name="during-too"), NOW)


def count(database):
    with database.read() as session:
        return session.query(StudyRow).count()


@pytest.fixture
def full(place):
    """Take the room of an open database away; return what gives it back.

    SQLite gets no further page. PostgreSQL's disk cannot be filled for one of its databases, so a
    trigger raises what the server raises then.
    """

    def fill(database):
        with database.write() as session:
            connection = session.connection()
            if isinstance(place, str):
                connection.execute(text(
                    "CREATE FUNCTION full_disk() RETURNS trigger AS $$ BEGIN RAISE EXCEPTION"
                    " 'could not extend file' USING ERRCODE = 'disk_full'; END $$ LANGUAGE plpgsql"
                ))  # fmt: skip
                connection.execute(text(
                    "CREATE TRIGGER full_disk BEFORE INSERT ON studies"
                    " FOR EACH ROW EXECUTE FUNCTION full_disk()"
                ))  # fmt: skip
        if not isinstance(place, str):
            database.close()  # what follows is for the next connection
            with closing(sqlite3.connect(place)) as connection:
                (used,) = connection.execute("PRAGMA page_count").fetchone()
            event_of(database, f"PRAGMA max_page_count={used}")

    def free(database):
        if isinstance(place, str):
            with database.write() as session:
                session.execute(text("DROP TRIGGER full_disk ON studies"))
        else:
            database.close()
            event_of(database, "PRAGMA max_page_count=1000000")

    return fill, free


def event_of(database, pragma):
    """Run a pragma on every connection from now on."""
    event.listen(
        database._engine, "connect", lambda connection, _: connection.execute(pragma).close()
    )


def test_a_full_database_is_told_changes_nothing_and_goes_on_when_there_is_room(
    place, open_at, full
):
    fill, free = full
    database = open_at(place)
    add_study(database, "before")
    fill(database)
    with pytest.raises(StorageFull):
        add_many(database)
    kept = count(database)
    with pytest.raises(StorageFull):
        change_much(database)
    assert count(database) == kept
    with database.read() as session:
        assert find_study(session, "before").title == ""
    free(database)
    add_study(database, "after")
    assert count(database) == kept + 1


def test_a_damaged_file_is_told(tmp_path, open_at):
    add_study(open_at(tmp_path / "a"), "asia")
    (tmp_path / "b").write_bytes(b"nothing of a database" * 400)
    with pytest.raises(StoreCorrupt):
        open_at(tmp_path / "b")


def test_a_command_that_keeps_the_write_lock_too_long_is_not_waited_for(tmp_path, open_at):
    database = open_at(tmp_path / "a")
    event_of(database, "PRAGMA busy_timeout=10")
    with sqlite3.connect(tmp_path / "a", isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        database.close()
        with pytest.raises(NotReady):
            add_study(database, "asia")
        other.execute("ROLLBACK")
    other.close()
    add_study(database, "asia")


@pytest.mark.end_to_end
def test_a_server_that_is_killed_leaves_nothing_half_done_and_is_found_again(
    stopped_postgres, open_at
):
    place = stopped_postgres.url()
    database, other = open_at(place), open_at(place)
    add_study(database, "before")
    with pytest.raises(NotReady):
        add_while(database, stopped_postgres.kill)
    for each in (database, other):
        with pytest.raises(NotReady):
            each.ping()
    with pytest.raises(NotReady), database.exclusive("closing r-1"):
        pass
    stopped_postgres.start()
    for each in (database, other):
        each.ping()
        assert count(each) == 1
    add_study(other, "after")
    assert count(database) == 2


@pytest.mark.end_to_end
def test_a_name_is_free_again_when_its_holder_lost_the_server(stopped_postgres, open_at):
    place = stopped_postgres.url()
    database, other = open_at(place), open_at(place)
    entered = threading.Event()

    def enter():
        with other.exclusive("closing r-1"):
            entered.set()

    with database.exclusive("closing r-1"):
        stopped_postgres.kill()
        stopped_postgres.start()
        thread = threading.Thread(target=enter)
        thread.start()
        thread.join()
        assert entered.is_set()
