"""Signing in to the pages, staying, and being signed out; what the API never takes."""

from __future__ import annotations

import json
import re
from datetime import timedelta

import pytest
from sqlalchemy import func, select

from miner_service.store.schema import SessionRow
from tests.miner_service.http.pages.browsers import Browser


@pytest.fixture
def browser(miner):
    return Browser(miner)


def test_a_browser_is_led_to_the_way_in_and_a_program_is_not(browser, miner):
    there = browser.get("/", follow_redirects=False)
    assert (there.status_code, there.headers["location"]) == (303, "./pages/studies")
    way_in = browser.get("/pages/studies")
    assert way_in.url.path == "/pages/sign-in"
    assert way_in.url.params["then"] == "/pages/studies"
    assert miner.nobody("GET", "/v1/dashboard").status_code == 401


def test_a_token_signs_in_by_a_cookie_that_scripts_and_other_sites_cannot_use(browser, miner):
    answer = browser.sign_in(miner.admin.token)
    assert answer.url.path == "/pages/studies"
    (cookie,) = [c for c in answer.history[-1].headers.get_list("set-cookie") if "session" in c]
    for part in ("HttpOnly", "SameSite=Strict", "Max-Age=28800"):
        assert part in cookie
    assert miner.admin.token not in cookie
    assert miner.admin.token.partition(".")[2] not in answer.text
    policy = answer.headers["content-security-policy"]
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy
    assert not re.search(r"<script(?![^>]* src=)|style=|https?://", answer.text)


def test_a_wrong_token_is_told_so_and_nothing_else(browser):
    answer = browser.sign_in("t-000000000000.guessed")
    assert answer.status_code == 401
    assert answer.url.path == "/pages/sign-in"
    assert browser.get("/pages/studies").url.path == "/pages/sign-in"


@pytest.mark.parametrize("then", ["https://evil.example/", "//evil.example", "/pages//evil", "/x"])
def test_after_signing_in_one_stays_here(browser, miner, then):
    assert browser.sign_in(miner.admin.token, then=then).url.path == "/pages/studies"


def test_a_form_without_its_word_is_refused(browser, miner):
    browser.sign_in(miner.admin.token)
    for word in ("", "0" * 64):
        answer = browser.post("/pages/studies", {"name": "s"}, word=word)
        assert answer.status_code == 403
    assert browser.post("/pages/studies", {"name": "s"}).url.path == "/pages/studies/s"
    other = Browser(miner)
    other.sign_in(miner.study("s").token)
    assert browser.post("/pages/sign-out", {}, word=other.word).status_code == 403


def test_a_session_ends_by_signing_out_whoever_has_its_cookie(browser, miner):
    browser.sign_in(miner.admin.token)
    kept = browser.cookie
    assert browser.get("/pages/studies").url.path == "/pages/studies"
    assert browser.post("/pages/sign-out", {}).url.path == "/pages/sign-in"
    thief = Browser(miner)
    thief.client.cookies.set("pramana_session", kept, path="/pages")
    assert thief.get("/pages/studies").url.path == "/pages/sign-in"


def test_a_session_ends_by_itself_and_with_its_token(browser, miner):
    analyst = miner.study("s")
    browser.sign_in(analyst.token)
    assert browser.get("/pages/studies/s").status_code == 200
    for minutes in range(20, 481, 20):
        assert browser.get("/pages/studies/s").url.path == "/pages/studies/s"
        miner.clock.ahead = timedelta(minutes=minutes)
    assert browser.get("/pages/studies/s").url.path == "/pages/sign-in"
    browser.sign_in(analyst.token)
    assert browser.get("/pages/studies/s").status_code == 200
    assert miner.admin("DELETE", f"/v1/tokens/{analyst.id}").status_code == 204
    assert browser.get("/pages/studies/s").url.path == "/pages/sign-in"
    late = browser.post("/pages/studies/s/jobs", {"kind": "contingency-table"})
    assert late.status_code == 401
    assert "Sign in" in late.text


