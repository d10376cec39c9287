"""A scheduler that is lost while it is asked: the job is given back, and does not fail."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from miner_service.alignment.cluster import ClusterPlace
from miner_service.settings import ClusterSettings
from pramana_core.errors import NotReady


@dataclass
class Scheduler:
    """Stands for Dask's client, whose answer has no workers once the connection is lost."""

    answer: dict[str, Any]
    closed: bool = False

    def scheduler_info(self, n_workers: int) -> dict[str, Any]:
        assert n_workers == -1
        return self.answer

    def close(self, timeout: float) -> None:
        self.closed = timeout > 0


def threads(scheduler: Scheduler) -> int:
    place = ClusterPlace(ClusterSettings(scheduler="tcp://127.0.0.1:8786"))
    place._client = scheduler
    with place._answering():
        return place._threads(scheduler, lambda: None)


def test_who_counts_is_added_up():
    assert threads(Scheduler({"workers": {"a": {"nthreads": 2}, "b": {"nthreads": 1}}})) == 3


def test_a_job_is_given_back_where_the_scheduler_is_lost_while_it_is_asked():
    lost = Scheduler({"type": "Scheduler"})
    with pytest.raises(NotReady):
        threads(lost)
    assert lost.closed
