"""The miner's audit log: never behind what was done, also on a full disk."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager
from datetime import timedelta
from pathlib import Path

from fastapi.routing import iter_route_contexts

from tests.full_disk import files_no_longer_than
from tests.miner_service.http.pages.browsers import Browser


def log_of(miner) -> Path:
    return miner.data / "audit.jsonl"


def actions(miner) -> list[tuple[str, int]]:
    lines = log_of(miner).read_text().splitlines()
    return [(told["action"], told["outcome"]) for told in map(json.loads, lines)]


def without_room(miner) -> AbstractContextManager[None]:
    return files_no_longer_than(log_of(miner).stat().st_size + 10)


def test_strangers_do_not_fill_the_log(miner):
    for _ in range(5):
        miner.nobody("GET", "/v1/studies")
    miner.nobody("GET", "/v1/dashboard")
    assert actions(miner) == [("list_studies", 401), ("read_dashboard", 401)]
    miner.clock.ahead += timedelta(minutes=1)
    miner.nobody("GET", "/v1/studies")
    last = json.loads(log_of(miner).read_text().splitlines()[-1])
    assert (last["action"], last["outcome"], last["unnoted"]) == ("list_studies", 401, 4)


def test_a_token_that_is_sent_where_its_id_belongs_is_not_noted(miner):
    token = miner.admin.token
    assert miner.admin("DELETE", f"/v1/tokens/{token}").status_code == 404
    text = log_of(miner).read_text()
    assert token.partition(".")[0] in text
    assert token.partition(".")[2] not in text


def test_a_change_that_could_not_be_noted_is_refused_before_it_is_made(
    miner, north, release_a, assert_problem
):
    path = north.announce("asia", release_a)
    before, noted = miner.snapshot(), actions(miner)
    with without_room(miner):
        part = north.put(path, 0, release_a.parts[0])
        study = miner.admin("POST", "/v1/studies", json={"name": "late"})
    for refused in (part, study):
        problem = assert_problem(refused, 507, "storage-full")
        assert str(miner.data) not in f"{problem}"
    assert (miner.snapshot(), actions(miner)) == (before, noted)
    assert north.put(path, 0, release_a.parts[0]).status_code == 201


def test_what_may_only_be_read_with_a_note_is_not_given_without_one(miner, assert_problem):
    """What changes nothing is served; what must be noted is not, and tells why."""
    miner.study("asia")
    with without_room(miner):
        assert miner.admin("GET", "/v1/studies").status_code == 200
        assert_problem(miner.nobody("GET", "/v1/studies"), 507, "storage-full")
    assert_problem(miner.nobody("GET", "/v1/studies"), 401, "unauthenticated")


def test_a_request_that_fails_unforeseen_is_noted_too(miner, monkeypatch, assert_problem):
    def broken(*_arguments: object) -> None:
        raise RuntimeError

    monkeypatch.setattr("miner_service.store.people.create_study", broken)
    response = miner.admin("POST", "/v1/studies", json={"name": "asia"})
    assert_problem(response, 500, "internal")
    assert actions(miner) == [("create_study", 500)]


def test_every_route_that_carries_a_model_away_is_noted(miner):
    paths = {
        route.path.replace("{model}", "m-000000000000").replace("{form}", "page")
        for route in iter_route_contexts(miner.app.routes)
        if "{model}" in route.path and "GET" in route.methods
    }
    assert len(paths) > 4
    browser = Browser(miner)
    browser.sign_in(miner.admin.token)
    for path in paths:
        before = len(actions(miner))
        if path.startswith("/pages"):
            browser.get(path)
        else:
            miner.admin("GET", path)
        assert len(actions(miner)) == before + 1, path
