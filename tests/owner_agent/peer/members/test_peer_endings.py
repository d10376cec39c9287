"""How a session ends: its last step, errors on their way, owners that are gone or slow."""

import time

import httpx
import pytest

from owner_agent.peer.participant import Participant
from owner_agent.peer.protocol.messages import Ending, Statements
from owner_agent.peer.protocol.steps import COMMIT, END, PARTS
from owner_agent.peer.session import error_of
from owner_agent.release.ledger import Ledger
from pramana_core.errors import (
    PeerDeviated,
    RecordsDoNotAlign,
    SessionEnded,
    StructureError,
    UnknownCategory,
    VariablesMissing,
)
from pramana_core.wire.services import problem_of

SESSION = "ab" * 16


# The last step -----------------------------------------------------------------------------------


def test_the_last_word_said_twice_does_no_harm(world, learned):
    partners, parts = learned()
    agreed = Statements(all=[p.ask(PARTS, SESSION, Statements(all=parts)) for p in partners])
    assert partners[1].ask(COMMIT, SESSION, agreed).phase == "written"
    assert partners[1].ask(COMMIT, SESSION, agreed).phase == "written"
    written = world.results("south")
    problem = problem_of(SessionEnded("too late"))
    status = partners[1].ask(END, SESSION, Ending(owner="north", problem=problem))
    assert status.phase == "written"
    assert world.results("south") == written


def test_packages_that_never_left_do_not_stay_in_the_outbox(world, parameters_task):
    north = world.participants["north"]
    world.announced(parameters_task)
    outbox = world.folder("north") / ".pramana" / "outbox"
    assert len(list(outbox.iterdir())) == 2
    north.end("north", SESSION, Ending(owner="north", problem=problem_of(SessionEnded("stop"))))
    assert list(outbox.iterdir()) == []


# Errors on their way -----------------------------------------------------------------------------


def test_an_error_comes_over_as_what_it_is():
    original = RecordsDoNotAlign("they do not", where="x", remedy="align them")
    again = error_of(problem_of(original))
    assert type(again) is RecordsDoNotAlign
    assert (again.message, again.where, again.remedy) == ("they do not", "x", "align them")
    unknown = problem_of(original).model_copy(update={"code": "of-another-version"})
    assert type(error_of(unknown)) is SessionEnded


def test_unforeseen_errors_say_nothing_of_what_they_met(world, ended, monkeypatch):
    """An error of the learner may quote a record: the others hear only that there was one."""

    def broken(*_words):
        raise ValueError("Zq0007Person")

    monkeypatch.setattr("owner_agent.peer.participant.counted_from", broken)
    ended(SessionEnded, "had an unforeseen error", alike=False)
    assert not any("Zq0007" in line for lines in world.told.values() for line in lines)
    assert not any(b"Zq0007" in sent.answer for sent in world.wire.sent)


def test_what_is_wrong_with_an_owners_files_is_said_to_it_alone(world, parameters_task):
    """A table with an unknown category: the custodian is told the row, the others that it is so."""
    path = world.folder("south") / "table.csv"
    path.write_text(path.read_text().replace("yes,no", "maybe,no", 1))
    with pytest.raises(UnknownCategory, match=r"^south cannot take part \(unknown-category\)"):
        world.run(world.proposal(parameters_task))
    assert "has values outside its categories" in str(world.participants["south"].own_error)
    assert "has values outside its categories" in world.told["south"][-1]
    heard = b"".join(sent.answer for sent in world.wire.sent)
    assert b"row" not in heard
    assert str(world.root).encode() not in heard
    assert world.nothing_anywhere()


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
        assert "different sets of records" in closed_world.told[owner][-1]
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
