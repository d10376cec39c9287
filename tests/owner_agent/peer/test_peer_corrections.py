"""Sessions after a correction: the same memory and the same choice as for releases to a miner."""

from __future__ import annotations

import math
import shutil

import numpy as np
import pytest

from owner_agent.peer.protocol.messages import Statements
from owner_agent.peer.protocol.steps import OFFERS, PROPOSE
from owner_agent.release.composition import spent
from owner_agent.release.ledger import Ledger
from owner_agent.release.new_epoch import begin_new_epoch
from owner_agent.release.options import PublishOptions
from owner_agent.release.publish import PreparedRecords, publish
from owner_agent.report.corrected import Corrected
from owner_agent.site.site import load_site
from owner_agent.state.environment import Environment
from owner_agent.state.tokens import TokenStore
from pramana_core.errors import HistoryLost, PlanConflict

NETWORK = {"kind": "parameters", "structure": {"D": [], "C": [], "A": ["D"]}}
EPSILON_D = math.log(4)
"""D is reported wrongly with probability 0.2 either way."""


def session(world, **more):
    """A session of the two whose variables are in the network; D goes from south to north."""
    return world.run(world.proposal(NETWORK, participants=["north", "south"], **more))


def entries(world, owner):
    return Ledger(world.folder(owner) / ".pramana").entries()


def sent_by_south(world):
    return world.packages()["south", "north"]["D"]


def allow_more_tables(world):
    for owner in ("north", "south"):
        world.decide(owner, "groupings = 9")


@pytest.fixture
def after_correction(closed_world, codes):
    """A session was held, and south then corrected D of 400 records of 2,000.

    Both share the tables of before and after.
    """
    allow_more_tables(closed_world)
    closed_world.open()
    session(closed_world)
    first = sent_by_south(closed_world)
    closed_world.wire.sent.clear()
    path = closed_world.folder("south") / "table.csv"
    lines = path.read_text().splitlines()
    head, *rows = [line.rsplit(",", 1) for line in lines]
    for row in rows[:400]:
        row[1] = "yes" if row[1] == "no" else "no"
    lines = [",".join(row) for row in (head, *rows)]
    path.write_text("\n".join(lines) + "\n")
    return closed_world, first


def test_a_corrected_record_ends_the_session_and_nobody_else_learns_why(after_correction):
    world, _ = after_correction
    world.open()
    with pytest.raises(PlanConflict, match=r"^south cannot take part \(plan-conflict\)"):
        session(world, session="cd" * 16)
    assert any("values were corrected" in line for line in world.told["south"])
    assert not any("were corrected" in line for line in world.told["north"])
    assert not world.packages()


@pytest.mark.slow
def test_kept_reports_are_sent_again(after_correction):
    world, first = after_correction
    world.open(corrections="keep")
    session(world, session="cd" * 16)
    assert np.array_equal(sent_by_south(world), first)
    assert spent(entries(world, "south"))["D"] == pytest.approx(EPSILON_D)


def test_draws_of_a_new_epoch_are_in_the_ledger(after_correction):
    world, first = after_correction
    begin_new_epoch(load_site(world.folder("south") / "site.toml"), Environment(), anyway=True)
    world.open(accept=("south",))
    session(world, session="cd" * 16)
    differing = int((sent_by_south(world) != first).sum())
    assert differing > 400, "others than the corrected were drawn anew as well"
    assert spent(entries(world, "south"))["D"] == pytest.approx(2 * EPSILON_D)
    # North corrected nothing, so its choice changes nothing there.
    assert not any(entry.draws for entry in entries(world, "north"))


def test_the_site_file_may_choose(after_correction):
    world, first = after_correction
    path = world.folder("south") / "site.toml"
    path.write_text('corrections = "keep"\n' + path.read_text())
    world.open()
    session(world, session="cd" * 16)
    assert np.array_equal(sent_by_south(world), first)


def test_what_was_announced_binds_though_nobody_fetched_it(closed_world):
    """An announcement holds digests of the reports: who guesses them could check the guess."""
    allow_more_tables(closed_world)
    closed_world.open()
    proposal = closed_world.proposal(NETWORK, participants=["north", "south"])
    north = closed_world.participants["north"]
    partners = [north, north.partners("south")]
    offers = Statements(all=[p.ask(PROPOSE, proposal.session, proposal) for p in partners])
    for partner in partners:
        partner.ask(OFFERS, proposal.session, offers)
    assert not any(entry.draws for entry in entries(closed_world, "south"))
    path = closed_world.folder("south") / "table.csv"
    path.write_text(path.read_text().replace(",no,no", ",no,yes"))
    closed_world.open()
    with pytest.raises(PlanConflict, match="south cannot take part"):
        session(closed_world, session="cd" * 16)


def test_the_plan_of_a_site_without_a_miner_counts_them_too(after_correction):
    world, _ = after_correction
    site = load_site(world.folder("south") / "site.toml")
    now = PreparedRecords.of(site, lambda *_: None, PublishOptions(preview=True), Environment())
    (block,) = Corrected.of(now, None).blocks
    assert block["block"] == "D"
    assert 0 < block["would_differ"] < 400
    assert block["epsilon_if_anew"] == pytest.approx(2 * EPSILON_D)


@pytest.mark.parametrize("lost", ["ledger.sqlite", "all but the keys"])
def test_an_owner_that_lost_its_memory_sends_nothing_until_a_new_epoch(after_correction, lost):
    world, first = after_correction
    state = world.folder("south") / ".pramana"
    for path in list(state.iterdir()):
        if path.name == lost or (lost.startswith("all") and path.name != "keys"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    with pytest.raises(HistoryLost) as refused:
        world.open(corrections="keep")
    assert "owner-agent new-epoch" in refused.value.remedy
    begun = begin_new_epoch(load_site(world.folder("south") / "site.toml"), Environment())
    assert not begun.asked
    # What lies in the outbox may have left to peers.
    assert len(begun.counted) == (lost == "ledger.sqlite")
    world.open(accept=("south",))
    session(world, session="ef" * 16)
    differing = int((sent_by_south(world) != first).sum())
    assert differing > 400, "others than the corrected were drawn anew as well"


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
        session(world)
    assert not any("/offers" in one.line for one in world.wire.sent[before:])
    error = world.participants["south"].own_error
    assert made.name in error.where
    assert "owner-agent new-epoch" in error.remedy
    # The newest backup goes on.
    shutil.rmtree(state)
    shutil.move(newest, state)
    world.open(accept=("south",))
    session(world, session="cd" * 16)
    assert world.participants["south"].miner_unreachable is None


def test_a_session_goes_on_where_the_miner_cannot_be_asked_and_says_so(closed_world, state, bench):
    world, bench.miner.good = closed_world, []
    session(world)
    lines = [line for line in world.told["south"] if line.startswith("The miner was not queried: ")]
    assert lines == [world.participants["south"].miner_unreachable]
    # Whoever has not joined a study at it has nobody to ask.
    bench.miner.requests.clear()
    TokenStore(state).path("clinics").unlink()
    session(world, session="cd" * 16)
    assert world.participants["south"].miner_unreachable is None
    assert not bench.miner.requests
