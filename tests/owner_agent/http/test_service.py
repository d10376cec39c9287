"""The local agent over HTTP: who may ask, what it answers, and a real process once."""

import asyncio
import json
import threading
import time

import httpx
import pytest

from owner_agent.http import FailureMiddleware, agent_token, create_app, is_loopback
from pramana_core.errors import KeyFileError
from pramana_core.wire.base import holding
from pramana_core.wire.services import PROBLEM_MEDIA_TYPE, ProblemDetail

TOKEN = "agent-token-for-tests"


class Local:
    """Sends requests to an application in this process."""

    def __init__(self, app):
        self._app = app

    def request(self, method, path, **options):
        options.setdefault("headers", {"Authorization": f"Bearer {TOKEN}"})

        async def send():
            transport = httpx.ASGITransport(self._app)
            async with httpx.AsyncClient(transport=transport, base_url="http://agent") as client:
                return await client.request(method, path, **options)

        return asyncio.run(send())

    def get(self, path, **options):
        return self.request("GET", path, **options)

    def post(self, path, **options):
        return self.request("POST", path, **options)


@pytest.fixture
def agent(bench):
    return Local(create_app(bench.folder / "site.toml", TOKEN, bench.environment))


def _problem(response, status, code):
    assert response.status_code == status
    assert response.headers["content-type"] == PROBLEM_MEDIA_TYPE
    document = ProblemDetail.model_validate(response.json())
    assert (document.status, document.code) == (status, code)
    return document


def _ended(agent, location):
    while (publication := agent.get(location).json())["state"] == "running":
        time.sleep(0.01)
    return publication


def test_anybody_may_ask_whether_it_lives(agent):
    assert agent.get("/healthz", headers={"Authorization": ""}).json() == {"status": "ok"}


@pytest.mark.parametrize("path", ["status", "plan", "ledger", "publications/x"])
@pytest.mark.parametrize("given", ["", "Bearer wrong", "Bearer ", f"Basic {TOKEN}", "Bearer é"])
def test_nobody_else_may_ask_anything(agent, path, given):
    headers = {"Authorization": given.encode("latin-1")}
    _problem(agent.get(f"/v1/{path}", headers=headers), 401, "unauthenticated")


def test_a_publication_from_start_to_end(agent, bench):
    started = agent.post("/v1/publications", json={"part_records": 20})
    assert started.status_code == 202
    ended = _ended(agent, started.headers["Location"])
    assert (ended["state"], ended["parts_sent"], ended["parts"]) == ("succeeded", 3, 3)
    assert ended["outcome"]["name"] == bench.miner.sealed()[0]["manifest"].name
    status = agent.get("/v1/status").json()
    assert (status["owner"], status["study"]) == ("clinic-north", "asia")
    assert status["publication"] == ended
    assert agent.get("/v1/ledger").json()["releases"][0]["state"] == "sealed"


def test_a_publication_that_fails_says_why(agent, bench):
    # The study, the linkage secret and what the study tells are asked for first.
    bench.miner.faults = [None, None, None, ("before", httpx.ConnectError("down"))]
    ended = _ended(agent, agent.post("/v1/publications").headers["Location"])
    assert ended["state"] == "failed"
    assert ended["problem"]["code"] == "miner-unreachable"
    assert "safe in the outbox" in ended["problem"]["detail"]


def _quotes(*_words, **_named):
    raise ValueError("PATIENT-00001 smokes")


def _told_by_kind(capfd, what):
    said = capfd.readouterr()
    assert f"{what} failed: ValueError. It was raised at test_service.py, line" in said.err
    assert "PATIENT" not in said.out + said.err
    assert "Traceback" not in said.err


