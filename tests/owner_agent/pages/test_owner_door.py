"""Who gets to the owner's pages: by the link, once, in one browser, under the address printed."""

from __future__ import annotations

import re
import socket
import threading
from contextlib import contextmanager

import httpx
import pytest
import uvicorn

from owner_agent.pages.app import create_app
from tests.owner_agent.pages.conftest import URL, OwnersBrowser

PAGES = ("", "plan", "plan/report", "publish", "left", "publications/x")


def test_the_link_becomes_a_cookie_that_scripts_and_other_sites_cannot_use(served, stranger):
    answer = stranger.get(served.link)
    assert answer.status_code == 200
    cookie = answer.headers["set-cookie"]
    for part in ("HttpOnly", "SameSite=Strict"):
        assert part in cookie
    assert "pramana_owner_8100=" in cookie
    key = served.link.partition("key=")[2]
    assert len(key) >= 43
    assert key not in cookie
    assert key not in answer.text
    # Our own page leads on, for a strict cookie goes only where our own site leads.
    assert '<meta http-equiv="refresh" content="0; url=./">' in answer.text
    assert stranger.get("/pages/").status_code == 200


def test_the_link_works_once(served, browser, stranger):
    again = stranger.get(served.link)
    assert again.status_code == 401
    assert "set-cookie" not in again.headers
    assert "start it again" in again.text
    assert browser.get(served.link).status_code == 200, "who is in stays in"


@pytest.mark.parametrize("key", ["", "guessed", "é", "None"])
def test_no_other_link_opens(stranger, key):
    answer = stranger.get("/pages/enter", params={"key": key})
    assert (answer.status_code, answer.headers.get("set-cookie")) == (401, None)


@pytest.mark.slow
def test_nobody_else_sees_a_page(served, browser, stranger):
    for page in PAGES:
        assert browser.get(f"/pages/{page}").status_code in (200, 404), page
        assert stranger.get(f"/pages/{page}").status_code == 401, page


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:8100", 200),
        ("localhost:8100", 200),
        ("evil.example", 403),
        ("evil.example:8100", 403),
        ("127.0.0.1", 403),
        ("127.0.0.1:8101", 403),
        ("127.0.0.1:8100.evil.example", 403),
        ("", 403),
    ],
)
def test_no_other_name_leads_here(browser, host, status):
    cookie = browser.client.cookies["pramana_owner_8100"]
    headers = {"Host": host, "Cookie": f"pramana_owner_8100={cookie}"}
    assert browser.get("/pages/left", headers=headers).status_code == status


def test_the_link_is_not_used_up_under_another_name(served, stranger):
    address = served.link.removeprefix(URL)
    assert stranger.get(address, headers={"Host": "evil.example"}).status_code == 403
    assert stranger.get(address).status_code == 200


def test_a_form_without_its_word_is_refused(browser, bench, served):
    browser.get("/pages/publish")
    sent = {"shown": "x", "yes": "on"}
    for word in ("", "0" * 64):
        answer = browser.post("/pages/publish", sent, word=word)
        assert answer.status_code == 403
        assert "403, forbidden" in answer.text
    assert bench.miner.requests == []
    other = OwnersBrowser(served.app)
    assert other.post("/pages/publish", sent, word=browser.word).status_code == 401


def test_a_form_that_is_none_or_too_long_is_refused(browser):
    browser.get("/pages/publish")
    answer = browser.client.post("/pages/publish", content=b"\xff", headers={"Accept": "text/html"})
    assert (answer.status_code, "not a form" in answer.text) == (422, True)
    long = browser.client.post("/pages/publish", content=b"a=" + b"b" * (1 << 16))
    assert long.status_code == 413
    odd = browser.client.post("/pages/publish", headers={"Content-Length": "-1"}, content=b"")
    assert odd.status_code == 413


@pytest.mark.parametrize("said", [{}, {"Content-Length": "3", "Transfer-Encoding": "chunked"}])
def test_a_form_that_hides_its_length_is_refused(browser, said):
    """Sent in chunks it could be of any length, whatever length is said beside it."""
    browser.get("/pages/publish")
    answer = browser.client.post("/pages/publish", content=iter([b"a=b"]), headers=said)
    assert answer.status_code == 413
    assert "does not state the length" in answer.text
    asked = browser.client.request("GET", "/pages/left", headers={"Transfer-Encoding": "chunked"})
    assert asked.status_code == 413


@pytest.mark.slow
@pytest.mark.parametrize("page", [*PAGES, "static/pages.css", "static/nothing.css", "nowhere"])
def test_every_answer_is_kept_by_nobody_and_loads_nothing_from_elsewhere(browser, page):
    answer = browser.get(f"/pages/{page}")
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    if page.startswith("static") and answer.status_code == 200:
        return
    assert answer.headers["cache-control"] == "no-store"
    framed = page == "plan/report"
    assert ("unsafe-inline" in policy) is framed
    assert answer.headers["x-frame-options"] == ("SAMEORIGIN" if framed else "DENY")
    if not framed:
        assert not re.search(r"<script(?![^>]* src=)|style=|<style", answer.text)
    assert not re.findall(r"""(?:src|href|action|url)\s*=\s*["']?(?:https?:)?//""", answer.text)


@contextmanager
def listening(app, sock):
    """Serve an application in a thread by the server that it has in earnest."""
    server = uvicorn.Server(uvicorn.Config(app, http="h11", log_level="warning", ws="none"))
    ready = threading.Event()
    startup = server.startup

    async def started(sockets=None):
        await startup(sockets=sockets)
        ready.set()

    server.startup = started
    thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]})
    thread.start()
    ready.wait()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join()


def test_a_page_that_fails_says_nothing_of_what_it_met(bench, monkeypatch, capfd):
    """Neither in its answer nor at the terminal, where the server logs what it is not spared."""

    def fails(*_words):
        raise ValueError("PATIENT-00001 smokes")

    monkeypatch.setattr("owner_agent.pages.revealing.LedgerSummary.of", fails)
    with socket.create_server(("127.0.0.1", 0)) as sock:
        url = f"http://127.0.0.1:{sock.getsockname()[1]}"
        app = create_app(bench.folder / "site.toml", bench.environment, url)
        with listening(app, sock), httpx.Client(timeout=None) as client:
            assert client.get(app.link).status_code == 200
            answer = client.get(f"{url}/pages/left")
    assert answer.status_code == 500
    assert "the terminal shows its kind" in answer.text
    assert answer.headers["cache-control"] == "no-store"
    assert "PATIENT" not in answer.text
    told = capfd.readouterr()
    assert "A page failed: ValueError." in told.err
    assert "PATIENT" not in told.out + told.err
    assert "Traceback" not in told.err


def test_the_root_leads_to_the_pages_and_says_that_it_lives(stranger):
    assert stranger.get("/healthz").json() == {"status": "ok"}
    assert stranger.get("/openapi.json").status_code == 401
    answer = stranger.get("/", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "./pages/")
