"""Owners that are gone, slow, interrupted or do not fit together end the session everywhere."""

import time

import httpx
import pytest

from owner_agent.peer.participant import Participant
from owner_agent.peer.protocol.steps import PROPOSE
from owner_agent.release.ledger import Ledger
from owner_agent.state.environment import WaitingTimes
from pramana_core.errors import (
    PeerDeviated,
    RecordsDoNotAlign,
    SessionEnded,
    StructureError,
    VariablesMissing,
)

SESSION = "ab" * 16


# What does not fit together ----------------------------------------------------------------------


@pytest.mark.slow
def test_records_that_differ(closed_world, parameters_task, codes):
    path = closed_world.folder("south") / "table.csv"
    lines = path.read_text().splitlines()
    path.write_text("\n".join(lines[:-1]) + "\n")
    closed_world.open()
    with pytest.raises(RecordsDoNotAlign, match="north 2000, south 1999, east 2000"):
        closed_world.run(closed_world.proposal(parameters_task))
    assert closed_world.nothing_anywhere()
    assert not any("/parts/" in sent.line for sent in closed_world.wire.sent)
    for owner in closed_world.told:
        assert "not the same set" in closed_world.told[owner][-1]
        states = {e.state for e in Ledger(closed_world.folder(owner) / ".pramana").entries()}
        assert states == {"discarded"}


def test_a_variable_nobody_has_and_one_that_two_have(world, closed_world, make_site, codes):
    task = {"kind": "parameters", "structure": {"A": [], "C": [], "E": ["Q"], "Q": []}}
    with pytest.raises(VariablesMissing, match="'Q'"):
        world.run(world.proposal(task))
    text = make_site("east", {"E": None, "C": None})
    (closed_world.folder("east") / "site.toml").write_text(text)
    table = ["id,E,C", *(f"Zq{i:04d}Person,no,no" for i in range(2000))]
    (closed_world.folder("east") / "table.csv").write_text("\n".join(table) + "\n")
    closed_world.open()
    task = {"kind": "parameters", "structure": {"A": [], "C": [], "E": []}}
    with pytest.raises(StructureError, match="Both south and east have a variable 'C'"):
        closed_world.run(closed_world.proposal(task, session="cd" * 16))
    assert closed_world.nothing_anywhere()


# Owners that are gone or slow --------------------------------------------------------------------


def test_an_address_that_is_no_owners_agent(world, ended):
    world.wire.bend = lambda receiver, request: (
        httpx.Response(200, content=b"<html>") if receiver == "south" else None
    )
    ended(PeerDeviated, "south sent a malformed Signed", heard=("north", "east"))


def test_a_session_ends_by_its_deadline_if_nobody_calls(world, parameters_task):
    partner = world.participants["north"].partners("south")
    partner.ask(PROPOSE, SESSION, world.proposal(parameters_task))
    south = world.participants["south"]
    world.later(60 + WaitingTimes.grace)
    south.sweep()
    assert south.session.phase == "offered"
    world.later(1)
    south.sweep()
    assert south.session.phase == "ended"
    assert "no result within 60 seconds" in world.told["south"][-1]


@pytest.mark.parametrize("hurry", [{"grace": 1e6}])
def test_an_owner_that_learns_for_too_long_is_named(world, ended, monkeypatch):
    """South's learner runs until the session ends; north's clock goes on meanwhile."""
    learned = Participant._learned

    def slow(self, mine, watch):
        if self.name == "south":
            world.later(61)
        while self.name == "south":
            watch(0, 1)
            time.sleep(0.01)
        return learned(self, mine, watch)

    monkeypatch.setattr(Participant, "_learned", slow)
    ended(SessionEnded, "south.* had not learned within 60 seconds", alike=False)
