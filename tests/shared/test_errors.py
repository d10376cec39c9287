"""The tree of errors: what each class says of itself, and how it is told over HTTP."""

from __future__ import annotations

import ast
import copy
import pickle
import re
import traceback

import pytest

import pramana as pm
from pramana_core import errors
from pramana_core.errors import Refused, StateError, error_classes
from pramana_core.wire.services import (
    HTTP_PROBLEMS,
    known_problems,
    problem_of,
    problem_of_status,
    read_problem,
)
from tests.places import ROOT

CLASSES = [kind for kind in error_classes() if kind.__module__ == errors.PUBLIC]

FACE = [*(ROOT / "pramana").rglob("*.py"), *(ROOT / "shared").rglob("*.py")]
"""What people call from Python."""


def test_codes_and_titles_of_the_table_are_different():
    assert {kind.__name__ for kind in CLASSES} >= errors._TABLE.keys()
    for names in zip(*(row[:2] for row in errors._TABLE.values()), strict=True):
        assert len(set(names)) == len(names) > 40
    # A class without a row is told as its base.
    assert errors.EmptyTable.code == errors.TableError.code
    assert not {kind.code for kind in CLASSES} & set(HTTP_PROBLEMS)


def test_statuses_and_exit_codes_are_those_of_the_class_refined():
    told = {kind: (kind.http_status, kind.exit_code) for kind in CLASSES}
    assert told[errors.EmptyTable] == told[errors.InputError] == (422, 2)
    assert told[errors.RecordsCorrected] == told[errors.PlanConflict] == (409, 2)
    assert told[errors.NotConverged] == (422, 6)
    assert told[errors.Refused] == (502, 4)


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_an_error_is_called_as_users_call_it_and_can_be_sent_to_another_process(kind):
    assert getattr(pm, kind.__name__) is kind
    more = {"status": 404, "problem_code": "not-found"} if kind is Refused else {"where": "here"}
    error = kind("What.", **more, remedy="Do.")
    told = traceback.format_exception_only(error)
    assert told == [f"pramana.{kind.__name__}: What. Do.\n"]
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(error, protocol))
        assert (type(again), str(again), vars(again)) == (kind, "What. Do.", vars(error))
    assert str(copy.copy(error)) == "What. Do."


@pytest.mark.parametrize("file", sorted(FACE), ids=lambda file: str(file.relative_to(ROOT)))
def test_nobody_reads_two_tracebacks(file):
    """An error of ours says all that is to be known; what it was made from would come before it."""
    raised = [node for node in ast.walk(ast.parse(file.read_text("utf-8")))
              if isinstance(node, ast.Raise) and node.cause is not None]  # fmt: skip
    doubled = [node.lineno for node in raised if ast.unparse(node.cause) != "None"]
    assert doubled == []


def test_every_problem_has_a_sound_status_and_title():
    assert set(known_problems()) >= {kind.code for kind in CLASSES} | set(HTTP_PROBLEMS)
    for status, title in known_problems().values():
        assert 400 <= status < 600
        assert re.fullmatch(r"[A-Z][^.]*", title)


def test_an_error_is_told_whole():
    problem = problem_of(StateError("What.", where="here", remedy="Do."), "/v1/x")
    assert problem.model_dump() == {
        "type": "urn:pramana:problem:state",
        "title": StateError.title,
        "status": 409,
        "detail": "What.",
        "code": "state",
        "where": "here",
        "remedy": "Do.",
        "instance": "/v1/x",
        "request": None,
    }
    assert read_problem(problem.model_dump_json(exclude_none=True).encode()) == problem
    assert read_problem(b'{"title": "Not one"}') is None


def test_a_refusal_told_on_has_the_status_of_its_class():
    refused = Refused("No.", status=404, problem_code="not-found")
    assert (problem_of(refused).status, refused.status) == (502, 404)


@pytest.mark.parametrize(
    ("status", "code", "told"),
    [
        (404, "not-found", 404),
        (405, "method-not-allowed", 405),
        (400, "request-invalid", 422),
        (500, "internal", 500),
    ],
)
def test_what_no_route_answers(status, code, told):
    problem = problem_of_status(status, "/v1/x")
    assert (problem.code, problem.status, problem.instance) == (code, told, "/v1/x")
