"""An older state folder is found by what the owner's miner has, before a session begins."""

import shutil

import pytest

from owner_agent.release.options import PublishOptions
from owner_agent.release.publish import PreparedRecords, publish
from owner_agent.site.site import load_site
from owner_agent.state.tokens import TokenStore
from pramana_core.errors import HistoryLost

NETWORK = {"kind": "parameters", "structure": {"D": [], "C": [], "A": ["D"]}}


def session(world, number):
    return world.run(world.proposal(NETWORK, participants=["north", "south"], session=number * 16))


@pytest.fixture
def state(closed_world, bench, make_site):
    """South's state; it has joined a study at a miner as well."""
    miner = '[miner]\nurl = "http://127.0.0.1:9"\nstudy = "clinics"'
    text = make_site("south", {"C": None, "D": '{ kind = "binary", p1 = 0.2, p2 = 0.2 }'}, miner)
    (closed_world.folder("south") / "site.toml").write_text(text)
    made = closed_world.folder("south") / ".pramana"
    TokenStore(made).save("clinics", bench.miner.good[0])
    closed_world.wire.bend = lambda to, asked: bench.miner(asked) if to == "127.0.0.1" else None
    closed_world.open()
    return made


@pytest.mark.slow
def test_a_session_with_a_new_peer_asks_the_miner_first(closed_world, state):
    """North never met south: only the miner knows that the folder is an older one."""
    world, older, newest = closed_world, state.with_name("older"), state.with_name("newest")
    shutil.copytree(state, older)
    site = load_site(world.folder("south") / "site.toml")
    made = publish(PreparedRecords, site, world.environment("south"), PublishOptions())
    shutil.move(state, newest)
    shutil.copytree(older, state)
    world.open()
    before = len(world.wire.sent)
    with pytest.raises(HistoryLost):
        session(world, "ab")
    assert not any("/offers" in one.line for one in world.wire.sent[before:])
    error = world.participants["south"].own_error
    assert made.name in error.where
    assert "owner-agent new-epoch" in error.remedy
    # The newest backup goes on.
    shutil.rmtree(state)
    shutil.move(newest, state)
    world.open(accept=("south",))
    session(world, "cd")
    assert world.participants["south"].miner_not_asked is None


def test_a_session_goes_on_where_the_miner_cannot_be_asked_and_says_so(closed_world, state, bench):
    world, bench.miner.good = closed_world, []
    session(world, "ab")
    lines = [line for line in world.told["south"] if line.startswith("The miner was not asked: ")]
    assert lines == [world.participants["south"].miner_not_asked]
    # Whoever has not joined a study at it has nobody to ask.
    bench.miner.requests.clear()
    TokenStore(state).path("clinics").unlink()
    session(world, "cd")
    assert world.participants["south"].miner_not_asked is None
    assert not bench.miner.requests