def test_what_an_unforeseen_error_says_is_in_no_log(bench, monkeypatch, capfd):
    """It may quote a record: neither a publication's thread nor the server prints it."""
    app = create_app(bench.folder / "site.toml", TOKEN, bench.environment)
    agent = Local(FailureMiddleware(app))
    monkeypatch.setattr("owner_agent.http.publish", _quotes)
    ended = _ended(agent, agent.post("/v1/publications").headers["Location"])
    assert (ended["state"], "PATIENT" in json.dumps(ended)) == ("failed", False)
    assert "kind stands at the agent's terminal" in ended["problem"]["detail"]
    _told_by_kind(capfd, "A publication")
    monkeypatch.setattr("owner_agent.http.ledger_json", _quotes)
    answer = agent.get("/v1/ledger")
    assert (answer.status_code, "PATIENT" in answer.text) == (500, False)
    _told_by_kind(capfd, "A request")
    with pytest.raises(ValueError, match="PATIENT"):
        Local(app).get("/v1/ledger")  # as the server would get, and log, it otherwise


def test_a_state_directory_without_its_ledger_publishes_nothing(agent, bench):
    (bench.state / "ledger.sqlite").unlink()
    ended = _ended(agent, agent.post("/v1/publications").headers["Location"])
    assert (ended["state"], ended["problem"]["code"]) == ("failed", "history-lost")
    assert "owner-agent new-epoch" in ended["problem"]["remedy"]
    assert bench.miner.lines == ["GET /v1/studies/asia", "POST /v1/studies/asia/linkage"]


@pytest.mark.parametrize("people", ["same", "different"])
def test_a_publication_says_what_the_study_says_of_its_people(agent, bench, people):
    bench.miner.people = people
    ended = _ended(agent, agent.post("/v1/publications").headers["Location"])
    assert ended["people"].startswith(f"Study asia says that its owners {holding(people)}: ")
    lines = bench.miner.lines
    assert lines.index("GET /v1/studies/asia") < lines.index("POST /v1/studies/asia/releases")


def test_a_publication_goes_on_where_nobody_says_anything_of_the_people(agent, bench):
    bench.miner.faults = [("before", httpx.ConnectError("down"))]
    ended = _ended(agent, agent.post("/v1/publications").headers["Location"])
    assert ended["state"] == "succeeded"
    assert "http://127.0.0.1:9" in ended["people"]


def test_one_publication_at_a_time(agent, bench):
    go = threading.Event()
    handle = bench.miner._handle
    bench.miner._handle = lambda request: (go.wait(), handle(request))[1]
    first = agent.post("/v1/publications").headers["Location"]
    document = _problem(agent.post("/v1/publications"), 409, "conflict")
    assert document.remedy == f"Follow it at {first}."
    go.set()
    assert _ended(agent, first)["state"] == "succeeded"
    again = agent.post("/v1/publications").headers["Location"]
    assert _ended(agent, again)["outcome"]["already"] is True


def test_the_plan_is_that_of_the_file_as_it_is_now(agent, bench, site_text):
    assert agent.get("/v1/plan").json()["records"] == 50
    assert agent.get("/v1/plan", params={"records": 9}).json()["records"] == 9
    bench.write(site_text.replace("sensitive = false", "sensitive = true"))
    _problem(agent.get("/v1/plan"), 422, "sensitive-without-channel")


def test_what_is_not_well_formed(agent):
    for records in (0, (1 << 34) + 1, 10**400):
        _problem(agent.get("/v1/plan", params={"records": records}), 422, "request-invalid")
    wrong = agent.post("/v1/publications", json={"speed": 1})
    assert "speed" in _problem(wrong, 422, "request-invalid").detail
    _problem(agent.get("/v1/nothing"), 404, "not-found")
    refused = agent.request("PUT", "/v1/status")
    _problem(refused, 405, "method-not-allowed")
    assert refused.headers["Allow"] == "GET"
    _problem(agent.get("/v1/publications/none"), 404, "not-found")


def test_the_token_is_made_once_and_private(tmp_path):
    state = tmp_path / "state"
    first = agent_token(state)
    assert len(first) >= 43
    assert agent_token(state) == first
    assert (state / "agent.token").stat().st_mode & 0o777 == 0o600
    (state / "agent.token").chmod(0o644)
    with pytest.raises(KeyFileError, match="mode 0644"):
        agent_token(state)


@pytest.mark.parametrize(
    ("host", "local"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("127.9.9.9", True),
     ("0.0.0.0", False), ("::", False), ("example.org", False)],
)  # fmt: skip
def test_loopback(host, local):
    assert is_loopback(host) is local
