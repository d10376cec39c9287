"""All owners have the result or none has, whatever stops whom, and nobody waits without end."""

import threading
import time
from dataclasses import replace

import httpx
import pytest

from owner_agent.peer import joint, participant
from owner_agent.peer.exchange.outgoing import draws_of, share_of
from owner_agent.peer.exchange.session_record import session_name, session_records
from owner_agent.peer.protocol.messages import Ending, Statements
from owner_agent.peer.protocol.steps import ANNOUNCEMENTS, COMMIT, END, PARTS, PROPOSE, STATUS
from owner_agent.peer.session_results import earlier_status
from owner_agent.randomize.draws import draw_id
from owner_agent.release.composition import refuse_conflicts
from owner_agent.release.ledger import Ledger
from owner_agent.site.planning import planned
from owner_agent.site.site import load_site
from owner_agent.state.environment import WaitingTimes
from owner_agent.state.lock import publishing_alone
from pramana_core.errors import (
    Conflict,
    NotFound,
    PeerUnreachable,
    PlanConflict,
    SessionEnded,
    StateError,
    StoreCorrupt,
)
from pramana_core.wire.services import problem_of

SESSION = "ab" * 16


def agree(partners, parts):
    return Statements(all=[p.ask(PARTS, SESSION, Statements(all=parts)) for p in partners])


def same_everywhere(world):
    return world.results("north") == world.results("south") == world.results("east") != {}


# From the moment all have agreed -----------------------------------------------------------------


@pytest.mark.slow
def test_an_owner_that_was_started_again_still_tells(world, parameters_task):
    outcome = world.run(world.proposal(parameters_task))
    world.open()
    for caller in ("south", "east"):
        told = world.participants[caller].partners("north").ask(STATUS, SESSION)
        assert (told.phase, told.digest) == ("written", outcome.digest)
        assert sorted(signed.owner for signed in told.agreed.all) == ["east", "north", "south"]
    # The control: of no other session, and to no other owner.
    with pytest.raises(NotFound):
        world.participants["south"].partners("north").ask(STATUS, "cd" * 16)
    with pytest.raises(NotFound):
        world.participants["north"].status("west", SESSION)
    with pytest.raises(NotFound):
        world.participants["north"].status("south", "../sessions/" + SESSION)


@pytest.mark.slow
def test_a_result_that_lacked_its_name_only_gets_it_at_the_next_start(
    world, parameters_task, monkeypatch
):
    """The process stops between the proof of the agreement and the files' name."""
    world.run(world.proposal(parameters_task))
    models = world.folder("east") / "models"
    (models / SESSION).rename(models / f".unfinished-{SESSION}")
    assert not same_everywhere(world)
    world.open()
    assert same_everywhere(world)


def test_a_lie_that_the_result_was_written_is_not_believed(world, learned):
    """South says that it wrote; without everybody's signature east does not write alone."""
    partners, parts = learned()
    agreed = agree(partners, parts)
    south = world.participants["south"].session
    south.phase, south.agreed = "written", Statements(all=agreed.all[:2])
    world.later(60 + WaitingTimes.grace + 1)
    world.participants["east"].sweep()
    assert world.participants["east"].session.phase == "ended"
    assert world.results("east") == {}


@pytest.mark.slow
def test_an_end_that_comes_too_late_is_not_heeded(world, learned, monkeypatch):
    """East could not write at first: it has all signatures, and writes when its time is over."""
    partners, parts = learned()
    agreed = agree(partners, parts)
    models = world.folder("east") / "models"
    (models / SESSION).write_text("in the way")
    with pytest.raises(StateError, match="east cannot write its result"):
        partners[2].ask(COMMIT, SESSION, agreed)
    problem = problem_of(SessionEnded("stop"))
    assert partners[2].ask(END, SESSION, Ending(owner="north", problem=problem)).phase == "ready"
    # The proof is kept for a restart; that the result is written is not claimed yet.
    (record,) = session_records(Ledger(world.folder("east") / ".pramana").entries())
    assert record.agreed is not None
    with pytest.raises(NotFound):
        earlier_status(world.participants["east"].site, "north", SESSION)
    (models / SESSION).unlink()
    for partner in partners[:2]:
        partner.ask(COMMIT, SESSION, agreed)
    world.wire.down = {"north", "south"}
    world.later(60 + WaitingTimes.grace + 1)
    world.participants["east"].sweep()
    assert same_everywhere(world)


# Errors that nobody foresaw ----------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("owner", ["north", "south"])
def test_an_owner_whose_results_cannot_be_written_is_named(world, ended, owner):
    (world.folder(owner) / "models").write_text("no folder")
    world_results = world.results
    world.results = lambda name: {} if name == owner else world_results(name)
    error = ended(StateError, f"{owner} cannot write its result")
    assert str(world.root) not in str(error)
    assert any(str(world.root) in line for line in world.told[owner])


# Before a package leaves -------------------------------------------------------------------------


def announced(world, task):
    world.ask(ANNOUNCEMENTS, world.announced(task))


