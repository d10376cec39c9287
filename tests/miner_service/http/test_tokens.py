"""Tokens expire, are ended by their holder, and are listed with their last use."""

from __future__ import annotations

from datetime import timedelta

import pytest

from miner_service.settings import Settings, TokenSettings
from miner_service.store.tokens import issue_token
from pramana_core.errors import OptionError, StorageFull


def holder(of, answer):
    """Somebody with the token of an answer."""
    assert answer.status_code == 201, answer.text
    return type(of)(of.client, answer.json()["token"], answer.json()["id"])


def listed(miner, identifier):
    """What the admin is told of a token."""
    told = miner.admin.get("/v1/studies/asia/tokens")["items"]
    return next(token for token in told if token["id"] == identifier)


def test_a_token_is_good_for_as_long_as_was_asked_for(miner, assert_problem):
    miner.study("asia")
    path = "/v1/studies/asia/tokens"
    answer = miner.admin("POST", path, json={"name": "bea", "valid_days": 30})
    bea = holder(miner.admin, answer)
    assert bea.get("/v1/studies")
    miner.clock.ahead = timedelta(days=29, hours=23)
    assert bea.get("/v1/studies")
    miner.clock.ahead = timedelta(days=30, seconds=1)
    assert_problem(bea("GET", "/v1/studies"), 401, "unauthenticated")
    for days in (0, 3651, 1.5, "x"):
        wrong = miner.admin("POST", path, json={"name": "bea", "valid_days": days})
        assert_problem(wrong, 422, "request-invalid")
    with pytest.raises(OptionError):
        TokenSettings(valid_days=0)


def test_an_owners_token_is_good_for_as_long_as_its_invitation_says(miner):
    miner.study("asia")
    path = "/v1/studies/asia/invitations"
    secret = miner.admin("POST", path, json={"owner": "north", "valid_days": 5}).json()["secret"]
    miner.clock.ahead = timedelta(days=2)
    north = holder(
        miner.admin, miner.nobody("POST", "/v1/invitations/accept", json={"secret": secret})
    )
    miner.clock.ahead = timedelta(days=6.9)
    assert north("GET", "/v1/studies").status_code == 200
    miner.clock.ahead = timedelta(days=7.1)
    assert north("GET", "/v1/studies").status_code == 401
    south = miner.owner("asia", "south")
    miner.clock.ahead += timedelta(days=Settings(miner.data).tokens.valid_days - 1)
    assert south("GET", "/v1/studies").status_code == 200
    miner.clock.ahead += timedelta(days=2)
    assert south("GET", "/v1/studies").status_code == 401


def test_a_holder_ends_its_own_token_and_no_other(miner, assert_problem):
    analyst, north = miner.study("asia"), miner.owner("asia", "north")
    assert_problem(north("DELETE", f"/v1/tokens/{analyst.id}"), 404, "not-found")
    assert analyst("GET", "/v1/studies").status_code == 200
    assert north("DELETE", f"/v1/tokens/{north.id}").status_code == 204
    assert_problem(north("GET", "/v1/studies"), 401, "unauthenticated")


def test_the_last_use_is_noted_once_a_minute(miner):
    analyst = miner.study("asia")
    assert listed(miner, analyst.id)["last_used"] is None
    seen = []
    for seconds in (0, 30, 59, 61):
        miner.clock.ahead = timedelta(seconds=seconds)
        assert analyst.get("/v1/studies")
        seen.append(listed(miner, analyst.id)["last_used"])
    assert seen[0] is not None
    assert seen[0] == seen[1]
    assert seen[2] < seen[3]


def test_what_only_reads_is_answered_though_its_use_cannot_be_noted(miner, monkeypatch):
    analyst = miner.study("asia")

    def full(_: object) -> None:
        raise StorageFull("No room.")

    monkeypatch.setattr(type(miner.services.database), "write", full)
    assert analyst("GET", "/v1/studies").status_code == 200
    monkeypatch.undo()
    assert listed(miner, analyst.id)["last_used"] is None


def test_the_dashboard_warns_of_tokens_that_end_soon(miner):
    miner.study("asia")
    miner.study("europe")
    body = {"name": "bea", "valid_days": 20}
    bea = holder(miner.admin, miner.admin("POST", "/v1/studies/asia/tokens", json=body))
    path = "/v1/studies/asia/invitations"
    owners = []
    for name in ("north", "south"):
        told = miner.admin("POST", path, json={"owner": name, "valid_days": 15}).json()
        accepted = {"secret": told["secret"]}
        owners.append(holder(bea, miner.nobody("POST", "/v1/invitations/accept", json=accepted)))
    assert miner.admin.get("/v1/dashboard")["ending"] == []
    miner.clock.ahead = timedelta(days=7)

    def told(person):
        return [(t["study"], t["name"]) for t in person.get("/v1/dashboard")["ending"]]

    both = [("asia", "north"), ("asia", "south")]
    assert told(miner.admin) == told(bea) == [*both, ("asia", "bea")]
    assert told(owners[0]) == [("asia", "north")]
    with miner.services.database.write() as session:
        now = miner.clock()
        issue_token(session, role="monitor", study=None, name="watch", now=now, days=1)
    assert (None, "watch") in told(miner.admin)
    assert (None, "watch") not in told(bea)
