"""An owner that asks its custodian first: what waits, what a yes is to, and how long it counts."""

import json

import pytest

from owner_agent.peer.asked import (
    MOST_WAITING,
    asked_sessions,
    decide,
    key_of,
    require_yes,
    revealed,
    waiting_sessions,
)
from owner_agent.peer.protocol.messages import Proposal
from owner_agent.peer.protocol.steps import PROPOSE
from owner_agent.release.ledger import Ledger
from owner_agent.site.site import load_site
from pramana_core.errors import Forbidden, LimitExceeded, NotFound, StoreCorrupt

WAITS = "The custodian of south was asked, and has not said yes yet"


@pytest.fixture
def south(world):
    """South, which asks; its state folder is `south.site.state`."""
    world.participants["south"].asks = True
    return world.participants["south"]


@pytest.fixture
def propose(world, parameters_task):
    """Propose a session to south, each time under another number."""
    numbers = iter(range(10_000))

    def call(task=None, **more):
        session = f"{next(numbers):032x}"
        made = world.proposal(task or parameters_task, session=session, **more)
        caller = world.participants[made.initiator].partners("south")
        return made, caller.ask(PROPOSE, made.session, made)

    return call


def test_what_was_not_said_yes_to_waits_and_nothing_is_read(world, south, propose, monkeypatch):
    monkeypatch.setattr(
        "owner_agent.peer.participant.hold", lambda *_words: pytest.fail("the table was read")
    )
    for _ in range(2):
        with pytest.raises(Forbidden, match=WAITS):
            propose()
    (one,) = waiting_sessions(south.site.state)
    assert (one.proposal.initiator, one.proposal.task.kind) == ("north", "parameters")
    assert south.session is None
    assert Ledger(south.site.state).entries() == ()
    assert len([line for line in world.told["south"] if "waits for your yes" in line]) == 1


def test_a_yes_counts_once(south, propose, world):
    with pytest.raises(Forbidden, match=WAITS):
        propose()
    (one,) = waiting_sessions(south.site.state)
    decide(south.site, one.key, "accepted", world.now)
    _, offer = propose(seconds=9.0)
    assert offer.owner == "south"
    assert asked_sessions(south.site.state) == []
    with pytest.raises(NotFound):
        decide(south.site, one.key, "accepted", world.now)
    world.later(10_000)
    with pytest.raises(Forbidden, match=WAITS):
        propose()


def test_a_yes_ends_with_what_protects_the_records(bench, site_text):
    """A weaker channel, or another column behind a name, is not what she said yes to."""
    asked = {
        "session": "ab" * 16, "study": "asia", "initiator": "south", "seconds": 60.0,
        "participants": ["south", "clinic-north"],
        "task": {"kind": "contingency-table", "variables": ["age", "ill"]},
    }  # fmt: skip
    proposal, now = Proposal.model_validate(asked), bench.environment.now()
    told = []
    for old, new in [("p = 0.4", "p = 0.1"), ('name = "age"', 'name = "age"\ncolumn = "years"')]:
        bench.write(site_text)
        with pytest.raises(Forbidden):
            require_yes(bench.site, proposal, now, told.append)
        decide(bench.site, key_of(proposal), "accepted", now)
        bench.write(site_text.replace(old, new))
        told.clear()
        with pytest.raises(Forbidden, match="has not said yes yet"):
            require_yes(bench.site, proposal, now, told.append)
        assert len(told) == 1
        assert [one.decision for one in asked_sessions(bench.state)] == ["waiting"]
        decide(bench.site, key_of(proposal), "accepted", now)
        require_yes(bench.site, proposal, now, pytest.fail)


@pytest.mark.parametrize(
    "more",
    [
        {"task": {"kind": "contingency-table", "variables": ["A", "C"]}},
        {"initiator": "east"},
        {"participants": ["north", "south"]},
        {"partition": "horizontal"},
    ],
)
def test_a_yes_is_to_this_session_and_no_other(south, propose, world, parameters_task, more):
    decided = world.proposal(parameters_task)
    with pytest.raises(Forbidden, match=WAITS):
        propose()
    decide(south.site, key_of(decided), "accepted", world.now)
    with pytest.raises(Forbidden, match=WAITS):
        propose(**more)
    assert len(waiting_sessions(south.site.state)) == 1


