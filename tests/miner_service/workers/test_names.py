"""The names of supervisors, and when a worker is ended because its lease was not renewed."""

from __future__ import annotations

from contextlib import ExitStack, closing

import pytest

from miner_service.jobs.process import departed, named
from miner_service.jobs.supervisor import Supervisor
from miner_service.jobs.worker import Run
from miner_service.settings import JobSettings, Settings
from miner_service.store.queue import Lease
from miner_service.store.sqlite import SqliteStore
from pramana_core.errors import NotReady, StorageFull


def test_a_supervisor_has_the_name_of_its_former_life_and_nobody_elses(tmp_path):
    with named(tmp_path) as first, named(tmp_path) as second:
        assert first != second
    with named(tmp_path) as again:
        assert again == first


def test_the_names_of_supervisors_that_ended_are_held_while_they_are_looked_at(tmp_path):
    with ExitStack() as ended:
        first, second = (ended.enter_context(named(tmp_path)) for _ in range(2))
        with departed(tmp_path) as gone:
            assert gone == []
    with named(tmp_path) as again:
        with departed(tmp_path) as gone, named(tmp_path) as third:
            assert (again, gone) == (first, [second])
            assert third not in (first, second)
        with named(tmp_path) as free:
            assert free == second


class Watched:
    """A worker whose supervisor may end it."""

    killed, memory = False, 0

    def __init__(self) -> None:
        self.run = Run(Lease("j-1", 1, "one"))
        self.why = "not at all"

    def kill(self, why):
        self.killed, self.why = True, why


@pytest.mark.parametrize(
    ("missed", "why"),
    [
        (None, None),
        (NotReady("Away."), "its lease could not be renewed."),
        (StorageFull("Full."), "not at all"),
    ],
    ids=["late", "away", "full"],
)
def test_a_run_counts_whose_supervisor_came_too_late_unless_the_store_was_away(
    tmp_path, missed, why
):
    """Without a reason of the supervisor's own the run counts as one that was broken off."""
    settings = Settings(tmp_path, jobs=JobSettings(lease_seconds=60))
    with closing(SqliteStore(tmp_path / "miner.sqlite")) as database:
        supervisor = Supervisor(settings, database, "one")
        worker = Watched()
        supervisor._look_at(worker)
        assert not worker.killed
        supervisor._records.renewed -= 41
        if missed is not None:
            supervisor._records.missed(missed)
        supervisor._look_at(worker)
        assert worker.why == why
        supervisor.ask_to_stop()
        supervisor.run()
