"""Changes that are committed together: each as if it were alone, on either database."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError

from miner_service.store.people import GroupedCommits
from miner_service.store.schema import StudyRow
from pramana_core.errors import Conflict, StorageFull

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


class Held:
    """A database whose commits are counted, and of which the first waits until it may begin."""

    def __init__(self, database):
        self.database = database
        self.may_begin = threading.Event()
        self.commits = 0
        self.fails_with = None

    @contextmanager
    def write(self):
        self.may_begin.wait()
        with self.database.write() as session:
            yield session
            session.flush()
            if self.fails_with is not None:
                raise self.fails_with
        self.commits += 1

    def names(self):
        with self.database.read() as session:
            return list(session.scalars(select(StudyRow.name).order_by(StudyRow.seq)))


@pytest.fixture
def held(place, open_at):
    return Held(open_at(place))


def study(name):
    def change(session):
        session.add(StudyRow(name=name, title="", created=NOW))
        session.flush()
        return name

    return change


def refuse(_session):
    raise Conflict("no", remedy="")


def gathered(held, *changes):
    """Ask for changes while another is about to be committed: they make one transaction."""
    together = GroupedCommits(held)
    first = together.submit(study("first"))
    futures = [together.submit(change) for change in changes]
    assert not any(future.done() for future in [first, *futures])
    held.may_begin.set()
    assert first.result() == "first"
    return futures


def test_what_arrives_together_is_committed_once_and_in_order(held):
    futures = gathered(held, *(study(f"s{i}") for i in range(5)))
    assert [future.result() for future in futures] == [f"s{i}" for i in range(5)]
    assert held.names() == ["first", "s0", "s1", "s2", "s3", "s4"]
    assert held.commits <= 2  # the first may have been taken with the others


def test_what_is_refused_is_refused_alone(held):
    good, bad, other = gathered(held, study("a"), refuse, study("b"))
    with pytest.raises(Conflict):
        bad.result()
    assert (good.result(), other.result()) == ("a", "b")
    assert held.names() == ["first", "a", "b"]


def test_what_the_database_refuses_is_refused_alone(held):
    good, twice, other = gathered(held, study("a"), study("a"), study("b"))
    with pytest.raises(IntegrityError):
        twice.result()
    assert (good.result(), other.result()) == ("a", "b")
    assert held.names() == ["first", "a", "b"]


def test_a_commit_without_room_acknowledges_nothing_and_the_next_goes_on(held):
    together = GroupedCommits(held)
    held.fails_with = StorageFull("full", remedy="")
    futures = [together.submit(study(name)) for name in ("a", "b", "c")]
    held.may_begin.set()
    for future in futures:
        with pytest.raises(StorageFull):
            future.result()
    assert (held.names(), held.commits) == ([], 0)
    held.fails_with = None
    assert together.submit(study("a")).result() == "a"
    assert held.names() == ["a"]


def test_nothing_is_acknowledged_before_it_is_committed(held):
    seen = []
    together = GroupedCommits(held)
    future = together.submit(lambda session: seen.append((future.done(), held.commits)))
    held.may_begin.set()
    future.result()
    assert (seen, held.commits) == ([(False, 0)], 1)


def test_a_change_is_made_also_if_who_asked_for_it_went_away(held):
    together = GroupedCommits(held)
    future = together.submit(study("a"))
    assert not future.cancel()
    held.may_begin.set()
    assert future.result() == "a"
    assert held.names() == ["a"]
