"""Requests with an `Idempotency-Key`: done once, answered alike, and told to nobody else."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from sqlalchemy import select

from miner_service.store import answers
from miner_service.store.schema import AnswerRow, InvitationRow, TokenRow
from tests.miner_service.conftest import Person, assert_problem

KEY = {"Idempotency-Key": "5b8f1c3e-again"}


def count(miner, kind):
    with miner.services.database.read() as session:
        return len(session.scalars(select(kind)).all())


def issue(miner, name="ana", **headers):
    path = "/v1/studies/s/tokens"
    return miner.admin("POST", path, json={"name": name}, headers={**KEY, **headers})


@pytest.fixture
def opened(miner):
    miner.study("s")
    return miner


def test_the_same_request_is_done_once_and_answered_alike(opened):
    before = count(opened, TokenRow)
    first, again = issue(opened), issue(opened)
    assert first.status_code == again.status_code == 201
    assert first.content == again.content
    assert again.headers["idempotent-replay"] == "true"
    assert "idempotent-replay" not in first.headers
    assert count(opened, TokenRow) == before + 1
    # A control: without the key it is done again.
    path = "/v1/studies/s/tokens"
    assert opened.admin("POST", path, json={"name": "ana"}).content != first.content
    assert count(opened, TokenRow) == before + 2


def test_every_request_that_makes_a_secret_takes_a_key(opened):
    analyst = Person(opened.client, issue(opened).json()["token"])
    path = "/v1/studies/s/invitations"
    invited = [analyst("POST", path, json={"owner": "north"}, headers=KEY) for _ in range(2)]
    assert invited[0].content == invited[1].content
    assert count(opened, InvitationRow) == 1
    secret = {"secret": invited[0].json()["secret"]}
    taken = [
        opened.nobody("POST", "/v1/invitations/accept", json=secret, headers=KEY) for _ in range(2)
    ]
    assert [one.status_code for one in taken] == [201, 201]
    assert taken[0].content == taken[1].content
    owner = Person(opened.client, taken[0].json()["token"])
    turned = [owner("POST", "/v1/tokens/rotate", headers=KEY) for _ in range(2)]
    assert turned[0].content == turned[1].content
    assert turned[0].status_code == 201
    new = Person(opened.client, turned[0].json()["token"])
    assert new("GET", "/v1/studies/s").status_code == 200


def test_another_request_under_the_same_key_is_refused(opened):
    issue(opened)
    assert_problem(issue(opened, name="bob"), 409, "conflict", "Idempotency-Key")
    other = opened.admin("POST", "/v1/studies/s/invitations", json={"owner": "x"}, headers=KEY)
    assert_problem(other, 409, "conflict", "Idempotency-Key")
    assert count(opened, InvitationRow) == 0


def test_a_key_is_its_senders_own(opened):
    first = Person(opened.client, issue(opened).json()["token"])
    second = Person(opened.client, issue(opened, **{"Idempotency-Key": "b"}).json()["token"])
    path = "/v1/studies/s/invitations"
    made = [p("POST", path, json={"owner": "north"}, headers=KEY) for p in (first, second)]
    assert made[0].content != made[1].content
    assert "idempotent-replay" not in made[1].headers


def test_what_was_refused_is_not_kept(opened):
    bad = {"secret": "i-000000000000." + "x" * 43}
    for _ in range(2):
        answer = opened.nobody("POST", "/v1/invitations/accept", json=bad, headers=KEY)
        assert_problem(answer, 404, "not-found")
    assert count(opened, AnswerRow) == 0


def test_an_invitation_cannot_be_taken_up_again_under_another_key(opened):
    invited = opened.admin("POST", "/v1/studies/s/invitations", json={"owner": "north"}).json()
    body = {"secret": invited["secret"]}
    accept = "/v1/invitations/accept"
    assert opened.nobody("POST", accept, json=body, headers=KEY).status_code == 201
    for headers in ({}, {"Idempotency-Key": "stolen"}):
        assert_problem(opened.nobody("POST", accept, json=body, headers=headers), 409, "conflict")


def test_what_is_stored_tells_no_secret(opened):
    token = issue(opened).json()["token"]
    with opened.services.database.read() as session:
        (row,) = session.scalars(select(AnswerRow)).all()
    stored = b"".join([row.key.encode(), row.request.encode(), row.answer])
    for secret in (token, token.partition(".")[2], KEY["Idempotency-Key"], opened.admin.token):
        assert secret.encode() not in stored
    # Whoever has the store and half of what the sender has opens nothing.
    now = opened.clock()
    with opened.services.database.write() as session:
        for secret, key in (("Bearer other", KEY["Idempotency-Key"]), (opened.admin.token, "x")):
            sender = answers.Sender(secret, key)
            assert answers.known_answer(session, sender, row.request, now) is None


def test_requests_at_the_same_time_have_one_effect(opened):
    before = count(opened, TokenRow)
    found = []
    threads = [threading.Thread(target=lambda: found.append(issue(opened))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {answer.status_code for answer in found} == {201}
    assert len({answer.content for answer in found}) == 1
    assert sum("idempotent-replay" in answer.headers for answer in found) == 5
    assert count(opened, TokenRow) == before + 1


def test_an_answer_that_cannot_be_kept_leaves_nothing_done(opened, monkeypatch):
    before = count(opened, TokenRow)

    def broken(*_arguments):
        raise RuntimeError("the process ends here")

    with monkeypatch.context() as patched:
        patched.setattr("miner_service.http.access.deps.keep_answer", broken)
        assert issue(opened).status_code == 500
    assert count(opened, TokenRow) == before
    assert issue(opened).status_code == 201


def test_after_a_day_a_key_is_new(opened):
    first = issue(opened)
    opened.clock.ahead += answers.KEPT - timedelta(minutes=1)
    assert issue(opened).content == first.content
    opened.clock.ahead += timedelta(minutes=2)
    later = issue(opened)
    assert later.content != first.content
    assert "idempotent-replay" not in later.headers
    assert count(opened, AnswerRow) == 1


@pytest.mark.parametrize("key", ["", "a b", "x" * 256, "é", "a\tb"])
def test_a_key_that_is_none_is_refused(opened, key):
    headers = {"Idempotency-Key": key.encode("latin-1")}
    answer = opened.admin("POST", "/v1/studies/s/tokens", json={"name": "ana"}, headers=headers)
    assert_problem(answer, 422, "option-invalid", "Idempotency-Key")
