"""What one side tells of an error, the other raises."""

from __future__ import annotations

import pytest

from pramana_core.errors import InputError, PramanaError, Refused, error_classes
from pramana_core.wire.services import error_of, invalid_request, problem_of, unforeseen

KINDS = {k.code: k for k in reversed(list(error_classes())) if k is not Refused}
"""Of classes with one code the base."""


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_every_error_arrives_as_what_it_was(kind: type[PramanaError]):
    found = error_of(problem_of(kind("It is so.", where="here", remedy="Do this.")))
    assert type(found) is kind
    assert (found.message, found.where, found.remedy) == ("It is so.", "here", "Do this.")


def test_a_request_that_cannot_be_read_is_the_senders_input():
    assert type(error_of(invalid_request("body: missing"))) is InputError


def test_a_code_that_no_class_has_is_a_refusal_that_says_it():
    found = error_of(unforeseen("It fell over."))
    assert isinstance(found, Refused)
    assert (found.status, found.problem_code) == (500, "internal")
    assert "It fell over." in found.message
