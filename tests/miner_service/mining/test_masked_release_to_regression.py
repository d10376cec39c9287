"""From a masked release to the regression of the service, by a process that is killed between."""

from __future__ import annotations

import csv
import io
import time
from typing import Any

import httpx
import numpy as np
import pytest

from pramana_core.wire.parts import PART_MEDIA_TYPE, content_digest
from tests.miner_service.masking import masked

STUDY = "/v1/studies/asia"


class Killed:
    """A miner that can be killed and started again on the same data."""

    def __init__(self, serve: Any, client: httpx.Client, *options: str) -> None:
        self.serve, self.client = serve, client
        self.url, self.process, _ = serve(*options)

    def again(self, *options: str) -> None:
        self.process.kill()
        self.process.wait()
        self.url, self.process, _ = self.serve(*options)

    def __call__(self, token: str, method: str, path: str, **options: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {token}", **options.pop("headers", {})}
        return self.client.request(method, f"{self.url}{path}", headers=headers, **options)


@pytest.fixture
def client():
    with httpx.Client(timeout=None) as opened:
        yield opened


@pytest.mark.end_to_end
def test_a_regression_is_least_squares_on_the_table_sent_whatever_is_killed(
    serve, client, tmp_path
):
    idle = ("--workers", "0")
    miner = Killed(serve, client, *idle, "--admin-token-file", str(tmp_path / "token"))
    admin = (tmp_path / "token").read_text().strip()
    miner(admin, "POST", "/v1/studies", json={"name": "asia"})
    analyst = miner(admin, "POST", f"{STUDY}/tokens", json={"name": "ana"}).json()["token"]
    secret = miner(admin, "POST", f"{STUDY}/invitations", json={"owner": "north"}).json()["secret"]
    accepted = client.post(f"{miner.url}/v1/invitations/accept", json={"secret": secret})
    owner = accepted.json()["token"]

    built = masked(range(120), per_part=50)
    for _ in range(2):
        path = miner(owner, "POST", f"{STUDY}/releases", json=built.body).headers["location"]
    for number in (2, 0, 1):
        part = built.parts[number]
        headers = {"Content-Type": PART_MEDIA_TYPE, "Content-Digest": content_digest(part)}
        put = f"{path}/parts/{number}"
        first = miner(owner, "PUT", put, content=part, headers=headers)
        if number == 0:
            miner.again(*idle)
        again = miner(owner, "PUT", put, content=part, headers=headers)
        assert (first.status_code, again.status_code) == (201, 200)
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
