"""The agent's process: publications one at a time, and no error that quotes a record."""

import asyncio
import threading
import time

import httpx
import pytest

from owner_agent.http import FailureMiddleware, create_app, is_loopback
from owner_agent.release.approval import Approval
from owner_agent.release.options import PublishOptions
from pramana_core.errors import Conflict, NotFound
from pramana_core.wire.base import holding


@pytest.fixture
def app(bench):
    return create_app(bench.folder / "site.toml", bench.environment)


@pytest.fixture
def start(bench, app):
    """Start a publication, as a page does after a yes to what the site says now."""
    options = PublishOptions(part_records=20)
    return lambda: app.state.agent.publications.start(options, Approval.of(bench.site)).id


@pytest.fixture
def ended(app):
    def wait(identity):
        while (publication := app.state.agent.publications.get(identity)).state == "running":
            time.sleep(0.01)
        return publication

    return wait


def get(app, path):
    async def send():
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://agent") as client:
            return await client.get(path)

    return asyncio.run(send())


def test_anybody_may_ask_whether_it_lives_and_nothing_else(app):
    assert get(app, "/healthz").json() == {"status": "ok"}
    for path in ("/v1/status", "/v1/ledger", "/openapi.json"):
        assert get(app, path).status_code == 404


def test_a_publication_from_start_to_end(app, bench, start, ended):
    found = ended(start())
    assert (found.state, found.parts_sent, found.parts) == ("succeeded", 3, 3)
    assert found.outcome["name"] == bench.miner.sealed()[0]["manifest"].name
    assert app.state.agent.publications.last() == found
    with pytest.raises(NotFound):
        app.state.agent.publications.get("none")


def test_a_publication_that_fails_says_why(bench, start, ended):
    # The study, the linkage secret and what the study tells are asked for first.
    bench.miner.faults = [None, None, None, ("before", httpx.ConnectError("down"))]
    found = ended(start())
    assert (found.state, found.problem.code) == ("failed", "miner-unreachable")
    assert "safe in the outbox" in found.problem.detail


def _quotes(*_words, **_named):
    raise ValueError("PATIENT-00001 smokes")


def test_what_an_unforeseen_error_says_is_in_no_log(app, start, ended, monkeypatch, capfd):
    """It may quote a record: neither a publication's thread nor the server prints it."""
    monkeypatch.setattr("owner_agent.http.publish", _quotes)
    found = ended(start())
    assert (found.state, "PATIENT" in found.model_dump_json()) == ("failed", False)
    said = capfd.readouterr()
    assert "A publication failed: ValueError. It was raised at test_service.py, line" in said.err
    app.add_api_route("/breaks", lambda: _quotes())
    answer = get(FailureMiddleware(app), "/breaks")
    assert (answer.status_code, "PATIENT" in answer.text) == (500, False)
    said = capfd.readouterr()
    assert "A request failed: ValueError. It was raised at test_service.py, line" in said.err
    assert "PATIENT" not in said.out + said.err
    with pytest.raises(ValueError, match="PATIENT"):
        get(app, "/breaks")  # as the server would get, and log, it otherwise


def test_a_state_directory_without_its_ledger_publishes_nothing(bench, start, ended):
    (bench.state / "ledger.sqlite").unlink()
    found = ended(start())
    assert (found.state, found.problem.code) == ("failed", "history-lost")
    assert bench.miner.lines == ["GET /v1/studies/asia", "POST /v1/studies/asia/linkage"]


@pytest.mark.parametrize("people", ["same", "different"])
def test_a_publication_says_what_the_study_says_of_its_people(bench, start, ended, people):
    bench.miner.people = people
    assert ended(start()).people.startswith(f"Study asia says that its owners {holding(people)}: ")
    lines = bench.miner.lines
    assert lines.index("GET /v1/studies/asia") < lines.index("POST /v1/studies/asia/releases")


def test_a_publication_goes_on_where_nobody_says_anything_of_the_people(bench, start, ended):
    bench.miner.faults = [("before", httpx.ConnectError("down"))]
    found = ended(start())
    assert found.state == "succeeded"
    assert "http://127.0.0.1:9" in found.people


def test_one_publication_at_a_time(bench, start, ended):
    go = threading.Event()
    handle = bench.miner._handle
    bench.miner._handle = lambda request: (go.wait(), handle(request))[1]
    first = start()
    with pytest.raises(Conflict) as refused:
        start()
    assert refused.value.where == first
    go.set()
    assert ended(first).state == "succeeded"
    assert ended(start()).outcome["already"] is True


@pytest.mark.parametrize(
    ("host", "local"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("127.9.9.9", True),
     ("0.0.0.0", False), ("::", False), ("example.org", False)],
)  # fmt: skip
def test_loopback(host, local):
    assert is_loopback(host) is local
