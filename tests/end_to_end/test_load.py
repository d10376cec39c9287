"""Many clients at once, in a process of its own: what does not depend on how fast the machine is.

`make load` prints the figures that do.
"""

from __future__ import annotations

import json
import threading

import httpx
import pytest

from benchmarks.load import Served, announce, cut, open_bodies, own_memory, upload
from tests.forked import Forked

MEBIBYTE = 1 << 20
MOST_MEMORY = 400 * MEBIBYTE


@pytest.fixture(scope="module")
def served(tmp_path_factory, until):
    folder = tmp_path_factory.mktemp("load")
    ready, token, log = folder / "ready.json", folder / "admin", folder / "log"
    words = ["--data", str(folder / "data"), "--admin-token-file", str(token), "--port", "0"]
    words += ["--ready-file", str(ready), "--workers", "0"]
    process = Forked("miner_service", "serve", *words, out=log)
    try:
        until(ready.exists, process, said=log.read_text)
        said = json.loads(ready.read_text())
        yield Served(said["url"], process.pid, token.read_text().strip())
    finally:
        process.terminate()
        process.wait()


@pytest.mark.end_to_end
def test_bodies_that_are_held_open_hold_no_memory(served):
    """100 clients, each with most of a body sent; others are served meanwhile."""
    plan, bodies, records = cut(4, 2 * MEBIBYTE)
    targets = announce(served, 25, plan, bodies, records)
    with open_bodies(served, targets, bodies[0], each=4, share=0.9):
        assert httpx.get(f"{served.url}/healthz", timeout=60).status_code == 200
        answer = httpx.put(
            f"{served.url}{targets[0].path}/parts/0",
            content=bodies[0],
            headers={
                **targets[0].headers,
                "Content-Type": "application/vnd.apache.arrow.stream",
            },
            timeout=60,
        )
        assert answer.status_code in (429, 201)  # 201: the four may have been given up
        assert own_memory(served.pid) < MOST_MEMORY


@pytest.mark.end_to_end
def test_large_bodies_to_an_open_address_hold_nothing(served):
    body = bytes(8_400_000)
    before = own_memory(served.pid)

    def send():
        with httpx.Client(timeout=60) as http:
            url = f"{served.url}/v1/invitations/accept"
            assert http.post(url, content=body).status_code == 413

    threads = [threading.Thread(target=send) for _ in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert own_memory(served.pid) < before + 64 * MEBIBYTE


@pytest.mark.end_to_end
def test_parts_of_many_owners_at_once_are_all_stored(served):
    plan, bodies, records = cut(3, 100_000)
    targets = announce(served, 10, plan, bodies, records)
    upload(served, targets, bodies)
    for target in targets:
        told = httpx.get(f"{served.url}{target.path}", headers=target.headers, timeout=60)
        assert told.json()["parts_received"] == [0, 1, 2]
        assert (
            httpx.post(
                f"{served.url}{target.path}/seal", headers=target.headers, timeout=60
            ).status_code
            == 200
        )
