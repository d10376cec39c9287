"""Whatever a miner or a network does, the agent gets one of its own errors, and no secret leaks."""

from __future__ import annotations

import json

import httpx
import pytest

from owner_agent.release.client import Miner, requested_delay
from owner_agent.release.joining import join
from owner_agent.state.environment import Environment
from owner_agent.state.tokens import TokenStore
from pramana_core.errors import Refused, StorageFull, Unreachable
from tests.full_disk import files_no_longer_than

PROBLEM = {
    "type": "urn:x", "title": "t", "status": 409, "detail": "No such thing.", "code": "conflict",
    "remedy": "Do this.",
}  # fmt: skip


def _miner(handler, attempts=3, slept=None):
    slept = [] if slept is None else slept
    environment = Environment(
        transport=httpx.MockTransport(handler), sleep=slept.append, attempts=attempts
    )
    return Miner("http://127.0.0.1:9", "the-secret-token", environment)


def test_a_problem_document_becomes_a_refusal():
    answer = httpx.Response(409, json=PROBLEM)
    with _miner(lambda r: answer) as miner, pytest.raises(Refused) as raised:
        miner.seal("x")
    error = raised.value
    assert (error.status, error.problem_code, error.exit_code) == (409, "conflict", 4)
    assert str(error) == "The miner rejected the request (409 conflict): No such thing. Do this."


@pytest.mark.parametrize(
    "response",
    [
        httpx.Response(500, text="<h1>oops SECRET</h1>"),
        httpx.Response(404, json={"detail": "SECRET"}),
        httpx.Response(200, text="SECRET"),
        httpx.Response(200, json={"SECRET": 1}),
        httpx.Response(302, headers={"Location": "http://else"}),
    ],
)
def test_what_is_no_miner_is_said_to_be_none(response):
    with _miner(lambda r: response) as miner, pytest.raises(Unreachable) as raised:
        miner.seal("x")
    assert "SECRET" not in str(raised.value)
    assert "the-secret-token" not in str(raised.value)


def test_pauses_grow_and_the_miner_may_set_them():
    slept = []
    answers = iter(
        [httpx.Response(503, headers={"Retry-After": "7"})]
        + [httpx.Response(503)] * 4
        + [
            httpx.Response(429, headers={"Retry-After": "100000"}),
            httpx.Response(409, json=PROBLEM),
        ]
    )
    patient = _miner(lambda r: next(answers), attempts=9, slept=slept)
    with patient as miner, pytest.raises(Refused):
        miner.seal("x")
    assert slept == [7.0, 1.0, 2.0, 4.0, 8.0, 60.0]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [(None, None), ("7", 7.0), ("9" * 5000, 60.0), ("soon", None), ("-7", None)],
)
def test_a_pause_is_asked_for_in_seconds(text, seconds):
    headers = httpx.Headers({} if text is None else {"Retry-After": text})
    assert requested_delay(headers) == seconds


def test_an_invitation_is_sent_again_as_the_same_request():
    seen = []

    def cut(request):
        seen.append((request.headers["Idempotency-Key"], request.content))
        raise httpx.ReadError("cut")

    with _miner(cut) as miner, pytest.raises(Unreachable):
        miner.accept("x" * 20)
    assert len(seen) == 3
    assert len(set(seen)) == 1


ISSUED = {"id": "t-1", "role": "owner", "study": "s", "name": "north", "token": "t-1.secret"}


def test_every_request_says_which_version_is_spoken():
    seen = []

    def answer(request):
        seen.append(request.headers["Pramana-Protocol"])
        return httpx.Response(201, json=ISSUED)

    with _miner(answer) as miner:
        # A miner of the last version names none in its answers, and has no `expires`.
        assert miner.accept("x" * 20).expires is None
    assert seen == ["1"]


def stored(bench) -> str:
    return TokenStore(bench.state).load("asia")


def test_a_token_that_found_no_room_is_fetched_again(bench):
    TokenStore(bench.state).path("asia").unlink()
    log = bench.state / "audit.jsonl"
    with files_no_longer_than(10), pytest.raises(StorageFull):
        join(bench.site, bench.miner.invitation, bench.environment)
    assert bench.miner.requests == []  # An invitation is not used up for nothing.
    assert join(bench.site, bench.miner.invitation, bench.environment).token == stored(bench)
    assert [json.loads(line)["action"] for line in log.read_text().splitlines()] == ["join"]
