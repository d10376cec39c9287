"""What is answered before a body is read, and how much of it is read at all."""

from __future__ import annotations

import asyncio
import json

import pytest
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request

from miner_service.http.access import gate, routing
from miner_service.settings import Limits, WebSettings
from pramana_core.pages.forms import EVERY_ANSWER
from pramana_core.wire.parts import PART_MEDIA_TYPE


def scope_of(method, path, headers, scheme="http"):
    """What the server says of a request."""
    return {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "scheme": scheme,
        "http_version": "1.1",
        "client": ("192.0.2.1", 1),
        "server": ("127.0.0.1", 80),
        "headers": [(k.lower().encode(), v.encode()) for k, v in headers.items()],
        "state": {},
    }


def asked(miner, method, path, headers, scheme="http"):
    """Ask as the server does: the body is only produced when it is asked for.

    The usual client of tests reads the whole body before it sends it.
    """
    answers, reads = [], 0

    async def receive():
        nonlocal reads
        reads += 1
        return {"type": "http.request", "body": b"x" * 1000, "more_body": True}

    async def send(message):
        answers.append(message)

    scope = scope_of(method, path, headers, scheme)
    miner.client.portal.call(miner.app, scope, receive, send)
    told = {k.decode().lower(): v.decode() for k, v in answers[0]["headers"]}
    return answers[0]["status"], told, json.loads(answers[1]["body"]), reads


CHUNKED = {"Transfer-Encoding": "chunked", "Content-Type": "application/json"}


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/studies"),
        ("PUT", "/v1/releases/r-1/parts/0"),
        ("POST", "/v1/studies/asia/releases"),
    ],
)
@pytest.mark.parametrize("token", [None, "Bearer t-1.guessed", "Basic x"])
def test_without_a_token_nothing_of_a_body_is_read(miner, method, path, token):
    headers = CHUNKED | ({"Authorization": token} if token else {})
    status, told, problem, reads = asked(miner, method, path, headers=headers)
    assert (status, problem["code"], reads) == (401, "unauthenticated", 0)
    assert told["www-authenticate"] == "Bearer"
    entry = json.loads((miner.data / "audit.jsonl").read_text().splitlines()[-1])
    assert entry["outcome"] == 401
    assert entry["action"] in {"create_study", "put_part", "create_release"}


def test_where_nothing_is_nothing_is_read(miner):
    for method, path, expected in (("POST", "/v1/x", 404), ("PATCH", "/v1/studies", 405)):
        status, _, _, reads = asked(miner, method, path, headers=CHUNKED)
        assert (status, reads) == (expected, 0)


def test_who_has_no_token_may_send_a_secret_and_no_more(miner):
    path = "/v1/invitations/accept"
    status, _, problem, reads = asked(miner, "POST", path, headers=CHUNKED)
    assert (status, problem["code"]) == (413, "limit-exceeded")
    assert reads <= 5
    long = {"Content-Length": "8400000", "Content-Type": "application/json"}
    status, _, _, reads = asked(miner, "POST", path, headers=long)
    assert (status, reads) == (413, 0)


def test_a_part_is_only_read_where_it_may_come(miner, release_a):
    miner.study("asia")
    owner, other = miner.owner("asia", "north"), miner.owner("asia", "south")
    path = owner.announce("asia", release_a)
    arrow = {"Content-Type": PART_MEDIA_TYPE}

    def put(person, where, **more):
        headers = {**arrow, "Authorization": f"Bearer {person.token}", **more}
        status, _, problem, reads = asked(miner, "PUT", where, headers=headers)
        return status, problem["code"], reads

    chunked = {"Transfer-Encoding": "chunked"}
    assert put(other, f"{path}/parts/0", **chunked) == (404, "not-found", 0)
    assert put(miner.admin, f"{path}/parts/0", **chunked) == (403, "forbidden", 0)
    assert put(owner, f"{path}/parts/7", **chunked) == (404, "not-found", 0)
    length = {"Content-Length": "12"}
    assert put(owner, f"{path}/parts/0", **length) == (422, "part-invalid", 0)
    status, code, reads = put(owner, f"{path}/parts/0", **chunked)
    assert (status, code) == (413, "limit-exceeded")
    assert reads <= len(release_a.parts[0]) // 1000 + 1
    assert owner("POST", f"{path}/withdraw").status_code == 200
    assert put(owner, f"{path}/parts/0", **chunked) == (409, "conflict", 0)
    assert not list((miner.data / "scratch").glob("*/*"))


