"""From a masked release to the regression of the service, by a process that is killed between."""

from __future__ import annotations

import csv
import io
import time

import numpy as np
import pytest

from tests.miner_service.masking import masked

STUDY = "/v1/studies/asia"


@pytest.mark.end_to_end
def test_a_regression_is_least_squares_on_the_table_sent_whatever_is_killed(killed):
    miner, idle, owner = killed, killed.IDLE, killed.owner
    analyst = miner(miner.admin, "POST", f"{STUDY}/tokens", json={"name": "ana"}).json()["token"]
    built = masked(range(120), per_part=50)
    for _ in range(2):
        path = miner(owner, "POST", f"{STUDY}/releases", json=built.body).headers["location"]
    for number in (2, 0, 1):
        first = miner.put(path, number, built.parts[number])
        if number == 0:
            miner.again(*idle)
            assert miner(owner, "GET", path).json()["parts_received"] == [0, 2]
        assert (first, miner.put(path, number, built.parts[number])) == (201, 200)
    assert miner(owner, "POST", f"{path}/seal").json()["state"] == "sealed"
    miner.again(*idle)
    assert miner(owner, "POST", f"{path}/seal").json()["state"] == "sealed"

    spec = {"kind": "regression", "target": "debt", "features": ["age", "sex"]}
    jobs = [miner(analyst, "POST", f"{STUDY}/jobs", json={"spec": spec}) for _ in range(2)]
    miner.again()
    assert jobs[0].headers["location"] == jobs[1].headers["location"]
    while (job := miner(analyst, "GET", jobs[0].headers["location"]).json())["state"] in (
        "queued",
        "running",
    ):
        time.sleep(0.05)
    assert job["state"] == "succeeded", job

    table = miner(analyst, "GET", f"/v1/models/{job['model']}/csv").text
    rows = list(csv.DictReader(io.StringIO(table)))
    sent = built.columns
    x = np.column_stack([np.ones(120), sent["age"], sent["sex"] == 1])
    wanted = np.linalg.solve(x.T @ x, x.T @ sent["debt"])
    found = [float(row["estimate"]) for row in rows]
    np.testing.assert_allclose(found, wanted, rtol=1e-9)
