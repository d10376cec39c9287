"""Peers under a study's plan: agreed by all, drawn by its coin, checked, and counted set by set."""

import itertools
import json
import math
import re

import numpy as np
import pandas as pd
import pytest

from owner_agent.peer import participant
from owner_agent.peer.exchange.outgoing import Share, session_told, share_of
from owner_agent.peer.protocol.messages import Proposal, SessionFile, proposal_of
from owner_agent.randomize import reports
from owner_agent.release.ledger import Ledger
from owner_agent.site.adopting import AdoptedPlan
from owner_agent.site.planning import planned
from owner_agent.site.site import load_site
from pramana_core.channels import Symmetric
from pramana_core.domain import Variable
from pramana_core.errors import Forbidden, PeerDeviated
from pramana_core.plan import Block
from pramana_core.study_plan import StudyPart, StudyPlan, StudySet

GAMMA = 81.0
SHARE = math.sqrt(GAMMA)
OWNERS = {"north": "AB", "south": "CD", "east": "E"}
LABELS = {"A": "no yes", "B": "low mid high", "C": "no yes", "D": "no yes", "E": "no yes"}
UNITS = 1 << 28
TABLE = {"kind": "contingency-table", "variables": ["A", "D", "E"]}


def study_plan(weight=UNITS):
    """Return a plan in which each record reports one pair of the five variables."""
    place = {n: (i, names.index(n)) for i, names in enumerate(OWNERS.values()) for n in names}
    size = {name: len(labels.split()) for name, labels in LABELS.items()}
    sets = []
    for one, other in itertools.combinations(LABELS, 2):
        (i, axis), (j, second) = place[one], place[other]
        if i == j:
            parts = (
                StudyPart(i, (axis, second), Symmetric.from_gamma(size[one] * size[other], GAMMA)),
            )
        else:
            parts = (
                StudyPart(i, (axis,), Symmetric.from_gamma(size[one], SHARE)),
                StudyPart(j, (second,), Symmetric.from_gamma(size[other], SHARE)),
            )
        sets.append(StudySet(weight, parts))
    owners = tuple(
        (owner, tuple(Variable(n, tuple(LABELS[n].split())) for n in names))
        for owner, names in OWNERS.items()
    )
    return StudyPlan(owners, tuple(sets))


PLAN = study_plan()


def follow(world, plans=None):
    """Make the owners follow a plan: all the same one, or each that of `plans`; start them."""
    for owner in OWNERS:
        plan = PLAN if plans is None else plans.get(owner)
        if plan is None:
            continue
        folder = world.folder(owner)
        text = re.sub(r"channel = .*\n", "", (folder / "site.toml").read_text())
        section = f'[study_plan]\nfile = "plan.json"\ndigest = "{plan.digest}"\n'
        (folder / "site.toml").write_text(
            text.replace("[[variables]]", section + "[[variables]]", 1)
        )
        (folder / "plan.json").write_bytes(plan.canonical_json())
    world.open()


@pytest.fixture
def following(closed_world):
    follow(closed_world)
    return closed_world


def proposal(world, task=TABLE, **more):
    return world.proposal(task, **{"study_plan": PLAN.digest, **more})


def test_a_proposal_names_the_plan_and_without_one_is_as_it_was(following):
    site = following.participants["north"].site
    text = {"task": TABLE, "participants": ["south", "east"]}
    made = proposal_of(SessionFile.model_validate(text), site, lambda n: bytes(n))
    assert made.study_plan == PLAN.digest
    plain = following.proposal(TABLE)
    assert "study_plan" not in plain.model_dump_json()
    assert Proposal.model_validate_json(plain.model_dump_json()) == plain
    assert plain.digest != proposal(following).digest


def test_columns_are_the_parts_by_one_coin(following):
    outcome = following.run(proposal(following))
    packages = following.packages()
    assert set(packages) == {("south", "north"), ("east", "north")}
    south, east = packages["south", "north"], packages["east", "north"]
    assert set(south) == {"C", "D"}
    held = np.stack([south["C"] < 2, south["D"] < 2, east["E"] < 2], axis=1)
    assert held.sum(axis=1).max() == 2  # no record reports a third
    assert {tuple(row) for row in held.tolist()} >= {(True, False, True), (True, True, False)}
    assert outcome.told.record.determined.gamma <= GAMMA * (1 + 1e-6)


