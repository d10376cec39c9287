"""An older state folder, whole and consistent, is found by what the peers remember of it."""

import json
import shutil
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from owner_agent.peer.protocol.identity import state as signed
from owner_agent.peer.protocol.messages import Offer, Statements
from owner_agent.peer.protocol.steps import OFFERS, PROPOSE
from owner_agent.release.ledger import Ledger
from owner_agent.release.new_epoch import begin_new_epoch
from owner_agent.release.options import PublishOptions
from owner_agent.release.publish import PreparedRecords, publish
from owner_agent.site.site import load_site
from owner_agent.state.environment import Environment
from owner_agent.state.tokens import TokenStore
from pramana_core.errors import HistoryLost, StoreCorrupt

TABLE = {"kind": "contingency-table", "variables": ["A", "C", "D"]}
OF_THREE = {"kind": "contingency-table", "variables": ["A", "D", "E"]}
PAIR = ["north", "south"]
REFUSED = r"^south cannot take part \(history-lost\)"


def session(world, number, **more):
    """A session of two; north gets C and D, of which D is randomized, and sends nothing."""
    content = {"participants": PAIR, "session": number * 16, **more}
    return world.run(world.proposal(content.pop("task", TABLE), **content))


def state_of(world, owner):
    return world.folder(owner) / ".pramana"


def copied(world, owner, name="backup"):
    shutil.copytree(state_of(world, owner), world.folder(owner) / name)


def restored(world, owner, name="backup"):
    """Restore an owner's state as a whole, and start all owners anew."""
    shutil.rmtree(state_of(world, owner))
    shutil.copytree(world.folder(owner) / name, state_of(world, owner))
    world.open()


def begun_anew(world, owner):
    """Begin a new epoch; only the peers know that something is missing."""
    begin_new_epoch(load_site(world.folder(owner) / "site.toml"), Environment(), anyway=True)


def sent_by_south(world):
    return world.packages()["south", "north"]["D"]


def offers_made(world):
    """Return each offer that was passed on last, as its owner signed it."""
    told = next(sent for sent in reversed(world.wire.sent) if sent.line.endswith("/offers"))
    return {one["owner"]: json.loads(one["content"]) for one in json.loads(told.body)["all"]}


def refused(world, number, **more):
    """Check that south refuses a session before it announces anything, and says why only here."""
    before = len(world.wire.sent)
    with pytest.raises(HistoryLost, match=REFUSED):
        session(world, number, **more)
    sent = [one for one in world.wire.sent[before:] if one.receiver == "south"]
    assert sent
    assert not any("/parts/" in one.line or b"packages" in one.answer for one in sent)
    said = world.participants["south"].own_error
    assert "remembers a session" in said.message
    assert "Restore the state directory" in said.remedy
    assert "owner-agent new-epoch" in said.remedy
    return said


@pytest.mark.slow
def test_an_older_folder_is_refused_until_a_new_epoch(world):
    copied(world, "south", "empty")
    session(world, "ab")
    first = sent_by_south(world)
    copied(world, "south")
    session(world, "cd")
    assert np.array_equal(sent_by_south(world), first)
    for copy, number in (("empty", "01"), ("backup", "02")):
        restored(world, "south", copy)
        assert refused(world, number).where == "north"
    begun_anew(world, "south")
    world.open(accept=("south",))
    session(world, "03")
    differing = int((sent_by_south(world) != first).sum())
    assert differing > 400, "640 of 2,000 are expected to: two reports, each wrong for 1 in 5"


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


@pytest.mark.slow
def test_what_lies_before_a_new_epoch_is_past_and_what_lies_after_is_not(world):
    session(world, "ab")
    copied(world, "south", "before")
    begun_anew(world, "south")
    world.open(accept=("south",))
    copied(world, "south", "begun")
    session(world, "cd")
    session(world, "ef")
    for copy, number in (("before", "01"), ("begun", "02")):
        restored(world, "south", copy)
        refused(world, number)
    # Begun anew from the copy that knows of no beginning: the one that was lost is past as well.
    restored(world, "south", "before")
    begun_anew(world, "south")
    world.open(accept=("south",))
    session(world, "03")
    session(world, "04")


