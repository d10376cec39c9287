"""Mistakes with miners: addresses, tokens, studies, jobs, and what these are asked to do."""

from __future__ import annotations

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


MISTAKES: Mistakes = {
    (OptionError, "url"): [
        lambda: _connect("miner.example.org"),
        lambda: _connect("http://miner.example.org"),
    ],
    (OptionError, "token_file"): [lambda: pm.connect(URL)],
    (OptionError, "token"): [lambda: pm.connect(URL, token="analyst.token")],
    (OptionError, "learner"): [lambda: _study().run(pm.DecisionTree)],
    (OptionError, "records"): [
        lambda: _study().run(pm.DecisionTree("survived"), pm.example("titanic")),
    ],
    (OptionError, "estimator"): [lambda: _study().run(pm.DecisionTree("survived"), estimator="em")],
    (OptionError, "order"): [lambda: _study().table("sex", estimator="pooled", order=0)],
    (OptionError, "features"): [lambda: _study().run(pm.DecisionTree("survived", "sex"))],
    (OptionError, "max_depth"): [lambda: _study().run(pm.DecisionTree("survived", max_depth="4"))],
    (OptionError, "alpha"): [lambda: _study().run(pm.BayesClassifier("survived", alpha=0))],
    (OptionError, "variables"): [lambda: _study().table([])],
    (OptionError, "timeout"): [lambda: _study().job("j-1").wait("10 s")],
    (Unreachable, "https://miner.example.org"): [lambda: _connect(answer=_down)],
    (KeyFileError, "token_file"): [lambda: pm.connect(URL, token_file="no/such.token")],
    (Unauthenticated, "token"): [lambda: _connect(token=TOKEN[:-1] + "y")],
    (NotFound, "name"): [lambda: _connect().study("voyages")],
    (NotFound, "job"): [lambda: _study().job("j-2")],
    (NotReady, "j-1"): [lambda: _study().job("j-1").model],
}
