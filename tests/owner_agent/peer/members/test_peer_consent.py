"""Who is let in, and what an owner agrees to: known certificates, its own site file."""

import json
import time

import httpx
import pytest

from owner_agent.peer.protocol.identity import make_identity
from owner_agent.peer.protocol.session_file import SessionFile
from owner_agent.peer.protocol.steps import ANNOUNCEMENTS, BEGIN, PROPOSE
from owner_agent.release.ledger import Ledger
from owner_agent.site.site import load_site
from owner_agent.state.environment import WaitingTimes
from pramana_core.errors import (
    ConfigError,
    Conflict,
    Forbidden,
    InputError,
    NotFound,
    PeerUnreachable,
    StateError,
    StructureError,
    VariablesMissing,
)
from tests.owner_agent.peer.conftest import shown

SESSION = "ab" * 16


# Who is let in -----------------------------------------------------------------------------------


def call_as(world, identity, receiver, method="GET", path=f"/v1/sessions/{SESSION}", body=b""):
    headers = {} if identity is None else {"tls-certificate": shown(identity)}
    return world.wire.clients[receiver].request(method, path, content=body, headers=headers)


def assert_refused(response):
    assert response.status_code == 401
    assert response.json()["code"] == "unauthenticated"


def test_a_known_owner_is_let_in(world):
    """The control of what follows: the same call with everything right is answered."""
    response = call_as(world, world.participants["north"].identity, "south")
    assert response.status_code == 404
    assert response.json()["code"] == "not-found"


@pytest.mark.parametrize("owner", ["mallory", "north", None])
def test_an_unknown_caller_is_refused_before_anything_is_read(world, tmp_path, monkeypatch, owner):
    """Another name, a known name under another key, and no certificate."""
    read = []
    monkeypatch.setattr("owner_agent.peer.server._body", lambda *words: read.append(words))
    text = (world.folder("north") / "site.toml").read_text().replace('"north"', f'"{owner}"', 1)
    (tmp_path / "site.toml").write_text(text)
    stranger = (
        None if owner is None else make_identity(load_site(tmp_path / "site.toml"), world.now)
    )
    assert_refused(call_as(world, stranger, "south", "POST", "/v1/sessions", b"{"))
    assert read == []


def test_a_body_of_any_size_is_not_read(world, monkeypatch):
    monkeypatch.setattr("owner_agent.peer.server.MESSAGE_BYTES", 100)
    identity = world.participants["north"].identity
    assert call_as(world, identity, "south", body=b"x" * 101).status_code == 413


# What an owner consents to -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "kind", "match"),
    [
        ({"study": "other"}, Forbidden, "a study other than"),
        ({"participants": ["north", "south", "west"]}, Forbidden, "does not list west"),
        ({"participants": ["north", "east"]}, Forbidden, "excludes south"),
        ({"initiator": "east"}, Forbidden, "does not lead"),
        ({"seconds": 3601.0}, Forbidden, "at most 3600 seconds, not 3601"),
        ({"task": {"kind": "parameters", "structure": {"A": ["B"], "B": ["A"]}}},
         StructureError, "cycle"),
        ({"task": {"kind": "structure", "order": ["C", "C"]}}, InputError, "twice"),
        ({"task": {"kind": "parameters", "structure": {"E": []}}}, VariablesMissing, "none of"),
    ],
)  # fmt: skip
def test_an_owner_refuses_what_its_site_file_does_not_allow(
    world, parameters_task, more, kind, match
):
    task = more.pop("task", parameters_task)
    proposal = world.proposal(task, **more)
    with pytest.raises(kind, match=match):
        world.participants["north"].partners("south").ask(PROPOSE, proposal.session, proposal)
    assert world.participants["south"].session is None
    assert Ledger(world.folder("south") / ".pramana").entries() == ()


@pytest.mark.parametrize(
    ("more", "agreed"),
    [
        ({}, True),
        ({"named": None}, True),
        ({"seconds": 9.0}, True),
        ({"initiator": "east"}, True),
        ({"participants": ["north", "south"]}, False),
        ({"participants": ["north", "south"], "named": None}, False),
        ({"task": {"kind": "parameters", "structure": {"C": ["D"], "D": []}}}, False),
        ({"task": {"kind": "structure", "order": list("ABCDE")}}, False),
    ],
)
def test_an_owner_may_agree_to_one_session_only(world, parameters_task, more, agreed):
    """A session file that names nobody means all known peers."""
    south = world.participants["south"]
    named = more.pop("named", ["north", "east"])
    content = {"participants": named, "task": parameters_task}
    south.only = SessionFile.model_validate(content)
    proposal = world.proposal(more.pop("task", parameters_task), **more)
    caller = world.participants[proposal.initiator].partners("south")
    if agreed:
        assert caller.ask(PROPOSE, proposal.session, proposal).owner == "south"
        return
    with pytest.raises(Forbidden, match="south agreed to another session"):
        caller.ask(PROPOSE, proposal.session, proposal)
    assert south.session is None


def test_a_proposal_that_is_none_is_refused(world, parameters_task):
    good = world.proposal(parameters_task).model_dump(mode="json")
    north = world.participants["north"].identity
    for change in ({"more": 1}, {"seconds": 0}, {"participants": ["north", "north"]},
                   {"initiator": "west"}, {"session": "x"}):  # fmt: skip
        body = json.dumps({**good, **change}).encode()
        response = call_as(world, north, "south", method="POST", path="/v1/sessions", body=body)
        assert response.status_code == 502
        assert response.json()["code"] == "peer-deviated"