@pytest.mark.slow
def test_control_an_untouched_folder_and_the_newest_backup_go_on(world):
    session(world, "ab")
    copied(world, "south")
    restored(world, "south")
    session(world, "cd")
    session(world, "ef", participants=["north", "south", "east"], task=OF_THREE)
    session(world, "01")


@pytest.mark.slow
def test_a_third_owner_that_was_sent_nothing_remembers_the_announcement(world):
    """East gets none of these columns, and has seen what south announced to north."""
    copied(world, "south")
    copied(world, "north")
    session(world, "ab", participants=["north", "south", "east"], task=OF_THREE)
    restored(world, "south")
    restored(world, "north")
    said = refused(world, "cd", participants=["north", "south", "east"], task=OF_THREE)
    assert said.where == "east"


@pytest.mark.slow
def test_shared_parameters_are_remembered_though_no_column_left(closed_world):
    """South has no column that north needs, and shares a family of its own."""
    world, task = closed_world, {"kind": "parameters", "structure": {"A": [], "C": []}}
    world.open()
    copied(world, "south")
    session(world, "ab", task=task)
    assert not world.packages()
    restored(world, "south")
    refused(world, "cd", task=task)


@pytest.mark.slow
def test_an_offer_names_no_session_and_a_first_one_says_nothing(world):
    session(world, "ab")
    for offer in offers_made(world).values():
        assert not {"earlier", "beginning"} & set(offer)
    session(world, "cd", participants=["north", "south", "east"], task=OF_THREE)
    offers = offers_made(world)
    assert set(offers["north"]["earlier"]) == {"south"}
    assert not {"earlier", "beginning"} & {*offers["south"], *offers["east"]}
    assert "ab" * 16 not in json.dumps(offers)
    # Nor can the digest of one owner be held against that of another: each has both names in it.
    session(world, "ef", participants=["north", "south", "east"], task=OF_THREE)
    offers = offers_made(world)
    digests = [e["digest"] for offer in offers.values() for e in offer.get("earlier", {}).values()]
    assert len(digests) > 2
    assert len(set(digests)) == len(digests)


def test_both_have_written_it_down_before_the_first_part_is_asked_for(world):
    found = []

    def bend(receiver, request):
        if "/parts/" in request.url.path:
            met = json.loads((state_of(world, "north") / "peers-met.json").read_text())["met"]
            lines = Ledger(state_of(world, receiver)).entries()
            found.append((met[0]["peer"], met[0]["session"], {line.release_id for line in lines}))

    world.wire.bend = bend
    session(world, "ab")
    assert found[0] == ("south", "ab" * 16, {"ab" * 16})


def test_what_cannot_be_remembered_is_not_fetched(world):
    """What north remembers cannot be read, so it cannot be added to: nothing is fetched."""
    (state_of(world, "north") / "peers-met.json").write_text("{")
    with pytest.raises(StoreCorrupt, match="north cannot take part"):
        session(world, "ab")
    assert not world.packages()
    assert "peers-met.json" in world.participants["north"].own_error.message


@pytest.mark.parametrize(
    "told",
    [
        {"digest": "0" * 64},
        {"digest": "0" * 64, "beginning": "2031-01-01T00:00:00Z"},
    ],
)
def test_an_owner_that_lies_ends_its_own_session_and_no_other(world, told):
    proposal = world.proposal(TABLE, participants=PAIR)
    north = world.participants["north"]
    partners = [north, north.partners("south")]
    offers = [p.ask(PROPOSE, proposal.session, proposal) for p in partners]
    content = {**json.loads(offers[0].content), "earlier": {"south": told}}
    lie = signed(north.identity, proposal.session, Offer.model_validate(content))
    with pytest.raises(HistoryLost, match=REFUSED):
        partners[1].ask(OFFERS, proposal.session, Statements(all=[lie, offers[1]]))
    north.give_up(north.session, HistoryLost("It lied."))
    session(world, "cd")
