"""Readiness says which dependency is away, waits for none that stands still, and comes back."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from miner_service.http.access.deps import Probes
from miner_service.settings import StorageSettings
from pramana_core.errors import NotReady, StorageFull
from tests.postgres import postgres, stopped_postgres

__all__ = ["postgres", "stopped_postgres"]


def well():
    """A dependency that is there."""


def test_what_is_there_is_ready():
    asyncio.run(Probes().require({"database": well, "files": well}))


def test_all_that_is_away_is_named_and_what_is_unforeseen_is_not_told():
    def full():
        raise StorageFull("There is no room.")

    def odd():
        raise ValueError("secret")

    with pytest.raises(NotReady) as told:
        asyncio.run(Probes().require({"database": odd, "files": full, "jobs": well}))
    assert told.value.where == "database, files"
    assert told.value.message == "database: it cannot be used. files: There is no room."


def test_what_stands_still_is_away_and_is_asked_once_until_it_answers():
    go_on, asked = threading.Event(), []

    def stands_still():
        asked.append(threading.current_thread())
        go_on.wait()

    async def ask_twice():
        for _ in range(2):
            with pytest.raises(NotReady, match=r"files: no answer within 0\.02 seconds") as told:
                await Probes.require(probes, {"database": well, "files": stands_still})
            assert told.value.where == "files"

    probes = Probes(0.02)
    asyncio.run(ask_twice())
    (thread,) = asked
    go_on.set()
    thread.join()
    probes = Probes()
    asyncio.run(probes.require({"files": stands_still}))


@pytest.mark.end_to_end
def test_a_postgresql_that_is_killed_and_started_again_is_missed_and_found(
    start, stopped_postgres, monkeypatch
):
    """Nothing that was acknowledged is lost, and nobody has to start the service again."""
    monkeypatch.setattr("miner_service.http.access.shares._PATIENCE", 1.0)  # of fifty who wait
    miner = start(storage=StorageSettings(database=stopped_postgres.url()))

    def status(path="/readyz"):
        return miner.nobody("GET", path).status_code

    def create(name):
        return miner.admin("POST", "/v1/studies", json={"name": name}).status_code

    assert (status(), create("before")) == (200, 201)
    stopped_postgres.kill()
    missed = miner.nobody("GET", "/readyz")
    assert (missed.status_code, missed.json()["where"]) == (503, "database"), missed.text
    assert "not-shown" not in missed.text
    assert (create("during"), status("/healthz")) == (503, 200)
    stopped_postgres.start()
    while status() != 200:
        pass
    assert create("after") == 201
    names = [study["name"] for study in miner.admin.get("/v1/studies")["items"]]
    assert names == ["before", "after"]

    # One that stands still holds up whoever asks it, but not the word that it does.
    stopped_postgres.freeze()
    with ThreadPoolExecutor(50) as pool:
        waiting = [pool.submit(miner.admin, "GET", "/v1/studies") for _ in range(50)]
        assert (status(), status("/healthz")) == (503, 200)
        # Also those who never came to ask it.
        assert {answer.result().status_code for answer in waiting} == {503}
        stopped_postgres.thaw()
    while status() != 200:
        pass