def test_the_table_is_estimated_from_own_columns_and_withheld_ones(following, codes):
    """North's A exactly, D and E by the coin; the truth lies within the errors that are told."""
    outcome = following.run(
        proposal(following, {**TABLE, "variables": ["A", "D"]}, participants=["north", "south"])
    )
    table = pd.read_csv(outcome.folder / "table.csv")
    found = table.pivot(index="A", columns="D", values="count").loc[["no", "yes"], ["no", "yes"]]
    truth = np.zeros((2, 2))
    np.add.at(truth, (codes["A"], codes["D"]), 1)
    assert found.to_numpy().sum() == pytest.approx(2000, rel=1e-6)
    # A is north's own: its margin is exact.
    assert found.to_numpy().sum(axis=1) == pytest.approx(truth.sum(axis=1), rel=1e-6)
    se = table.pivot(index="A", columns="D", values="se_records").loc[["no", "yes"], ["no", "yes"]]
    # 4.9 standard errors: a false alarm of 1e-6 for each cell.
    assert (abs(found.to_numpy() - truth) <= 4.9 * se.to_numpy() + 1e-9).all()


def test_what_is_told_is_counted_set_by_set(following):
    """Each owner's part tells up to 81 alone; a set of two owners 9 each, and 81 together."""
    following.run(proposal(following))
    mine = following.participants["north"].session
    told = following.participants["north"].told(mine)
    alone = session_told(mine.announcements)
    assert told.record.determined.gamma == pytest.approx(GAMMA, rel=1e-6)
    assert told.record.determined.gamma < alone.record.determined.gamma
    (entry,) = [e for e in Ledger(following.participants["south"].site.state).entries() if e.draws]
    assert {d.variable for d in entry.draws} == {"C", "D"}
    assert all(d.epsilon == pytest.approx(math.log(GAMMA), rel=1e-6) for d in entry.draws)


def test_owners_of_different_plans_do_not_begin(closed_world):
    other = study_plan(UNITS - 1)
    follow(closed_world, {"north": PLAN, "south": PLAN, "east": other})
    with pytest.raises(Forbidden, match=f"east follows the study plan {other.digest[:12]}"):
        closed_world.run(proposal(closed_world))
    assert closed_world.nothing_anywhere()
    assert not closed_world.packages()


def test_an_owner_without_the_plan_does_not_begin(closed_world):
    follow(closed_world, {"north": PLAN, "south": PLAN})
    with pytest.raises(Forbidden, match="east follows no study plan"):
        closed_world.run(proposal(closed_world))
    with pytest.raises(Forbidden, match=r"follows the study plan .* and the session none"):
        closed_world.run(closed_world.proposal(TABLE))
    assert not closed_world.packages()


def test_what_no_plan_bounds_is_refused(following):
    task = {"kind": "structure", "order": list("ABCDE")}
    with pytest.raises(Forbidden, match="true columns"):
        following.run(proposal(following, task=task))


def test_an_owner_that_announces_other_columns_is_found_out(following, monkeypatch):
    """South would send the margin of its part: sampled alike, by no coin that others know."""
    whole = participant.share_of

    def margin(plan, names):
        share = whole(plan, names)
        if share is None or "D" not in names:
            return share
        (block,) = share.drawn
        d = next(v for v in block.variables if v.name == "D")
        return Share(share.drawn, (Block((d,), block.restrict(["D"])),))

    monkeypatch.setattr(participant, "share_of", margin)
    with pytest.raises(PeerDeviated, match="south announces columns that do not follow"):
        following.run(proposal(following))
    assert following.nothing_anywhere()
    assert not following.packages()


def test_an_owner_that_throws_a_coin_of_its_own_is_found_out(following, monkeypatch):
    """South takes each record's coin from another record: each set as often, of other people."""

    class Turned(reports.PartKey):
        def reports(self, keys, columns):
            return super().reports(keys[::-1] if "D" in columns else keys, columns)

    monkeypatch.setattr(reports, "PartKey", Turned)
    with pytest.raises(PeerDeviated, match=r"south reports of [\d,]+ of 2,000 records"):
        following.run(proposal(following))
    assert following.nothing_anywhere()


def test_a_part_is_sent_whole(following):
    plan = planned(load_site(following.folder("south") / "site.toml"))
    assert plan.adopted == AdoptedPlan(PLAN, "south")
    share = share_of(plan.plan, ["D"])
    assert [block.digest for block in share.sent] == [PLAN.block("south").digest]


@pytest.mark.slow
def test_a_classifier_is_learned_from_pairs(following):
    """Any task whose result is the initiator's: here naive Bayes, of north's class A."""
    task = {"kind": "bayes-classifier", "target": "A", "features": ["B", "D", "E"]}
    outcome = following.run(proposal(following, {**task, "model": "naive-bayes"}))
    found = {path.suffix: path for path in outcome.folder.iterdir()}
    assert set(found) == {".bif", ".json", ".svg", ".txt"}
    told = json.loads(found[".json"].read_text())
    assert [v["name"] for v in told["inputs"]] == ["B", "D", "E"]