def test_a_no_stays_until_she_changes_her_mind(south, propose, world):
    with pytest.raises(Forbidden, match=WAITS):
        propose()
    (one,) = waiting_sessions(south.site.state)
    decide(south.site, one.key, "refused", world.now)
    with pytest.raises(Forbidden, match="said no to this session"):
        propose()
    decide(south.site, one.key, "accepted", world.now)
    assert propose()[1].owner == "south"


def test_what_the_site_file_forbids_does_not_even_wait(south, propose):
    with pytest.raises(Forbidden, match="another study"):
        propose(study="other")
    assert asked_sessions(south.site.state) == []


def test_no_more_wait_than_somebody_reads(south, propose):
    for number in range(MOST_WAITING):
        with pytest.raises(Forbidden):
            propose({"kind": "structure", "order": list("ABCDE"), "seed": number})
    with pytest.raises(LimitExceeded, match="wait for the custodian"):
        propose({"kind": "structure", "order": list("ABCDE"), "seed": MOST_WAITING})


def test_what_was_changed_on_disk_is_no_yes(south, propose, world):
    with pytest.raises(Forbidden, match=WAITS):
        propose()
    (one,) = waiting_sessions(south.site.state)
    decide(south.site, one.key, "accepted", world.now)
    path = south.site.state / "proposals" / f"{one.key}.json"
    content = json.loads(path.read_text())
    content["proposal"]["initiator"] = "east"
    path.write_text(json.dumps(content))
    with pytest.raises(StoreCorrupt, match="not what was kept"):
        asked_sessions(south.site.state)
    for strange in ("", "../site", "x" * 64):
        with pytest.raises(NotFound):
            decide(south.site, strange, "accepted", world.now)


def test_what_a_yes_would_reveal(world, parameters_task):
    south = load_site(world.folder("south") / "site.toml")
    said = revealed(south, world.proposal(parameters_task))
    assert "alone may go to \u2068north\u2069, \u2068east\u2069:" in said[0]
    assert any("D" in line and "epsilon 1.386" in line for line in said)
    assert any("C" in line and "told as it is" in line for line in said)
    assert "counted in your true records" in said[-1]
    table = {"kind": "contingency-table", "variables": ["A", "D"]}
    said = revealed(south, world.proposal(table))
    assert "alone may go to \u2068north\u2069:" in said[0]
    assert not any("\u2068C\u2069" in line for line in said)
    assert said[-1] == "What is learned is kept by north alone."
    (alone,) = revealed(south, world.proposal({**table, "variables": ["A", "B"]}))
    assert alone == said[-1]


def test_a_yes_hides_no_column_behind_a_number(bench, site_text):
    """Of a plan that is only looked at the first are named; of what she decides about, all."""
    names = [f"v{number}" for number in range(20)]
    sections = [
        f'[[variables]]\nname = "{name}"\ncategories = ["a", "b"]\nsensitive = true\n'
        'channel = { kind = "symmetric", p = 0.4 }\n'
        for name in names
    ]
    peer = (
        '[peer]\nstudy = "asia"\n[[peer.known]]\nname = "south"\ncertificate = "south.pem"\n'
        'url = "https://127.0.0.1:8201"\n'
    )
    bench.write("\n".join([site_text, peer, *sections]))
    asked = {
        "session": "ab" * 16, "study": "asia", "initiator": "south", "seconds": 60.0,
        "participants": ["south", "clinic-north"],
        "task": {"kind": "contingency-table", "variables": names},
    }  # fmt: skip
    said = "\n".join(revealed(bench.site, Proposal.model_validate(asked)))
    assert all(f"\u2068{name}\u2069" in said for name in names)
