"""A central budget takes the plans that are designed for it, and states no more than it allows."""

from __future__ import annotations

import hashlib
import math

import numpy as np
import pytest
from typer.testing import CliRunner

from miner_service.cli.main import app
from pramana_core.channels import Symmetric
from pramana_core.design import Problem, Requirements, find_design, goal
from pramana_core.domain import Domain, Variable
from pramana_core.errors import BudgetExceeded
from pramana_core.plan import Block, Plan
from pramana_core.privacy import CentralLoss, ShuffledReport, central_loss, largest_gamma
from tests.miner_service.intake.test_study_plans import put

RECORDS = 2_000
HALF = CentralLoss(0.5, 1e-8)
CENTRAL = {"max_central_epsilon": 0.5, "central_records": RECORDS}
DOMAIN = Domain.of(
    place=[f"p{i}" for i in range(64)], ill=["no", "yes"], work=["a", "b", "c"], age=["x", "y"]
)
OWNERS = {"north": ("place", "ill"), "south": ("work", "age")}


def designed(owners=None, central=HALF):
    needs = Requirements.of(DOMAIN, owners=owners or {}, central=central)
    return find_design(Problem(needs, goal(DOMAIN, "pairs"), RECORDS))


@pytest.fixture
def release(build):
    def make(plan, name="r1", draws="first"):
        codes = {n: np.arange(RECORDS) % k - 1 for n, k in plan.reported_sizes.items()}
        codes = {n: np.maximum(one, 0) for n, one in codes.items()}
        built = build(plan, range(RECORDS), codes, name=name, per_part=100_000)
        built.body["linkage"] = "1" * 64
        built.body["draws"] = [
            hashlib.sha256(f"{draws} {block.names}".encode()).hexdigest() for block in plan.blocks
        ]
        return built

    return make


def wide(name, gamma):
    labels = tuple(f"p{i}" for i in range(64))
    return Plan((Block((Variable(name, labels),), Symmetric.from_gamma(64, gamma)),))


def stated(person):
    return person.get("/v1/studies/s/privacy")["central"]["epsilon"]


def refused(person, body):
    answer = person("POST", "/v1/studies/s/privacy", json={"plan": body["plan"]}).json()["refused"]
    return answer is not None


def test_a_designed_plan_fits_and_takes_all(miner, release, assert_problem):
    analyst, north = miner.study("s", **CENTRAL), miner.owner("s", "north")
    made = designed()
    # The control: the worst channels of this gamma, and a plan for a little more, do not fit.
    worst = Plan((Block((DOMAIN["ill"],), Symmetric.from_gamma(2, made.chosen.gamma)),))
    for over in (worst, designed(central=CentralLoss(0.52, 1e-8)).plan):
        body = release(over).body
        assert refused(north, body)
        answer = north("POST", "/v1/studies/s/releases", json=body)
        assert assert_problem(answer, 409, "budget-exceeded").where == "record"
    assert not refused(north, release(made.plan).body)
    north.publish("s", release(made.plan))
    assert 0.49 < stated(analyst) <= 0.5
    north.publish("s", release(made.plan, "again"))
    assert stated(analyst) <= 0.5
    # Another draw may have been designed after these reports: the worst of the sum counts.
    anew = release(made.plan, "anew", "second")
    assert_problem(north("POST", "/v1/studies/s/releases", json=anew.body), 409, "budget-exceeded")
    weak = release(wide("work", 1.05), "weak")
    assert_problem(north("POST", "/v1/studies/s/releases", json=weak.body), 409, "budget-exceeded")


def test_an_announced_plan_counts_as_much_as_one_that_arrived(miner, release, assert_problem):
    miner.study("s", **CENTRAL)
    north, south = miner.owner("s", "north"), miner.owner("s", "south")
    north.announce("s", release(designed().plan))
    more = release(wide("town", 1.05)).body
    assert refused(south, more)
    assert_problem(south("POST", "/v1/studies/s/releases", json=more), 409, "budget-exceeded")


