"""What every database does, over a file of SQLite and a real PostgreSQL.

Two openings of one address stand for two processes: PostgreSQL is opened twice, while a file of
SQLite belongs to one service, whose threads share one opening.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone

import pytest
from sqlalchemy import func, select

from miner_service.store.people import create_study, find_study
from miner_service.store.releases import find_release
from miner_service.store.schema import PartRow, ReleaseRow, StudyRow, TokenRow
from pramana_core.errors import InputError, NotFound
from pramana_core.wire.privacy import StudyCreate

NOW = datetime(2026, 2, 3, 4, 5, 6, 789, UTC)


class _Left(Exception):
    """What a transaction, or a name, is left by."""


@pytest.fixture
def database(place, open_at):
    """One opening of a database."""
    return open_at(place)


@pytest.fixture
def both(place, database, open_at):
    """What two processes have of it, or two threads."""
    return (database, open_at(place)) if isinstance(place, str) else (database, database)


def add_study(database, name, title=""):
    with database.write() as session:
        create_study(session, StudyCreate(name=name, title=title), NOW)


def names(session):
    return list(session.scalars(select(StudyRow.name).order_by(StudyRow.seq)))


class TestEveryDatabase:
    """The promises of the protocol."""

    def test_what_is_committed_is_read_and_what_an_error_leaves_is_not(self, both):
        one, other = both
        add_study(one, "asia")
        with suppress(_Left), other.write() as session:
            create_study(session, StudyCreate(name="alarm"), NOW)
            raise _Left
        for database in both:
            with database.read() as session:
                assert names(session) == ["asia"]

    def test_all_that_is_stored_is_read_back_as_it_was(self, both):
        one, other = both
        add_study(one, "asia", "Hôpital 医院 \U0001f3e5 'quoted' %s :name \\")
        elsewhere = NOW.astimezone(timezone(timedelta(hours=-7)))
        with one.write() as session:
            find_study(session, "asia").max_epsilon_record = 0.1 + 0.2
            token = TokenRow(
                id="t-1", hash="", role="owner", study="asia", name="n", created=elsewhere
            )
            session.add(token)
            release = ReleaseRow(
                id="r-1",
                study="asia",
                owner="n",
                name="first",
                state="open",
                kind="randomized-records",
                content="x" * 200_000,
                content_digest="d",
                records=1 << 40,
                digest="d",
                created=NOW,
            )
            session.add(release)
            session.flush()
            part = PartRow(release="r-1", number=0, records=1, bytes=1 << 40, sha256="e")
            session.add(part)
        with other.read() as session:
            study = find_study(session, "asia")
            assert study.title == "Hôpital 医院 \U0001f3e5 'quoted' %s :name \\"
            assert study.max_epsilon_record == 0.1 + 0.2
            assert study.created == NOW
            row = session.get(PartRow, ("r-1", 0))
            assert row.bytes == find_release(session, "r-1").records == 1 << 40
            assert len(find_release(session, "r-1").content) == 200_000
            (made,) = session.scalars(select(StudyRow))
            assert made is study
            (row,) = session.scalars(select(TokenRow))
            assert (row.created, row.revoked, row.expires) == (NOW, False, None)

    def test_a_reader_sees_one_state_while_another_writes(self, both):
        one, other = both
        add_study(one, "asia")
        with one.read() as session:
            before = names(session)
            add_study(other, "alarm")
            assert names(session) == before == ["asia"]
            assert session.scalar(select(func.count()).select_from(StudyRow)) == 1
        with one.read() as session:
            assert names(session) == ["asia", "alarm"]

    def test_there_is_one_writer_at_a_time(self, both):
        """Read, think, write: without one lock for all writers, titles get lost."""
        add_study(both[0], "asia", "0")
        start = threading.Barrier(6)

        def count(number):
            start.wait()
            for _ in range(10):
                with both[number % 2].write() as session:
                    study = find_study(session, "asia")
                    study.title = str(int(study.title) + 1)

        with ThreadPoolExecutor(6) as pool:
            list(pool.map(count, range(6)))
        with both[0].read() as session:
            assert find_study(session, "asia").title == "60"

    def test_rows_are_listed_in_the_order_in_which_they_were_committed(self, both):
        """A page says how many rows were had: none may appear before them later."""
        seen = []

        def write(number):
            for step in range(8):
                add_study(both[number % 2], f"s-{number}-{step}")

        def read():
            while not done.is_set():
                with both[0].read() as session:
                    seen.append(names(session))

        done = threading.Event()
        reader = threading.Thread(target=read)
        reader.start()
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(write, range(4)))
        done.set()
        reader.join()
        with both[1].read() as session:
            everything = names(session)
        assert len(everything) == 32
        assert all(everything[: len(some)] == some for some in seen)

    def test_a_name_is_held_by_one_and_others_do_not_wait(self, both):
        inside, most = 0, 0
        lock = threading.Lock()
        free = threading.Event()

        def hold(number):
            nonlocal inside, most
            for _ in range(3):
                with both[number % 2].exclusive("closing r-1"):
                    with lock:
                        inside += 1
                        most = max(most, inside)
                    with lock:
                        inside -= 1

        with both[0].exclusive("closing r-2"), ThreadPoolExecutor(4) as pool:
            list(pool.map(hold, range(4)))  # nobody waits for the other name
        assert (most, inside) == (1, 0)

        def wait():
            with both[1].exclusive("closing r-3"):
                free.set()

        waiting = threading.Thread(target=wait)
        with suppress(_Left), both[0].exclusive("closing r-3"):
            waiting.start()
            assert not free.wait(0.1)
            raise _Left
        waiting.join()
        assert free.is_set()

    def test_a_text_with_a_nul_is_refused_or_found_nowhere(self, database):
        with pytest.raises((InputError, NotFound)), database.read() as session:
            find_study(session, "as\0ia")
        database.ping()