def leave_otherwise(world):
    """Let D leave for a miner under another channel, as `publish` would write it."""
    south = world.participants["south"]
    mine = south.session
    path = world.folder("south") / "site.toml"
    path.write_text(path.read_text().replace("p1 = 0.2, p2 = 0.2", "p1 = 0.1, p2 = 0.1"))
    site = load_site(path)
    holding = replace(mine.holding, site=site, plan=planned(site))
    ledger = Ledger(site.state)
    share = share_of(holding.plan.plan, ["D"])
    with publishing_alone(site.state):
        identities = {
            block.name: draw_id(holding.secrets, mine.proposal.study, block)
            for block in share.drawn
        }
        draws = draws_of(holding, share, identities, ledger.entries())
        refuse_conflicts(draws, ledger.entries())
        entry = mine.outgoing["east"].entry
        ledger.put(
            replace(entry, miner="https://miner", name="r-1", release_id="m", draws=draws)
        )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("accept", [False, True])
def test_what_left_since_the_announcement_is_looked_at(closed_world, parameters_task, accept):
    closed_world.open(accept=("south",) if accept else ())
    announced(closed_world, parameters_task)
    leave_otherwise(closed_world)
    asked = closed_world.participants["east"].partners("south")
    if accept:
        assert asked.package_part(SESSION, 0, 1 << 20)
        return
    with pytest.raises(PlanConflict, match=r"south cannot take part \(plan-conflict\)"):
        asked.package_part(SESSION, 0, 1 << 20)
    assert closed_world.participants["south"].session.phase == "ended"
    lines = Ledger(closed_world.folder("south") / ".pramana").entries()
    assert [e.miner for e in lines if e.draws] == ["https://miner"]


def test_nothing_leaves_while_something_else_is_published(closed_world, parameters_task):
    world, closed_world.lock_attempts = closed_world, 3
    world.open()
    announced(world, parameters_task)
    with publishing_alone(world.folder("south") / ".pramana"), pytest.raises(Conflict):
        world.participants["east"].partners("south").package_part(SESSION, 0, 1 << 20)


# Time --------------------------------------------------------------------------------------------


class Drip(httpx.BaseTransport):
    """Answers a byte at a time without end, or not even with a first line."""

    def __init__(self, headers):
        self.headers, self.stop = headers, threading.Event()

    def handle_request(self, request):
        while not self.headers and not self.stop.is_set():
            time.sleep(0.005)

        def body():
            while not self.stop.is_set():
                yield b" "
                time.sleep(0.005)

        return httpx.Response(200, content=body())


@pytest.mark.parametrize("hurry", [{"least": 0.1}])
@pytest.mark.parametrize("headers", [True, False])
def test_an_owner_that_answers_by_drops_is_given_up(world, monkeypatch, headers):
    drip = Drip(headers)
    partner = world.participants["north"].partners("south")
    monkeypatch.setattr(partner, "_client", httpx.Client(transport=drip, base_url="https://x"))
    try:
        with pytest.raises(PeerUnreachable, match="south at .* did not answer in time"):
            partner.within(world.now.timestamp()).ask(STATUS, SESSION)
    finally:
        drip.stop.set()


@pytest.mark.slow
def test_an_end_is_heeded_by_an_owner_that_still_reads_its_table(
    world, parameters_task, monkeypatch
):
    """North ends the session while south takes it up; south's answer comes later."""
    north, honest = world.participants["north"], participant.read_local_records
    ending = Ending(owner="north", problem=problem_of(SessionEnded("north interrupted it.")))
    end = threading.Thread(target=lambda: north.partners("south").ask(END, SESSION, ending))

    def slow(site, proposal, variables, told):
        end.start()
        end.join(0.3)  # Were it not waiting for this, it would be over by now.
        return honest(site, proposal, variables, told)

    monkeypatch.setattr(participant, "read_local_records", slow)
    north.partners("south").ask(PROPOSE, SESSION, world.proposal(parameters_task))
    end.join()
    assert world.participants["south"].session.phase == "ended"
    assert "north interrupted it" in world.told["south"][-1]


@pytest.mark.parametrize("hurry", [{"poll": 0.01, "last": 0.2}])
def test_an_owner_that_never_answers_is_named_when_the_time_is_over(
    world, parameters_task, monkeypatch
):
    """The time is over once the two others have answered, and for nobody before."""
    free = threading.Event()
    honest = participant.read_local_records

    def slow(site, proposal, variables, told):
        if site.owner == "north":
            free.wait()
        return honest(site, proposal, variables, told)

    class Time:
        def monotonic(self):
            return float("inf") if ("offers", 2, 3) in world.steps else 0.0

    monkeypatch.setattr(participant, "read_local_records", slow)
    monkeypatch.setattr(joint, "time", Time())
    try:
        with pytest.raises(SessionEnded, match="north did not answer within 0 seconds"):
            world.run(world.proposal(parameters_task, seconds=0.1))
    finally:
        free.set()


# The ledger --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_record_of_a_session_that_is_none_is_named(world, parameters_task):
    world.run(world.proposal(parameters_task))
    ledger = Ledger(world.folder("south") / ".pramana")
    (line,) = [e for e in ledger.entries() if e.session]
    ledger.put(replace(line, session="{}"))
    with pytest.raises(StoreCorrupt) as raised:
        session_records(ledger.entries())
    assert raised.value.where == session_name(SESSION)