def test_a_session_ends_after_half_an_hour_without_a_request(browser, miner):
    browser.sign_in(miner.admin.token)
    for minutes in (29, 58, 87):  # each request begins the half hour anew
        miner.clock.ahead = timedelta(minutes=minutes)
        assert browser.get("/pages/studies").url.path == "/pages/studies"
    miner.clock.ahead = timedelta(minutes=87 + 31)
    assert browser.get("/pages/studies").url.path == "/pages/sign-in"


def test_after_a_restart_sessions_go_on_and_what_ended_stays_ended(browser, miner, start):
    token = miner.study("s").token  # the fixture renews the admin's at each start
    browser.sign_in(token)
    ended = browser.cookie
    browser.post("/pages/sign-out", {})
    browser.sign_in(token)
    again = start(at=miner.data)
    for cookie, where in ((browser.cookie, "/pages/studies"), (ended, "/pages/sign-in")):
        with_cookie = Browser(again)
        with_cookie.client.cookies.set("pramana_session", cookie, path="/pages")
        assert with_cookie.get("/pages/studies").url.path == where


def test_a_token_has_a_bounded_number_of_sessions(browser, miner):
    browser.sign_in(miner.admin.token)
    first = browser.cookie
    for _ in range(20):
        miner.clock.ahead += timedelta(seconds=1)
        Browser(miner).sign_in(miner.admin.token)
    with miner.services.database.read() as session:
        assert session.scalar(select(func.count()).select_from(SessionRow)) == 20
    browser.client.cookies.set("pramana_session", first, path="/pages")
    assert browser.get("/pages/studies").url.path == "/pages/sign-in"


def test_a_cookie_counts_for_nothing_at_the_api(browser, miner):
    browser.sign_in(miner.admin.token)
    browser.client.cookies.set("pramana_session", browser.cookie, path="/")
    answer = browser.client.get("/v1/studies", headers={"Accept": "application/json"})
    assert answer.status_code == 401


def test_a_cookie_that_was_changed_is_none(browser, miner):
    browser.sign_in(miner.admin.token)
    cookie = browser.cookie
    for changed in (cookie[:-8] + "AAAAAAAA", "x", "é", cookie + "A"):
        browser.client.cookies.clear()
        answer = browser.client.get(
            "/pages/studies",
            headers={"Accept": "text/html", "Cookie": f"pramana_session={changed}".encode()},
        )
        assert answer.url.path == "/pages/sign-in"


def lines_of(miner, action):
    lines = map(json.loads, (miner.data / "audit.jsonl").read_text().splitlines())
    return [line for line in lines if line["action"] == action]


def test_who_signed_in_and_out_is_in_the_audit_log(browser, miner):
    analyst = miner.study("s")
    browser.sign_in(analyst.token)
    browser.post("/pages/sign-out", {})
    browser.sign_in("t-000000000000.guessed")
    named = ("token", "role", "name", "study", "outcome")
    known = (analyst.id, "analyst", "ana", "s", 303)
    told = {
        action: [tuple(one[key] for key in named) for one in lines_of(miner, action)]
        for action in ("sign_in", "sign_out")
    }
    assert told == {"sign_in": [known, (None, None, None, None, 401)], "sign_out": [known]}


def test_strangers_who_sign_out_do_not_fill_the_audit_log(browser, miner):
    browser.get("/pages/sign-in")
    for _ in range(5):
        assert browser.post("/pages/sign-out", {}).url.path == "/pages/sign-in"
    assert [line["outcome"] for line in lines_of(miner, "sign_out")] == [303]
    miner.clock.ahead += timedelta(minutes=1)
    browser.post("/pages/sign-out", {})
    assert [line.get("unnoted") for line in lines_of(miner, "sign_out")] == [None, 4]


def test_a_session_whose_token_was_revoked_ends_without_a_line_each_time(browser, miner):
    analyst = miner.study("s")
    browser.sign_in(analyst.token)
    browser.get("/pages/studies/s")
    kept, word = browser.cookie, browser.word
    assert miner.admin("DELETE", f"/v1/tokens/{analyst.id}").status_code == 204
    browser.post("/pages/sign-out", {}, word=word)
    (line,) = lines_of(miner, "sign_out")
    assert (line["token"], line["outcome"]) == (None, 303)
    browser.client.cookies.set("pramana_session", kept, path="/pages")
    assert browser.get("/pages/studies").url.path == "/pages/sign-in"
