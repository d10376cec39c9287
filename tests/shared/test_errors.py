"""The tree of errors: what each class says of itself, and how it is told over HTTP."""

from __future__ import annotations

import re

import pytest

from pramana_core import errors
from pramana_core.errors import Refused, StateError, error_classes
from pramana_core.wire.problems import (
    HTTP_PROBLEMS,
    invalid_request,
    known_problems,
    problem_of,
    problem_of_status,
    read_problem,
    unforeseen,
)

CLASSES = [kind for kind in error_classes() if kind.__module__ == "pramana_core.errors"]


def test_every_class_has_a_code_and_a_title_of_its_own():
    for names in ([kind.code for kind in CLASSES], [kind.title for kind in CLASSES]):
        assert len(set(names)) == len(names) > 50
    assert not {kind.code for kind in CLASSES} & set(HTTP_PROBLEMS)


def test_statuses_and_exit_codes_are_those_of_the_class_refined():
    told = {kind: (kind.http_status, kind.exit_code) for kind in CLASSES}
    assert told[errors.EmptyTable] == told[errors.InputError] == (422, 2)
    assert told[errors.RecordsCorrected] == told[errors.PlanConflict] == (409, 2)
    assert told[errors.NotConverged] == (422, 6)
    assert told[errors.Refused] == (502, 4)


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


def test_problems_of_requests_and_of_what_nobody_foresaw():
    invalid = invalid_request("The request is cut off.", where="body")
    assert (invalid.code, invalid.status, invalid.where) == ("request-invalid", 422, "body")
    assert (unforeseen().code, unforeseen().status) == ("internal", 500)
