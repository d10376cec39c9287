"""Studies, tokens, invitations, owners: who gets in, and what each may see."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest


def test_a_study_is_created_once(miner, assert_problem):
    first = miner.admin("POST", "/v1/studies", json={"name": "asia", "title": "Chest clinic"})
    assert (first.status_code, first.headers["location"]) == (201, "/v1/studies/asia")
    before = miner.snapshot()
    again = miner.admin("POST", "/v1/studies", json={"name": "asia", "title": "Chest clinic"})
    assert (again.status_code, again.headers["location"]) == (200, "/v1/studies/asia")
    assert again.json() == first.json()
    other = miner.admin("POST", "/v1/studies", json={"name": "asia", "title": "Another"})
    assert_problem(other, 409, "conflict")
    assert miner.snapshot() == before
    assert miner.admin.get(first.headers["location"]) == first.json()


@pytest.mark.parametrize("name", ["", "-x", "a b", "a/b", "ü", "x" * 65])
def test_a_study_needs_a_plain_name(miner, assert_problem, name):
    before = miner.snapshot()
    answer = miner.admin("POST", "/v1/studies", json={"name": name})
    problem = assert_problem(answer, 422, "request-invalid")
    assert not name.strip() or name not in problem.detail
    assert miner.snapshot() == before


def test_a_wrong_token_is_refused(miner, assert_problem):
    analyst = miner.study("asia")
    before = miner.snapshot()
    wrong = [
        analyst.token[:-1] + ("A" if analyst.token[-1] != "A" else "B"),
        analyst.id,
        f"{analyst.id}.",
        "nonsense",
        "t-000000000000." + "x" * 43,
    ]
    for token in wrong:
        headers = {"Authorization": f"Bearer {token}"}
        answer = miner.client.post("/v1/studies", json={"name": "x"}, headers=headers)
        problem = assert_problem(answer, 401, "unauthenticated")
        assert token not in json.dumps(problem.model_dump())
    assert miner.snapshot() == before


def test_a_revoked_token_is_refused(miner, north, assert_problem, release_a):
    path = north.announce("asia", release_a)
    assert miner.admin("DELETE", f"/v1/tokens/{north.id}").status_code == 204
    assert miner.admin("DELETE", f"/v1/tokens/{north.id}").status_code == 204
    before = miner.snapshot()
    answer = north.put(path, 0, release_a.parts[0])
    assert_problem(answer, 401, "unauthenticated")
    assert miner.snapshot() == before
    tokens = miner.admin.get("/v1/studies/asia/tokens")["items"]
    assert [(t["name"], t["role"], t["revoked"]) for t in tokens] == [
        ("ana", "analyst", False),
        ("north", "owner", True),
    ]
    assert north.token not in json.dumps(tokens)


def test_the_admin_token_is_not_revoked_by_accident(miner, assert_problem):
    answer = miner.admin("DELETE", f"/v1/tokens/{miner.admin.token.split('.')[0]}")
    assert_problem(answer, 409, "conflict")
    assert miner.admin.get("/v1/studies")["items"] == []
    assert_problem(miner.admin("DELETE", "/v1/tokens/t-0"), 404, "not-found")


def test_an_invitation_is_taken_up_once(miner, assert_problem):
    analyst = miner.study("asia")
    made = analyst("POST", "/v1/studies/asia/invitations", json={"owner": "north"})
    assert made.status_code == 201
    secret = made.json()["secret"]
    listed = analyst.get("/v1/studies/asia/invitations")["items"]
    assert [(i["owner"], i["accepted"], i["secret"]) for i in listed] == [("north", False, None)]
    first = miner.nobody("POST", "/v1/invitations/accept", json={"secret": secret})
    assert first.status_code == 201
    assert {k: first.json()[k] for k in ("role", "study", "name")} == {
        "role": "owner",
        "study": "asia",
        "name": "north",
    }
    before = miner.snapshot()
    again = miner.nobody("POST", "/v1/invitations/accept", json={"secret": secret})
    assert_problem(again, 409, "conflict")
    assert miner.snapshot() == before
    assert analyst.get("/v1/studies/asia/invitations")["items"][0]["accepted"] is True
    assert [o["name"] for o in analyst.get("/v1/studies/asia/owners")["items"]] == ["north"]


def test_a_token_follows_only_from_a_key_that_is_not_guessed(miner, assert_problem):
    analyst, path = miner.study("asia"), "/v1/invitations/accept"
    made = analyst("POST", "/v1/studies/asia/invitations", json={"owner": "north"})
    secret, before = {"secret": made.json()["secret"]}, miner.snapshot()
    short = miner.nobody("POST", path, json=secret, headers={"Idempotency-Key": "k" * 31})
    assert_problem(short, 422, "request-invalid")
    assert miner.snapshot() == before
    key = {"Idempotency-Key": "k" * 32}
    first, again = (miner.nobody("POST", path, json=secret, headers=key) for _ in range(2))
    assert first.status_code == again.status_code == 201
    assert first.json()["token"] == again.json()["token"]
    other = miner.nobody("POST", path, json=secret, headers={"Idempotency-Key": "l" * 32})
    assert_problem(other, 409, "conflict")


def test_an_unknown_and_an_expired_invitation_look_the_same(miner, assert_problem):
    miner.study("asia")
    made = miner.admin(
        "POST", "/v1/studies/asia/invitations", json={"owner": "north", "valid_hours": 1}
    )
    miner.clock.ahead = timedelta(hours=1, seconds=1)
    before = miner.snapshot()
    answers = [
        miner.nobody("POST", "/v1/invitations/accept", json={"secret": secret})
        for secret in (made.json()["secret"], "i-000000000000.xxxxxxxxxxxx")
    ]
    for answer in answers:
        assert_problem(answer, 404, "not-found")
    first, second = ({**answer.json(), "request": None} for answer in answers)
    assert first == second
    assert miner.snapshot() == before


def test_nobody_can_join_under_the_name_of_an_owner(miner, assert_problem):
    analyst = miner.study("asia")
    twice = [
        analyst("POST", "/v1/studies/asia/invitations", json={"owner": "north"}).json()["secret"]
        for _ in range(2)
    ]
    accepted = miner.nobody("POST", "/v1/invitations/accept", json={"secret": twice[0]})
    assert accepted.status_code == 201
    before = miner.snapshot()
    second = miner.nobody("POST", "/v1/invitations/accept", json={"secret": twice[1]})
    assert_problem(second, 404, "not-found")
    third = analyst("POST", "/v1/studies/asia/invitations", json={"owner": "north"})
    assert_problem(third, 409, "conflict")
    assert miner.snapshot() == before


def invite(person, owner="north"):
    made = person("POST", "/v1/studies/asia/invitations", json={"owner": owner})
    assert made.status_code == 201, made.text
    return made.json()


def test_a_removed_owner_does_not_come_back_by_an_earlier_invitation(miner, assert_problem):
    analyst = miner.study("asia")
    pending = [invite(analyst) for _ in range(3)]
    other = invite(analyst, "south")
    accept = {"secret": pending[0]["secret"]}
    assert miner.nobody("POST", "/v1/invitations/accept", json=accept).status_code == 201
    assert analyst("DELETE", "/v1/studies/asia/owners/north").status_code == 204
    before = miner.snapshot()
    miner.clock.ahead = timedelta(hours=-1)  # a clock set back revives none
    for invitation in pending[1:]:
        accept = {"secret": invitation["secret"]}
        answer = miner.nobody("POST", "/v1/invitations/accept", json=accept)
        assert_problem(answer, 404, "not-found")
    assert miner.snapshot() == before
    accept = {"secret": other["secret"]}
    assert miner.nobody("POST", "/v1/invitations/accept", json=accept).status_code == 201


def test_an_invitation_can_be_revoked(miner, assert_problem):
    analyst, other = miner.study("asia"), miner.study("other")
    owner = miner.owner("asia", "south")
    pending = invite(analyst)
    path = f"/v1/invitations/{pending['id']}"
    before = miner.snapshot()
    assert_problem(other("DELETE", path), 404, "not-found")
    assert_problem(miner.nobody("DELETE", path), 401, "unauthenticated")
    assert_problem(owner("DELETE", path), 404, "not-found")
    absent = analyst("DELETE", "/v1/invitations/i-000000000000")
    assert_problem(absent, 404, "not-found")
    assert miner.snapshot() == before
    assert analyst("DELETE", path).status_code == 204
    after = miner.snapshot()
    assert analyst("DELETE", path).status_code == 204
    assert miner.snapshot() == after
    secret = {"secret": pending["secret"]}
    answer = miner.nobody("POST", "/v1/invitations/accept", json=secret)
    assert_problem(answer, 404, "not-found")
    assert miner.snapshot() == after


def test_an_invitation_taken_up_is_not_revoked(miner, assert_problem):
    analyst = miner.study("asia")
    miner.owner("asia", "north")
    (taken,) = analyst.get("/v1/studies/asia/invitations")["items"]
    before = miner.snapshot()
    answer = analyst("DELETE", f"/v1/invitations/{taken['id']}")
    assert_problem(answer, 409, "conflict")
    assert miner.snapshot() == before
