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
from tests.pramana.face.mistakes import Mistake

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


MISTAKES = [
    Mistake(
        "an address without https",
        lambda: _connect("miner.example.org"),
        OptionError,
        ("url", "'miner.example.org'", "http or https"),
    ),
    Mistake(
        "an address that would tell the token",
        lambda: _connect("http://miner.example.org"),
        OptionError,
        ("url", "'http://miner.example.org'", "unencrypted", "https", "allow_insecure=True"),
    ),
    Mistake(
        "an address with a password",
        lambda: _connect("https://me:secret@miner.example.org"),
        OptionError,
        ("url", "a host and a path only"),
    ),
    Mistake("no address", lambda: _connect(None), OptionError, ("url", "None", "string")),
    Mistake(
        "a miner that is not there",
        lambda: _connect(answer=_down),
        Unreachable,
        (URL, "could not be reached", "check the address"),
    ),
    Mistake(
        "no token", lambda: pm.connect(URL), OptionError, ("token_file must name the file", "token")
    ),
    Mistake(
        "a token twice",
        lambda: pm.connect(URL, token=TOKEN, token_file="analyst.token"),
        OptionError,
        ("token", "token_file", "only one"),
    ),
    Mistake(
        "a token's file as the token",
        lambda: pm.connect(URL, token="analyst.token"),
        OptionError,
        ("token is not a token", "path", "token_file"),
    ),
    Mistake(
        "a token's path as the token",
        lambda: pm.connect(URL, token=Path("analyst.token")),  # type: ignore[arg-type]
        OptionError,
        ("token must be a string", "Path", "token_file"),
    ),
    Mistake(
        "a token with its header's word",
        lambda: pm.connect(URL, token=f"Bearer {TOKEN}"),
        OptionError,
        ("token", "'Bearer'"),
    ),
    Mistake(
        "a token as its file",
        lambda: pm.connect(URL, token_file=TOKEN),
        OptionError,
        ("token_file must be the path of a file", "pass that as token"),
    ),
    Mistake(
        "a token's file that is not there",
        lambda: pm.connect(URL, token_file="no/such.token"),
        KeyFileError,
        ("token_file", "'no/such.token'", "no file that is there"),
    ),
    Mistake(
        "a token's file that others may read",
        _of_file(TOKEN, 0o644),
        KeyFileError,
        ("token_file", "nobody but you", "chmod 600"),
    ),
    Mistake(
        "a token's file that holds something else",
        _of_file("hello\n", 0o600),
        KeyFileError,
        ("token_file must hold a token", "does not"),
    ),
    Mistake(
        "a token that was revoked",
        lambda: _connect(token=TOKEN[:-1] + "y"),
        Unauthenticated,
        (URL, "does not take this token", "ask whoever runs the study"),
    ),
    Mistake(
        "a study by a wrong name",
        lambda: _connect().study("voyages"),
        NotFound,
        ("'voyages'", "it may see 'voyage'"),
    ),
    Mistake(
        "a study by its number",
        lambda: _connect().study(0),
        OptionError,
        ("name must be a study's name", "0 (int)"),
    ),
    Mistake(
        "a class in place of an estimator",
        lambda: _study().run(pm.DecisionTree),
        OptionError,
        ("learner must be an estimator", "the class DecisionTree"),
    ),
    Mistake(
        "a learner by its name",
        lambda: _study().run("decision-tree"),
        OptionError,
        ("learner must be an estimator", "'decision-tree'"),
    ),
    Mistake(
        "scikit-learn's estimator at a miner",
        lambda: _study().run(_sklearn()),
        OptionError,
        ("learner must be an estimator", "DecisionTreeClassifier"),
    ),
    Mistake(
        "records passed to a job",
        lambda: _study().run(pm.DecisionTree("survived"), pm.example("titanic")),
        OptionError,
        ("records must be one of 'identical', 'common', 'any'", "DataFrame"),
    ),
    Mistake(
        "records of no kind that there is",
        lambda: _study().run(pm.DecisionTree("survived"), records="all"),
        OptionError,
        ("records must be one of", "'all'"),
    ),
    Mistake(
        "an estimator of a job that there is not",
        lambda: _study().run(pm.DecisionTree("survived"), estimator="em"),
        OptionError,
        ("estimator must be one of 'auto', 'moment'", "'em'"),
    ),
    Mistake(
        "an order of a job that is none",
        lambda: _study().table("sex", estimator="pooled", order=0),
        OptionError,
        ("order must be", "equal to 1", "0 (int)"),
    ),
    Mistake(
        "one feature in place of a list, at a miner",
        lambda: _study().run(pm.DecisionTree("survived", "sex")),
        OptionError,
        ("features must be", "list", "'sex'"),
    ),
    Mistake(
        "an option of a job that is text",
        lambda: _study().run(pm.DecisionTree("survived", max_depth="4")),  # type: ignore[arg-type]
        OptionError,
        ("max_depth must be", "'4'"),
    ),
    Mistake(
        "an option of a job that is out of its range",
        lambda: _study().run(pm.BayesClassifier("survived", max_parents=9)),
        OptionError,
        ("max_parents must be", "9"),
    ),
    Mistake(
        "a table of no variables, at a miner",
        lambda: _study().table([]),
        OptionError,
        ("variables must name a variable", "empty"),
    ),
    Mistake(
        "a table of a set of variables, at a miner",
        lambda: _study().table({"sex"}),
        OptionError,
        ("variables must be a name or a list of names", "set"),
    ),
    Mistake(
        "a job that there is not",
        lambda: _study().job("j-2"),
        NotFound,
        ("'voyage' has no job 'j-2'", "jobs() lists them"),
    ),
    Mistake(
        "a model that is asked for too soon",
        lambda: _study().job("j-1").model,
        NotReady,
        ("j-1", "running", "25%", "wait()"),
    ),
    Mistake(
        "a time to wait that is text",
        lambda: _study().job("j-1").wait("10 s"),
        OptionError,
        ("timeout must be a number of seconds", "'10 s'"),
    ),
    Mistake(
        "no attempts at all",
        lambda: _connect(attempts=0),
        OptionError,
        ("attempts must be", "at least 1", "0 (int)"),
    ),
]
