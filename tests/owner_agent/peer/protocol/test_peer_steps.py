"""The table of steps: each has the method that does it."""

import inspect
from typing import get_type_hints

import pytest

from owner_agent.peer.participant import Participant
from owner_agent.peer.protocol.steps import STEPS
from owner_agent.peer.session import Session
from tests.places import ROOT


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.name)
def test_the_participant_takes_and_answers_what_the_table_says(step):
    method = getattr(Participant, step.name)
    hints = get_type_hints(method)
    taken = [hints[name] for name in list(inspect.signature(method).parameters)[1:]]
    about = [str, str] if step.phase is None else [Session]
    assert taken == about + ([] if step.request is None else [step.request])
    assert hints["return"] is step.answer


def test_no_two_steps_have_one_request_and_all_are_documented():
    requests = {f"`{step.method} {step.path}`".replace("{session}", "{id}") for step in STEPS}
    assert len(requests) == len(STEPS)
    page = (ROOT / "docs" / "peers.md").read_text()
    assert [request for request in requests if f"| {request} |" not in page] == []
