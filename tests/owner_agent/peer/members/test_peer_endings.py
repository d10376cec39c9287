"""The last step of a session, and how errors travel."""

import pytest

from owner_agent.peer.protocol.messages import (
    Ending,
    Statements,
)
from owner_agent.peer.protocol.steps import COMMIT, END, PARTS
from owner_agent.peer.session import error_of
from owner_agent.state.environment import WaitingTimes
from pramana_core.errors import (
    RecordsDoNotAlign,
    SessionEnded,
    UnknownCategory,
)
from pramana_core.wire.services import problem_of

SESSION = "ab" * 16


# The last step -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_an_owner_that_is_ready_gives_up_if_nobody_has_written(world, learned):
    partners, parts = learned()
    for partner in partners:
        partner.ask(PARTS, SESSION, Statements(all=parts))
    world.later(60 + WaitingTimes.grace + 1)
    world.participants["south"].sweep()
    assert world.results("south") == {}
    world.wire.down = {"north", "south"}
    world.participants["east"].sweep()
    assert world.results("east") == {}


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
    ended(SessionEnded, "met an unforeseen error", alike=False)
    assert not any("Zq0007" in line for lines in world.told.values() for line in lines)
    assert not any(b"Zq0007" in sent.answer for sent in world.wire.sent)


def test_what_is_wrong_with_an_owners_files_is_said_to_it_alone(world, parameters_task):
    """A table with an unknown category: the custodian is told the row, the others that it is so."""
    path = world.folder("south") / "table.csv"
    path.write_text(path.read_text().replace("yes,no", "maybe,no", 1))
    with pytest.raises(UnknownCategory, match=r"^south cannot take part \(unknown-category\)"):
        world.run(world.proposal(parameters_task))
    assert "holds values that are not its categories" in str(world.participants["south"].own_error)
    assert "holds values that are not its categories" in world.told["south"][-1]
    heard = b"".join(sent.answer for sent in world.wire.sent)
    assert b"row" not in heard
    assert str(world.root).encode() not in heard
    assert world.nothing_anywhere()
