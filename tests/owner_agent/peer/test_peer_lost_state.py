"""An older state folder is found by what the owner's miner has, before a session begins."""

import shutil
from dataclasses import replace
from datetime import timedelta

import pytest

from owner_agent.release.new_epoch import begin_new_epoch
from owner_agent.release.options import PublishOptions
from owner_agent.release.publish import PreparedRecords, publish
from owner_agent.site.site import load_site
from owner_agent.state.tokens import TokenStore
from pramana_core.errors import HistoryLost

NETWORK = {"kind": "parameters", "structure": {"D": [], "C": [], "A": ["D"]}}
PAIR = ["north", "south"]
REFUSED = r"^south cannot take part \(history-lost\)"


def session(world, number):
    """A session of two; north gets C and D, of which D is randomized, and sends nothing."""
    return world.run(world.proposal(NETWORK, participants=PAIR, session=number * 16))


def state_of(world, owner):
    return world.folder(owner) / ".pramana"


def copied(world, owner, name="backup"):
    shutil.copytree(state_of(world, owner), world.folder(owner) / name)


def restored(world, owner, name="backup"):
    """Restore an owner's state as a whole, and start all owners anew."""
    shutil.rmtree(state_of(world, owner))
    shutil.copytree(world.folder(owner) / name, state_of(world, owner))
    world.open()


@pytest.fixture
def with_miner(closed_world, bench, make_site):
    """Two owners of which south has joined a study at a miner as well."""
    world = closed_world
    bench.miner.releases = {}
    miner = '[miner]\nurl = "http://127.0.0.1:9"\nstudy = "clinics"'
    text = make_site("south", {"C": None, "D": '{ kind = "binary", p1 = 0.2, p2 = 0.2 }'}, miner)
    (world.folder("south") / "site.toml").write_text(text)
    TokenStore(state_of(world, "south")).save("clinics", bench.miner.good[0])
    world.wire.bend = lambda to, asked: bench.miner(asked) if to == "127.0.0.1" else None
    world.open()
    return world


def published(world, **options):
    """Publish south's table to its miner."""
    site = load_site(world.folder("south") / "site.toml")
    return publish(PreparedRecords, site, world.environment(site.owner), PublishOptions(**options))


def correct(table, people=40):
    """Change D, the last column, of the first people of a table."""
    head, *rows = table.read_text().splitlines()
    other = {"no": "yes", "yes": "no"}
    for place, row in enumerate(rows[:people]):
        before, _, value = row.rpartition(",")
        rows[place] = f"{before},{other[value]}"
    table.write_text("\n".join([head, *rows]) + "\n")


@pytest.mark.slow
def test_a_session_with_a_new_peer_asks_the_miner_first(with_miner):
    """North never met south: only the miner knows that the folder is an older one."""
    world = with_miner
    published(world)
    copied(world, "south")
    correct(world.folder("south") / "table.csv")
    site, environment = load_site(world.folder("south") / "site.toml"), world.environment("south")
    later = environment.now() + timedelta(days=1)
    begin_new_epoch(site, replace(environment, now=lambda: later), anyway=True)
    made = published(world, accept_added_loss=True)
    copied(world, "south", "newest")
    restored(world, "south")
    before = len(world.wire.sent)
    with pytest.raises(HistoryLost, match=REFUSED):
        session(world, "ab")
    assert not any("/offers" in one.line for one in world.wire.sent[before:])
    said = world.participants["south"].own_error
    assert made.name in said.message
    assert "has releases of this owner of which the ledger knows nothing" in said.message
    assert "owner-agent new-epoch" in said.remedy
    # The newest backup goes on.
    restored(world, "south", "newest")
    world.open(accept=("south",))
    session(world, "cd")
    assert world.participants["south"].miner_not_asked is None


def test_a_session_goes_on_where_the_miner_cannot_be_asked_and_says_so(with_miner, bench):
    world = with_miner
    bench.miner.good = []
    session(world, "ab")
    said = [line for line in world.told["south"] if line.startswith("The miner was not asked: ")]
    assert said == [world.participants["south"].miner_not_asked]
    # Whoever has not joined a study at it has nobody to ask.
    bench.miner.requests.clear()
    TokenStore(state_of(world, "south")).path("clinics").unlink()
    session(world, "cd")
    assert world.participants["south"].miner_not_asked is None
    assert not bench.miner.requests
