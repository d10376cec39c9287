"""What peers send counts once, also after a restart, and no body is read that nobody signed."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from starlette.testclient import TestClient

from owner_agent.peer.app import create_peer_app
from owner_agent.peer.protocol import identity as seen_module
from owner_agent.peer.protocol.identity import (
    BODY_HEADER,
    CLOCKS_APART,
    Call,
    SeenRequests,
    signed_headers,
)
from pramana_core.errors import StorageFull, StoreCorrupt, TooManyRequests
from tests.full_disk import files_no_longer_than

SESSION = "ab" * 16
PATH = f"/v1/sessions/{SESSION}"
NONCES = [f"{number:032x}" for number in range(10)]


def headers_of(world, *, method="GET", path=PATH, body=b"", number=0) -> dict[str, str]:
    north = world.participants["north"].identity
    return signed_headers(north, Call("south", method, path, body), world.now, bytes([number] * 16))


def restarted(world) -> TestClient:
    """South's agent as it is after it was started again."""
    return TestClient(create_peer_app(world.participants["south"]))


def test_a_request_is_refused_again_also_after_a_restart(world):
    headers, south = headers_of(world), world.wire.clients["south"]
    assert south.get(PATH, headers=headers).status_code == 404
    assert south.get(PATH, headers=headers).status_code == 401
    again = restarted(world)
    assert again.get(PATH, headers=headers).status_code == 401
    fresh = headers_of(world, number=1)
    assert again.get(PATH, headers=fresh).status_code == 404
    # Another process of the same owner knows it, too.
    assert south.get(PATH, headers=fresh).status_code == 401


def test_what_is_forgotten_is_too_old_to_be_taken(world):
    headers, south = headers_of(world), world.wire.clients["south"]
    assert south.get(PATH, headers=headers).status_code == 404
    world.later(2 * CLOCKS_APART + 1)
    assert restarted(world).get(PATH, headers=headers).status_code == 401


def sent(world, headers: dict[str, str], chunks: list[bytes], length: int) -> tuple[int, int]:
    """Send a request to south in pieces; return the status, and how many bytes were read of it."""
    app, state = create_peer_app(world.participants["south"]), {"read": 0, "status": 0}
    left = list(chunks)
    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "path": "/v1/sessions",
        "raw_path": b"/v1/sessions",
        "query_string": b"",
        "headers": [(k.lower().encode(), v.encode()) for k, v in headers.items()]
        + [(b"content-length", str(length).encode())],
    }

    async def receive() -> dict[str, Any]:
        chunk = left.pop(0)
        state["read"] += len(chunk)
        return {"type": "http.request", "body": chunk, "more_body": bool(left)}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            state["status"] = message["status"]

    asyncio.run(app(scope, receive, send))
    return state["status"], state["read"]


def posted(world, body: bytes, **changed: str) -> dict[str, str]:
    return {**headers_of(world, method="POST", path="/v1/sessions", body=body), **changed}


def test_the_body_of_a_request_with_a_wrong_signature_is_not_read(world):
    body, chunks = b"x" * 1000, [b"x" * 100] * 10
    for changed in (
        {"Pramana-Signature": "00" * 64},
        {"Pramana-Peer": "mallory"},
        {BODY_HEADER: "11" * 32},
        {"Pramana-Time": "1000000000.000"},
    ):
        assert sent(world, posted(world, body, **changed), chunks, 1000) == (401, 0), changed
    unsigned: dict[str, str] = {}
    assert sent(world, unsigned, chunks, 1000) == (401, 0)
    # The control: with everything right it is read to its end, and found to be no proposal.
    assert sent(world, posted(world, body), chunks, 1000) == (502, 1000)


def test_the_body_of_a_replayed_request_is_not_read(world):
    body, chunks = b"x" * 1000, [b"x" * 100] * 10
    headers = posted(world, body)
    assert sent(world, headers, chunks, 1000)[1] == 1000
    assert sent(world, headers, chunks, 1000) == (401, 0)


def test_another_body_than_the_signed_one_is_refused_and_spends_nothing(world):
    body = b"x" * 1000
    headers = posted(world, body)
    assert sent(world, headers, [b"y" * 1000], 1000) == (401, 1000)
    assert sent(world, headers, [body], 1000)[0] == 502


def test_a_body_is_read_no_further_than_was_announced(world):
    body, chunks = b"x" * 1000, [b"x" * 100] * 10
    assert sent(world, posted(world, body), chunks, 250) == (413, 300)
    assert sent(world, posted(world, body), chunks, 1 << 29) == (413, 0)


@pytest.fixture
def memory(tmp_path) -> SeenRequests:
    return SeenRequests(tmp_path / "state" / "seen", 600.0)


def test_requests_are_remembered_for_their_time_and_no_longer(memory):
    assert memory.let_in(("north", NONCES[0]), 1000.0, 1000.0)
    assert not memory.let_in(("north", NONCES[0]), 1000.0, 1600.0)
    assert memory.let_in(("east", NONCES[0]), 1000.0, 1000.0)
    assert not SeenRequests(memory.path, 600.0).let_in(("north", NONCES[0]), 1000.0, 1600.0)
    assert memory.let_in(("north", NONCES[0]), 1601.0, 1601.0)
    assert memory.path.stat().st_mode & 0o777 == 0o600


def test_the_file_stays_small(memory, monkeypatch):
    monkeypatch.setattr(seen_module, "_STALE", 5)
    for number in range(50):
        nonce = f"{number:032x}"
        assert memory.let_in(("north", nonce), 1000.0 * number, 1000.0 * number)
    assert len(memory.path.read_text().splitlines()) < 10
    assert SeenRequests(memory.path, 600.0).holds(("north", nonce), 49_000.0)


def test_one_peer_is_bounded_and_the_others_are_not(memory, monkeypatch):
    monkeypatch.setattr(seen_module, "MOST", 3)
    for nonce in NONCES[:3]:
        memory.let_in(("north", nonce), 1000.0, 1000.0)
    with pytest.raises(TooManyRequests, match="north sent 3"):
        memory.let_in(("north", NONCES[3]), 1000.0, 1000.0)
    assert memory.let_in(("east", NONCES[3]), 1000.0, 1000.0)
    assert memory.let_in(("north", NONCES[3]), 1601.0, 1601.0)


def test_what_cannot_be_remembered_is_not_let_in(memory):
    memory.let_in(("north", NONCES[0]), 1000.0, 1000.0)
    size = memory.path.stat().st_size
    with files_no_longer_than(size + 10), pytest.raises(StorageFull):
        memory.let_in(("north", NONCES[1]), 1000.0, 1000.0)
    assert memory.path.stat().st_size == size
    assert memory.let_in(("north", NONCES[1]), 1000.0, 1000.0)


def test_half_a_line_of_a_crash_is_cut_off_and_other_damage_is_told(memory):
    memory.let_in(("north", NONCES[0]), 1000.0, 1000.0)
    with memory.path.open("ab") as file:
        file.write(b"1000.000 00")
    again = SeenRequests(memory.path, 600.0)
    assert again.let_in(("north", NONCES[1]), 1000.0, 1000.0)
    assert again.holds(("north", NONCES[0]), 1000.0)
    memory.path.write_bytes(b"nothing\n")
    with pytest.raises(StoreCorrupt, match="not what was written"):
        SeenRequests(memory.path, 600.0).holds(("north", NONCES[0]), 1000.0)