def test_a_study_plan_fits_with_all_its_parts(miner, release, assert_problem):
    analyst = miner.study("s", **CENTRAL)
    owners = {name: miner.owner("s", name) for name in OWNERS}
    made, over = (designed(OWNERS, CentralLoss(e, 1e-8)).study_plan for e in (0.5, 0.52))
    assert made.amplification.gamma > 1.02 * largest_gamma(RECORDS, HALF)
    assert_problem(put(analyst, over), 409, "budget-exceeded")
    assert put(analyst, made).status_code == 201
    for name, owner in owners.items():
        owner.publish("s", release(Plan((made.block(name),))))
    joint = central_loss(ShuffledReport.of(made.together), RECORDS).epsilon
    assert stated(analyst) == pytest.approx(joint, rel=1e-9)
    assert 0.49 < stated(analyst) <= 0.5
    anew = release(Plan((made.block("north"),)), "anew", "second").body
    answer = owners["north"]("POST", "/v1/studies/s/releases", json=anew)
    assert_problem(answer, 409, "budget-exceeded")


def test_owners_of_different_people_have_the_whole_budget_each(miner, release, assert_problem):
    miner.study("s", **CENTRAL, people="different")
    north, south = miner.owner("s", "north"), miner.owner("s", "south")
    made = designed().plan
    for owner, draws in ((north, "north"), (south, "south")):
        owner.publish("s", release(made, draws=draws))
        more = release(wide("town", 1.05), "more", draws).body
        assert_problem(owner("POST", "/v1/studies/s/releases", json=more), 409, "budget-exceeded")


def test_a_removed_owner_may_have_joined_again_under_another_name(miner, release):
    miner.study("s", **CENTRAL, people="different")
    north, south = miner.owner("s", "north"), miner.owner("s", "south")
    made = designed().plan
    north.publish("s", release(made))
    body = release(made, draws="south").body
    assert not refused(south, body)
    miner.admin("DELETE", "/v1/studies/s/owners/north")
    assert refused(south, body)


@pytest.mark.parametrize("budget", ["central", "max_epsilon_record", "max_epsilon_column"])
def test_people_over_the_budget_leave_no_room_for_others(miner, release, assert_problem, budget):
    """A removal puts the people of `b` over the budget; those of `c` lose less, but too much."""
    most = largest_gamma(RECORDS, HALF)
    limits = CENTRAL if budget == "central" else {budget: math.log(most)}
    miner.study("s", **limits, people="different")
    old, b, c = (miner.owner("s", name) for name in ("old", "b", "c"))
    pair = DOMAIN["ill"]

    def share(part, owner, draws):
        made = Plan((Block((pair,), Symmetric.from_gamma(2, most**part)),))
        return release(made, f"{owner}{part}", f"{owner}{draws}")

    def warnings():
        return [one for one in c.get("/v1/studies/s/privacy")["warnings"] if "budget" in one]

    old.publish("s", share(0.95, "old", 1))
    b.publish("s", used := share(0.9, "b", 1))
    c.publish("s", share(0.03, "c", 1))
    assert not warnings()
    miner.admin("DELETE", "/v1/studies/s/owners/old")
    assert len(warnings()) == 1
    over = share(0.5, "c", 2).body
    assert refused(c, over)
    assert_problem(c("POST", "/v1/studies/s/releases", json=over), 409, "budget-exceeded")
    # The controls: the same draws again cost nothing, and a little is left for the people of `c`.
    used.body["name"] = "again"
    b.publish("s", used)
    c.publish("s", share(0.01, "c", 2))


def test_a_budget_that_is_set_later_covers_the_same(miner, release):
    miner.study("s")
    north = miner.owner("s", "north")
    north.publish("s", release(designed().plan))

    def limit(epsilon):
        words = ["study", "budget", "s", "--central-epsilon", epsilon, "--records", str(RECORDS)]
        return CliRunner().invoke(app, [*words, "--data", str(miner.data)])

    assert limit("0.5").exit_code == 0
    assert isinstance(limit("0.48").exception, BudgetExceeded)
