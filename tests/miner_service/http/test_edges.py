"""The edges of the service: problem documents, limits, pages, unknown fields, health, audit."""

from __future__ import annotations

import json
import re
import shutil
import time

import pytest
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from miner_service.http.access.problems import problem_of_failure
from miner_service.settings import Limits, Settings
from pramana_core.errors import OptionError


def test_an_unforeseen_error_tells_nothing_of_itself():
    problem = problem_of_failure(ZeroDivisionError("secret"))
    assert (problem.code, problem.status) == ("internal", 500)
    assert "secret" not in problem.model_dump_json()


def test_an_address_that_is_none_is_a_problem(miner, assert_problem):
    for path in ("/v1", "/v1/nothing", "/v1/studies/"):
        assert_problem(miner.admin("GET", path), 404, "not-found")


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'"x"', b"\xff\xfe", b"[" * 100_000])
def test_a_body_that_is_none_is_a_problem(miner, assert_problem, body):
    before = miner.snapshot()
    headers = {"Content-Type": "application/json"}
    answer = miner.admin("POST", "/v1/studies", content=body, headers=headers)
    assert_problem(answer, 422, "request-invalid")
    assert miner.snapshot() == before


def test_unknown_fields_are_refused_by_name(miner, assert_problem):
    before = miner.snapshot()
    answer = miner.admin("POST", "/v1/studies", json={"name": "asia", "titel": "my private title"})
    problem = assert_problem(answer, 422, "request-invalid")
    assert "private" not in problem.model_dump_json()
    assert miner.snapshot() == before


def test_unknown_query_parameters_are_refused_by_name(miner, assert_problem):
    for path in ("/v1/studies?page=2", "/v1/dashboard?limit=3", "/healthz?verbose=1"):
        problem = assert_problem(miner.admin("GET", path), 422, "request-invalid")
        assert problem.where == "query." + re.search(r"\?(\w+)=", path)[1]
    answer = miner.admin("POST", "/v1/studies?dry_run=1", json={"name": "asia"})
    assert_problem(answer, 422, "request-invalid")
    assert miner.admin.get("/v1/studies")["items"] == []


def test_lists_come_in_pages(miner, assert_problem):
    names = [f"s{i}" for i in range(7)]
    for name in names:
        miner.admin("POST", "/v1/studies", json={"name": name})
    seen, cursor, sizes = [], "", []
    while cursor is not None:
        page = miner.admin.get(f"/v1/studies?limit=3{cursor and '&cursor=' + cursor}")
        seen += [s["name"] for s in page["items"]]
        sizes.append(len(page["items"]))
        cursor = page["next"]
    assert (seen, sizes) == (names, [3, 3, 1])
    assert miner.admin.get("/v1/studies?limit=7")["next"] is None
    for bad in ("limit=0", "limit=501", "limit=x"):
        answer = miner.admin("GET", f"/v1/studies?{bad}")
        assert_problem(answer, 422, "request-invalid")
    for bad in ("x", "YWZ0ZXI6", "%C3%BC", "====", "A" * 32):
        answer = miner.admin("GET", f"/v1/studies?cursor={bad}")
        assert_problem(answer, 422, "option-invalid")


def test_a_json_body_above_its_limit_is_refused(start, assert_problem):
    miner = start(Limits(json_bytes=1000))
    before = miner.snapshot()
    body = json.dumps({"name": "asia", "title": "x" * 1000}).encode()

    def in_pieces():
        yield body[:900]
        yield body[900:]

    for content in (body, in_pieces()):
        headers = {"Content-Type": "application/json"}
        answer = miner.admin("POST", "/v1/studies", content=content, headers=headers)
        assert_problem(answer, 413, "limit-exceeded")
    assert miner.snapshot() == before


def test_a_part_above_its_limit_is_refused_before_it_is_read(start, release_a, assert_problem):
    longest = max(map(len, release_a.parts))
    miner = start(Limits(part_bytes=longest))
    miner.study("asia")
    owner = miner.owner("asia", "north")
    path = owner.announce("asia", release_a)
    before = miner.snapshot()
    read = 0

    def endless():
        nonlocal read
        for _ in range(10_000):
            read += 1
            yield b"x" * 1000

    answer = owner.put(path, 0, endless())
    assert_problem(answer, 413, "limit-exceeded")
    answer = owner.put(path, 0, b"x" * (longest + 1))
    assert_problem(answer, 413, "limit-exceeded")
    assert miner.snapshot() == before


@pytest.mark.slow
@pytest.mark.parametrize(
    "limits",
    [
        Limits(parts=2),
        Limits(part_bytes=100),
        Limits(release_bytes=100),
        Limits(variables=1),
        Limits(categories=4),
    ],
)
def test_a_release_above_a_limit_is_refused(start, release_a, assert_problem, limits):
    miner = start(limits)
    miner.study("asia")
    owner = miner.owner("asia", "north")
    before = miner.snapshot()
    answer = owner("POST", "/v1/studies/asia/releases", json=release_a.body)
    assert_problem(answer, 413, "limit-exceeded")
    assert miner.snapshot() == before


def test_settings_are_checked(tmp_path):
    with pytest.raises(OptionError):
        Limits(job_cells=0)
    with pytest.raises(OptionError):
        Settings(tmp_path, port=70_000)
    for host in ("0.0.0.0", "miner.example", "192.0.2.1", "::"):
        with pytest.raises(OptionError) as caught:
            Settings(tmp_path, host=host)
        assert "--allow-remote" in str(caught.value)
        assert Settings(tmp_path, host=host, allow_remote=True).host == host
    for host in ("127.0.0.1", "127.8.9.1", "::1", "localhost"):
        assert Settings(tmp_path, host=host).host == host


def test_health_and_readiness(miner, assert_problem, monkeypatch):
    assert miner.nobody.get("/healthz") == {"status": "ok"}
    assert miner.nobody.get("/readyz") == {"status": "ok"}

    def fails(*_: object) -> None:
        raise OperationalError("SELECT secret", {}, Exception("disk"))

    monkeypatch.setattr(Session, "execute", fails)
    answer = miner.nobody("GET", "/readyz")
    problem = assert_problem(answer, 503, "not-ready")
    assert "secret" not in problem.model_dump_json()
    assert answer.headers["retry-after"] == "1"
    assert miner.nobody.get("/healthz") == {"status": "ok"}


def test_a_data_directory_that_cannot_be_written_is_not_ready(
    miner, north, assert_problem, release_a
):
    path = north.announce("asia", release_a)
    scratch = miner.data / "scratch"
    while any(path.is_file() for path in scratch.rglob("*")):
        time.sleep(0.005)  # what the announcement was read from goes after its answer
    shutil.rmtree(scratch)
    scratch.write_text("in the way")
    assert_problem(miner.nobody("GET", "/readyz"), 503, "not-ready")
    answer = north.put(path, 0, release_a.parts[0])
    assert_problem(answer, 503, "not-ready")
    assert north.get(path)["parts_received"] == []


def test_what_an_interruption_left_is_swept_at_the_next_start(start, release_a):
    miner = start(entered=False)
    with miner.client:
        miner.study("asia")
        owner = miner.owner("asia", "north")
        kept = owner.send("asia", release_a)
    left = [
        miner.data / "scratch" / "ended" / "half",
        miner.data / "columns" / "r-000000000000.arrow",
        miner.data / "parts" / "r-000000000000" / "00000.part",
    ]
    for path in left:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"left")
    again = start()
    assert not any(path.exists() for path in left)
    person = type(owner)(again.client, owner.token)
    assert person("POST", f"{kept}/seal").json()["state"] == "sealed"