@pytest.mark.slow
def test_a_session_is_not_begun_twice(world, parameters_task):
    world.run(world.proposal(parameters_task))
    with pytest.raises(Conflict, match=r"south cannot take part \(conflict\)"):
        world.participants["north"].partners("south").ask(
            PROPOSE, SESSION, world.proposal(parameters_task)
        )


def test_one_session_at_a_time(world, parameters_task):
    partner = world.participants["north"].partners("south")
    partner.ask(PROPOSE, SESSION, world.proposal(parameters_task))
    with pytest.raises(Conflict, match="south is in another session"):
        partner.ask(PROPOSE, "cd" * 16, world.proposal(parameters_task, session="cd" * 16))
    world.later(60 + WaitingTimes.grace + 1)  # the first one's time is over
    partner.ask(PROPOSE, "cd" * 16, world.proposal(parameters_task, session="cd" * 16))


def test_only_the_initiator_leads_and_only_participants_ask(world, parameters_task):
    two = world.proposal(parameters_task, participants=["north", "south"])
    world.participants["north"].partners("south").ask(PROPOSE, two.session, two)
    south = world.participants["south"]
    with pytest.raises(NotFound):
        south.status("east", SESSION)
    with pytest.raises(NotFound):
        south.package_part("east", SESSION, 0)
    three = world.proposal(parameters_task, session="cd" * 16)
    world.participants["north"].partners("east").ask(PROPOSE, three.session, three)
    with pytest.raises(Forbidden, match="Only north"):
        world.participants["east"].answer(BEGIN, "south", "cd" * 16)
    assert world.participants["east"].session.phase == "offered"


def test_columns_are_not_given_early_nor_to_who_is_not_entitled(world, parameters_task):
    announcements = world.announced(parameters_task)
    north = world.participants["north"]
    with pytest.raises(Forbidden, match="at this stage"):
        north.package_part("south", SESSION, 0)
    world.ask(ANNOUNCEMENTS, announcements)
    # North gives its B to east and A with B to south; nobody gives north anything.
    assert len(north.package_part("south", SESSION, 0)) > len(
        north.package_part("east", SESSION, 0)
    )
    for giver in ("south", "east"):
        with pytest.raises(Forbidden, match="no columns for north"):
            world.participants[giver].package_part("north", SESSION, 0)
    with pytest.raises(NotFound, match="does not exist"):
        north.package_part("south", SESSION, 1)
    with pytest.raises(StateError, match="is agreed"):
        north.commit("north", SESSION, announcements)


def test_an_owner_that_follows_a_study_plan_has_no_sessions(closed_world):
    """The sums of a session would not count its coin."""
    path = closed_world.folder("south") / "site.toml"
    section = '[study_plan]\nfile = "plan.json"\n'
    path.write_text(path.read_text().replace("[peer]", f"{section}[peer]", 1))
    with pytest.raises(ConfigError) as raised:
        closed_world.open()
    assert raised.value.where == "study_plan"


@pytest.mark.slow
@pytest.mark.parametrize("change", ["channel", "known", "certificate", "broken"])
def test_a_site_file_that_was_changed_is_not_decided_by(world, parameters_task, change):
    """What the custodian wrote since south was started would not be heeded: so nothing begins."""
    path = world.folder("south") / "site.toml"
    text = path.read_text()
    if change == "channel":
        path.write_text(text.replace("p1 = 0.2, p2 = 0.2", "p1 = 0.45, p2 = 0.45"))
    elif change == "known":
        start = text.index('[[peer.known]]\nname = "east"')
        path.write_text(text[:start] + text[text.index("[[variables]]") :])
    elif change == "certificate":
        pem = (world.folder("south") / "north.pem").read_bytes()
        (world.folder("south") / "east.pem").write_bytes(pem + b"\n")
    else:
        path.write_text(text + "\nnonsense = 1\n")
    with pytest.raises(ConfigError, match=r"^south cannot take part \(config-invalid\)"):
        world.run(world.proposal(parameters_task))
    if change == "channel":
        assert "start it again" in str(world.participants["south"].own_error)
    assert Ledger(world.folder("south") / ".pramana").entries() == ()
    path.write_text(text)
    if change != "certificate":
        world.run(world.proposal(parameters_task, session="cd" * 16))


def test_who_leads_a_session_takes_part_in_no_other(world, parameters_task):
    """South answers north's session with one of its own while north tells it of the end."""
    refused = []

    def bend(receiver, request):
        if receiver == "south" and request.url.path.endswith("/end"):
            session = world.participants["north"].session
            while not session.over:
                time.sleep(0.001)
            other = world.proposal(parameters_task, session="ee" * 16, initiator="south")
            with pytest.raises(Conflict, match="north is in another session") as raised:
                world.participants["south"].partners("north").ask(PROPOSE, other.session, other)
            refused.append(raised.value)
        if receiver == "south" and request.url.path.endswith("/offers"):
            return httpx.ConnectError("refused")
        return None

    world.wire.bend = bend
    with pytest.raises(PeerUnreachable):
        world.run(world.proposal(parameters_task))
    assert len(refused) == 1
    # The control: afterwards it takes part again.
    world.wire.bend = None
    other = world.proposal(parameters_task, session="ee" * 16, initiator="south")
    world.participants["south"].partners("north").ask(PROPOSE, other.session, other)
