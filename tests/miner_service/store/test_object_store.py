"""A service whose records are in an object store, which goes away and comes back."""

from __future__ import annotations

import pytest

from miner_service.settings import StorageSettings
from pramana_core.errors import NotReady
from tests.miner_service.store.object_store import KEYS, asked_once, object_store, one_object_store

__all__ = ["asked_once", "object_store", "one_object_store"]


@pytest.mark.slow
@pytest.mark.usefixtures("asked_once")
def test_what_was_acknowledged_is_there_after_the_object_store_was_away(
    start, object_store, release_a, assert_problem, caplog
):
    storage = StorageSettings(files=object_store.bucket())
    miner = start(storage=storage)
    analyst = miner.study("asia")
    owner = miner.owner("asia", "north")
    path = owner.announce("asia", release_a)
    assert owner.put(path, 0, release_a.parts[0]).status_code == 201
    assert miner.nobody("GET", "/readyz").status_code == 200
    object_store.stop()
    before = miner.snapshot()
    assert_problem(miner.nobody("GET", "/readyz"), 503, "not-ready", "object store")
    assert_problem(owner.put(path, 1, release_a.parts[1]), 503, "not-ready", "object store")
    assert miner.snapshot() == before
    with pytest.raises(NotReady):  # none starts meanwhile
        start(storage=storage)
    object_store.start()
    assert miner.nobody("GET", "/readyz").status_code == 200
    for number in (1, 2):
        assert owner.put(path, number, release_a.parts[number]).status_code == 201
    assert owner("POST", f"{path}/seal").json()["state"] == "sealed"
    spec = {"kind": "contingency-table", "variables": ["A", "B"]}
    job = analyst("POST", "/v1/studies/asia/jobs", json={"spec": spec})
    assert analyst.wait(job.headers["location"])["state"] == "succeeded"
    assert not any(value in caplog.text for value in KEYS.values())
    # Withdrawn, its records are nowhere.
    assert owner("POST", f"{path}/withdraw").status_code == 200
    assert list((miner.data / "cache").iterdir()) == []
    assert miner.services.segments.orphans(dict) == []
