"""Whose turn a queued job is, how many may wait, and what becomes of runs nobody has any more."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from pydantic import TypeAdapter
from sqlalchemy import select

from miner_service.store.jobs import create_job
from miner_service.store.people import create_study
from miner_service.store.queue import break_off, claim_next, finish, give_back, leased, take_back
from miner_service.store.schema import JobRow
from pramana_core.errors import LimitExceeded
from pramana_core.wire.jobs import JobSpec
from pramana_core.wire.privacy import StudyCreate
from pramana_core.wire.services import ProblemDetail

NOW = datetime(2026, 11, 23, tzinfo=UTC)
SPEC = TypeAdapter(JobSpec).validate_python(
    {"kind": "bayes-net-parameters", "structure": {"A": []}}
)


class Queue:
    """The jobs of some studies, called by their keys, and a clock that a test puts forward."""

    def __init__(self, database, studies=("a", "b", "c")) -> None:
        self.database = database
        self.now = NOW
        with database.write() as session:
            for name in studies:
                create_study(session, StudyCreate(name=name, title=""), NOW)

    def put(self, study, key, most=100):
        with self.database.write() as session:
            create_job(
                session,
                study=study,
                key=key,
                default_key=False,
                name=key,
                spec=SPEC,
                releases=[],
                most_queued=most,
                now=self.now,
            )

    def take(self, holder="one"):
        """Begin the job whose turn it is; return its key."""
        self.now += timedelta(seconds=1)
        with self.database.write() as session:
            lease = claim_next(session, holder, self.now)
            return None if lease is None else leased(session, lease).key

    def each(self, act, key=None):
        """Do something with the running job of a key, or with all."""
        with self.database.write() as session:
            for row in session.query(JobRow).filter(JobRow.state == "running"):
                if key in (None, row.key):
                    act(session, row)

    def end(self, key=None):
        self.each(lambda session, row: finish(session, row, "succeeded", self.now), key)

    def states(self):

        with self.database.read() as session:
            return {r.key: (r.state, r.attempt, r.broken_off) for r in session.query(JobRow)}

    def order(self):
        """Run all jobs one after the other; return their keys in the order of their turns."""
        found = []
        while (key := self.take()) is not None:
            found.append(key)
            self.end()
        return found


@pytest.fixture
def queue(place, open_at):
    return Queue(open_at(place))


def test_studies_take_turns(queue):
    for number in range(4):
        queue.put("a", f"a{number}")
    for study in ("b", "c"):
        for number in range(2):
            queue.put(study, f"{study}{number}")
    assert queue.order() == ["a0", "b0", "c0", "a1", "b1", "c1", "a2", "a3"]


def test_the_study_with_the_fewest_running_jobs_comes_first(queue):
    for number in range(3):
        queue.put("a", f"a{number}")
    assert queue.take() == "a0"
    queue.put("b", "b0")
    assert [queue.take() for _ in range(3)] == ["b0", "a1", "a2"]


def test_a_study_queues_so_many_jobs_and_no_more(queue):
    queue.put("a", "a0", most=2)
    queue.put("a", "a1", most=2)
    with pytest.raises(LimitExceeded):
        queue.put("a", "a2", most=2)
    queue.put("b", "b0", most=2)
    queue.put("a", "a1", most=2)  # it is there: nothing is added
    assert queue.take() == "a0"
    queue.put("a", "a2", most=2)


def test_what_a_dead_supervisor_ran_is_taken_back_and_nothing_else(queue):
    queue.put("a", "mine")
    queue.put("b", "another's")
    assert (queue.take(holder="one"), queue.take(holder="two")) == ("mine", "another's")
    with queue.database.write() as session:
        take_back(session, "one", queue.now)
    assert queue.states() == {"mine": ("queued", 2, 1), "another's": ("running", 1, 0)}


def test_a_job_is_given_up_after_three_runs_in_a_row_that_were_broken_off(queue):
    """A run that was given back was nobody's fault: the count begins anew."""
    queue.put("a", "job")
    told = []

    def broken(session, row):
        break_off(session, row, "its worker ended with status -9.", queue.now)

    def returned(session, row):
        give_back(session, row, "its supervisor stopped.", queue.now)

    for act in (broken, broken, returned, broken, broken, broken):
        assert queue.take() == "job"
        queue.each(act)
        told.append(queue.states()["job"][::2])
    assert told == [
        ("queued", 1),
        ("queued", 2),
        ("queued", 0),
        ("queued", 1),
        ("queued", 2),
        ("failed", 3),
    ]
    with queue.database.read() as session:
        (problem,) = session.scalars(select(JobRow.problem))
    assert ProblemDetail.model_validate_json(problem).code == "worker-lost"
    assert queue.take() is None