def test_too_many_requests_are_told_when_to_come_back(start, assert_problem):
    miner = start(web=WebSettings(requests_per_token=0.1))
    assert miner.admin("GET", "/v1/studies").status_code == 200
    answer = miner.admin("GET", "/v1/studies")
    assert_problem(answer, 429, "too-many-requests")
    assert 1 <= int(answer.headers["retry-after"]) <= 10
    for path in ("/healthz", "/readyz", "/metrics"):  # nobody limits a probe
        assert miner.admin("GET", path).status_code == 200


def test_too_many_bodies_on_their_way_are_refused_before_they_are_read(start, release_a):
    miner = start(web=WebSettings(bodies_per_token=1))
    miner.study("asia")
    owner = miner.owner("asia", "north")
    path = owner.announce("asia", release_a)
    inner = []

    def body():
        yield release_a.parts[0][:100]
        yield release_a.parts[0][100:]

    async def both():
        first = asyncio.Event()

        async def receive():
            first.set()
            await asyncio.Event().wait()

        headers = {
            "Content-Type": PART_MEDIA_TYPE,
            "Authorization": f"Bearer {owner.token}",
            "Transfer-Encoding": "chunked",
        }

        def sent():
            return scope_of("PUT", f"{path}/parts/0", headers)

        async def send(message):
            inner.append(message)

        async def refused():
            raise AssertionError("the second body was read")

        holding = asyncio.ensure_future(miner.app(sent(), receive, send))
        await first.wait()
        await miner.app(sent(), refused, send)
        holding.cancel()
        await asyncio.wait([holding])

    miner.client.portal.call(both)
    assert inner[0]["status"] == 429
    assert owner.put(path, 0, body()).status_code == 201
    assert not list((miner.data / "scratch").glob("*/*"))


def test_a_large_json_body_is_taken_in(start):
    miner = start(Limits(json_bytes=300_000))
    answer = miner.admin("POST", "/v1/studies", json={"name": "asia", "title": "x" * 200_000})
    assert answer.status_code == 422
    assert "title" in answer.text
    padded = json.dumps({"name": "asia"}).encode() + b" " * 200_000
    headers = {"Content-Type": "application/json"}
    assert miner.admin("POST", "/v1/studies", content=padded, headers=headers).status_code == 201


def test_large_json_bodies_take_no_more_memory_than_there_is_for_them(start, monkeypatch):
    monkeypatch.setattr(gate, "_MEMORY", 100_000)
    miner = start()
    padded = json.dumps({"name": "asia"}).encode() + b" " * 150_000
    with miner.app.state.gate._memory.in_transfer("", 1):
        answer = miner.admin("POST", "/v1/studies", content=padded)
    assert (answer.status_code, answer.json()["code"]) == (429, "too-many-requests")


def chunks_of(start, receive, **web):
    """What a gate makes of a body that comes by `receive`."""
    miner = start(web=WebSettings(**web))
    request = Request({"type": "http", "headers": []}, receive)

    async def read():
        return [chunk async for chunk in miner.app.state.gate.chunks(request, 10, "part")]

    return asyncio.run(read())


def test_a_body_that_does_not_come_is_given_up(start):
    with pytest.raises(HTTPException) as caught:
        chunks_of(start, lambda: asyncio.sleep(3600), body_seconds=0.01)
    assert caught.value.status_code == 408


def test_a_client_that_goes_away_is_not_waited_for(start):
    pieces = iter(
        [
            {"type": "http.request", "body": b"abc", "more_body": True},
            {"type": "http.disconnect"},
        ]
    )

    async def receive():
        return next(pieces)

    with pytest.raises(ClientDisconnect):
        chunks_of(start, receive)


def test_the_document_of_the_interface_is_not_made_on_the_loop(miner, monkeypatch):
    """It takes seconds, and anybody may ask for it."""

    def made():
        with pytest.raises(RuntimeError):
            asyncio.get_running_loop()
        return {"openapi": "3.1.0"}

    monkeypatch.setattr(miner.app, "openapi", made)
    assert miner.nobody("GET", "/openapi.json").json() == {"openapi": "3.1.0"}


def test_every_answer_says_what_a_browser_may_do_with_it(miner, monkeypatch):
    def fails(*_):
        raise ZeroDivisionError

    monkeypatch.setattr(routing, "enter", fails)
    expected = {"/healthz": 200, "/x": 404, "/v1/studies": 500}
    for path, status in expected.items():
        answer = miner.nobody("GET", path)
        assert answer.status_code == status
        assert {name: answer.headers[name] for name in EVERY_ANSWER} == dict(EVERY_ANSWER)
        assert "strict-transport-security" not in answer.headers
    _, told, _, _ = asked(miner, "GET", "/x", {}, "https")
    assert "max-age" in told["strict-transport-security"]
