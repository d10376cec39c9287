"""Mistakes with miners: addresses, tokens, studies, jobs, and what these are asked to do."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

import pramana as pm
from pramana_core.errors import (
    KeyFileError,
    NotFound,
    NotReady,
    OptionError,
    Unauthenticated,
    Unreachable,
)
from tests.pramana.face.mistakes import Mistakes

URL = "https://miner.example.org"
TOKEN = "t-0123456789ab." + "x" * 43

_STUDY = {"name": "voyage", "title": "", "created": "2026-01-01T00:00:00Z"}
_JOB = {
    "id": "j-1",
    "study": "voyage",
    "key": "k",
    "spec": {"kind": "contingency-table", "variables": ["sex"]},
    "state": "running",
    "progress": 0.25,
    "model": None,
    "problem": None,
    "created": "2026-01-01T00:00:00Z",
    "finished": None,
}
_ALIGNMENT = {
    "study": "voyage", "state": "waiting", "owners": [], "missing": [], "in_all": None,
    "in_any": None, "digest": "0" * 64,
}  # fmt: skip
_ANSWERS: dict[str, Any] = {
    "/v1/studies": {"items": [_STUDY]},
    "/v1/studies/voyage": _STUDY,
    "/v1/studies/voyage/owners": {"items": []},
    "/v1/studies/voyage/releases": {"items": []},
    "/v1/studies/voyage/alignment": _ALIGNMENT,
    "/v1/studies/voyage/jobs": _JOB,
    "/v1/jobs/j-1": _JOB,
}


def _problem(status: int, code: str, detail: str) -> httpx.Response:
    told = {"type": "urn:x", "title": "t", "status": status, "code": code, "detail": detail}
    return httpx.Response(status, json=told)


def _answer(request: httpx.Request) -> httpx.Response:
    if request.headers["authorization"] != f"Bearer {TOKEN}":
        return _problem(401, "unauthenticated", "The token is wrong or was revoked.")
    if (request.method, request.url.path) == ("GET", "/v1/studies/voyage/jobs"):
        return httpx.Response(200, json={"items": [_JOB]})
    if request.url.path not in _ANSWERS:
        return _problem(404, "not-found", "There is no such thing.")
    return httpx.Response(200, json=_ANSWERS[request.url.path])


def _down(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("down", request=request)


def _connect(url: Any = URL, answer: Any = _answer, **options: Any) -> Any:
    given = options if "token" in options or "token_file" in options else {"token": TOKEN}
    transport = httpx.MockTransport(answer)
    return pm.connect(url, transport=transport, sleep=lambda _: None, **options | given)


def _study() -> Any:
    return _connect().study("voyage")


def _of_file(text: str, mode: int) -> Callable[[], object]:
    def connect() -> object:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "analyst.token"
            path.touch(mode=0o600)
            path.write_text(text)
            path.chmod(mode)
            return _connect(token_file=path)

    return connect


def _sklearn() -> Any:
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier()


MISTAKES: Mistakes = {
    OptionError: [
        (lambda: _connect("miner.example.org"), "url"),
        (lambda: _connect("http://miner.example.org"), "url"),
        (lambda: _connect("https://me:secret@miner.example.org"), "url"),
        (lambda: _connect(None), "url"),
        (lambda: pm.connect(URL), "token_file"),
        (lambda: pm.connect(URL, token=TOKEN, token_file="analyst.token"), "token"),
        (lambda: pm.connect(URL, token="analyst.token"), "token"),
        (lambda: pm.connect(URL, token=Path("analyst.token")), "token"),  # type: ignore[arg-type]
        (lambda: pm.connect(URL, token=f"Bearer {TOKEN}"), "token"),
        (lambda: pm.connect(URL, token_file=TOKEN), "token_file"),
        (lambda: _connect().study(0), "name"),
        (lambda: _study().run(pm.DecisionTree), "learner"),
        (lambda: _study().run("decision-tree"), "learner"),
        (lambda: _study().run(_sklearn()), "learner"),
        (lambda: _study().run(pm.DecisionTree("survived"), pm.example("titanic")), "records"),
        (lambda: _study().run(pm.DecisionTree("survived"), records="all"), "records"),
        (lambda: _study().run(pm.DecisionTree("survived"), estimator="em"), "estimator"),
        (lambda: _study().table("sex", estimator="pooled", order=0), "order"),
        (lambda: _study().run(pm.DecisionTree("survived", "sex")), "features"),
        (
            lambda: _study().run(pm.DecisionTree("survived", max_depth="4")),  # type: ignore[arg-type]
            "max_depth",
        ),
        (lambda: _study().run(pm.BayesClassifier("survived", alpha=0)), "alpha"),
        (lambda: _study().table([]), "variables"),
        (lambda: _study().table({"sex"}), "variables"),
        (lambda: _study().job("j-1").wait("10 s"), "timeout"),
        (lambda: _connect(attempts=0), "attempts"),
    ],
    Unreachable: [
        (lambda: _connect(answer=_down), "https://miner.example.org"),
    ],
    KeyFileError: [
        (lambda: pm.connect(URL, token_file="no/such.token"), "token_file"),
        (_of_file(TOKEN, 0o644), "token_file"),
        (_of_file("hello\n", 0o600), "token_file"),
    ],
    Unauthenticated: [
        (lambda: _connect(token=TOKEN[:-1] + "y"), "token"),
    ],
    NotFound: [
        (lambda: _connect().study("voyages"), "name"),
        (lambda: _study().job("j-2"), "job"),
    ],
    NotReady: [
        (lambda: _study().job("j-1").model, "j-1"),
    ],
}
