"""Readiness says which dependency is away, waits for none that stands still, and comes back."""

from __future__ import annotations

import asyncio
import logging
import threading
import time

import pytest

from miner_service.http.access.pools import Pool
from miner_service.http.endpoints.health import require_all
from miner_service.settings import StorageSettings
from pramana_core.errors import NotReady, StorageFull
from tests.postgres import postgres, stopped_postgres

__all__ = ["postgres", "stopped_postgres"]


def well():
    """A dependency that is there."""


def require(checks, seconds=4.0):
    pool = Pool("probing", 4)
    try:
        asyncio.run(require_all(checks, pool, seconds))
    finally:
        pool.close()


def test_what_is_there_is_ready():
    require({"database": well, "files": well})


def test_all_that_is_away_is_named_and_what_is_unforeseen_is_not_told():
    go_on = threading.Event()

    def full():
        raise StorageFull("There is no room.")

    def odd():
        raise ValueError("secret")

    checks = {"database": odd, "files": full, "jobs": well, "scheduler": go_on.wait}
    with pytest.raises(NotReady) as told:
        require(checks, 0.02)
    go_on.set()
    assert told.value.where == "database, files, scheduler"
    assert "secret" not in told.value.message


@pytest.mark.end_to_end
def test_a_postgresql_that_is_killed_and_started_again_is_missed_and_found(
    start, stopped_postgres, caplog
):
    """Nothing that was acknowledged is lost, and nobody has to start the service again."""
    caplog.set_level(logging.INFO, "miner_service")
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
        time.sleep(0.05)
    assert create("after") == 201

    def outage():
        name = "miner_service.store.database"
        return [record for record in caplog.records if record.name == name]

    while len(outage()) < 2:
        status()
    assert [record.levelname for record in outage()] == ["ERROR", "WARNING"], "one of each"
    assert "refused" in outage()[0].reason
    assert "not-shown" not in f"{vars(outage()[0])}"
    names = [study["name"] for study in miner.admin.get("/v1/studies")["items"]]
    assert names == ["before", "after"]
