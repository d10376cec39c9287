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
    OptionError: {
        "an address without https": (
            lambda: _connect("miner.example.org"),
            "url … 'miner.example.org' … http or https",
        ),
        "an address that would tell the token": (
            lambda: _connect("http://miner.example.org"),
            "url … 'http://miner.example.org' … unencrypted … https … allow_insecure=True",
        ),
        "an address with a password": (
            lambda: _connect("https://me:secret@miner.example.org"),
            "url … a host and a path only",
        ),
        "no address": (lambda: _connect(None), "url … None … string"),
        "no token": (lambda: pm.connect(URL), "token_file must name the file … token"),
        "a token twice": (
            lambda: pm.connect(URL, token=TOKEN, token_file="analyst.token"),
            "token … token_file … only one",
        ),
        "a token's file as the token": (
            lambda: pm.connect(URL, token="analyst.token"),
            "token is not a token … path … token_file",
        ),
        "a token's path as the token": (
            lambda: pm.connect(URL, token=Path("analyst.token")),  # type: ignore[arg-type]
            "token must be a string … Path … token_file",
        ),
        "a token with its header's word": (
            lambda: pm.connect(URL, token=f"Bearer {TOKEN}"),
            "token … 'Bearer'",
        ),
        "a token as its file": (
            lambda: pm.connect(URL, token_file=TOKEN),
            "token_file must be the path of a file … pass that as token",
        ),
        "a study by its number": (
            lambda: _connect().study(0),
            "name must be a study's name … 0 (int)",
        ),
        "a class in place of an estimator": (
            lambda: _study().run(pm.DecisionTree),
            "learner must be an estimator … the class DecisionTree",
        ),
        "a learner by its name": (
            lambda: _study().run("decision-tree"),
            "learner must be an estimator … 'decision-tree'",
        ),
        "scikit-learn's estimator at a miner": (
            lambda: _study().run(_sklearn()),
            "learner must be an estimator … DecisionTreeClassifier",
        ),
        "records passed to a job": (
            lambda: _study().run(pm.DecisionTree("survived"), pm.example("titanic")),
            "records must be one of 'identical', 'common', 'any' … DataFrame",
        ),
        "records of no kind that there is": (
            lambda: _study().run(pm.DecisionTree("survived"), records="all"),
            "records must be one of … 'all'",
        ),
        "an estimator of a job that there is not": (
            lambda: _study().run(pm.DecisionTree("survived"), estimator="em"),
            "estimator must be one of 'auto', 'moment' … 'em'",
        ),
        "an order of a job that is none": (
            lambda: _study().table("sex", estimator="pooled", order=0),
            "order must be … equal to 1 … 0 (int)",
        ),
        "one feature in place of a list, at a miner": (
            lambda: _study().run(pm.DecisionTree("survived", "sex")),
            "features must be … list … 'sex'",
        ),
        "an option of a job that is text": (
            lambda: _study().run(pm.DecisionTree("survived", max_depth="4")),  # type: ignore[arg-type]
            "max_depth must be … '4'",
        ),
        "an option of a job that is out of its range": (
            lambda: _study().run(pm.BayesClassifier("survived", alpha=0)),
            "alpha must be greater than 0 … 0",
        ),
        "a table of no variables, at a miner": (
            lambda: _study().table([]),
            "variables must name a variable … empty",
        ),
        "a table of a set of variables, at a miner": (
            lambda: _study().table({"sex"}),
            "variables must be a name or a list of names … set",
        ),
        "a time to wait that is text": (
            lambda: _study().job("j-1").wait("10 s"),
            "timeout must be a number of seconds … '10 s'",
        ),
        "no attempts at all": (
            lambda: _connect(attempts=0),
            "attempts must be … at least 1 … 0 (int)",
        ),
    },
    Unreachable: {
        "a miner that is not there": (
            lambda: _connect(answer=_down),
            URL,
            "could not be reached",
            "check the address",
        )
    },
    KeyFileError: {
        "a token's file that is not there": (
            lambda: pm.connect(URL, token_file="no/such.token"),
            "token_file … 'no/such.token' … no file that is there",
        ),
        "a token's file that others may read": (
            _of_file(TOKEN, 0o644),
            "token_file … nobody but you … chmod 600",
        ),
        "a token's file that holds something else": (
            _of_file("hello\n", 0o600),
            "token_file must be an access file, or hold a token … does not",
        ),
    },
    Unauthenticated: {
        "a token that was revoked": (
            lambda: _connect(token=TOKEN[:-1] + "y"),
            URL,
            "does not take this token",
            "ask whoever runs the study",
        )
    },
    NotFound: {
        "a study by a wrong name": (
            lambda: _connect().study("voyages"),
            "'voyages' … it may see 'voyage'",
        ),
        "a job that there is not": (
            lambda: _study().job("j-2"),
            "'voyage' has no job 'j-2' … (did you mean 'j-1'?) … jobs() lists them",
        ),
    },
    NotReady: {
        "a model that is asked for too soon": (
            lambda: _study().job("j-1").model,
            "j-1 … running … 25% … wait()",
        )
    },
}
