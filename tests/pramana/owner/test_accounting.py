"""The account: sums as the owner's ledger makes them, of draws that are counted once."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from owner_agent.release.composition import losses, planned_draws
from pramana.owner.accounting import accountant
from pramana.owner.keys import Keys
from pramana.owner.randomizing import randomize
from pramana.reporting.reports import Reports
from pramana.reporting.sources import join
from pramana_core.channels import RESOLUTION, Identity, Mixture, Symmetric, Withheld
from pramana_core.domain import Domain
from pramana_core.plan import Block, Plan
from pramana_core.study_plan import StudyPart, StudyPlan, StudySet

DOMAIN = Domain.of(a=["0", "1"], b=["0", "1", "2"], c=["0", "1"])
A, B, C = DOMAIN.variables
KEYS = Keys.for_experiments(1)
FRAME = pd.DataFrame(
    [{"id": f"{i}", "a": str(i % 2), "b": str(i % 3), "c": str(i // 2 % 2)} for i in range(60)]
)


def one(variable, gamma: float) -> Block:
    return Block((variable,), Symmetric.from_gamma(variable.size, gamma))


def made(*blocks: Block, keys: Keys = KEYS, frame=FRAME, study="study") -> Reports:
    return randomize(frame, Plan(blocks), keys, record_id="id", study=study)


def by_the_ledger(*releases: Reports) -> dict[str, float]:
    draws = []
    for reports in releases:
        assert reports.draws is not None
        identities = {drawn.block.name: drawn.draw for drawn in reports.draws}
        columns = {name: name for name in reports.domain.names}
        draws += planned_draws([d.block for d in reports.draws], columns, identities)
    return losses(draws)


JOINT = Block((A, B), Mixture.from_gamma(6, 9.0))
RELEASES = {
    "one": [made(one(A, 3.0), one(B, 5.0))],
    "the same again": [made(one(A, 3.0), one(B, 5.0)), made(one(A, 3.0), one(B, 5.0))],
    "a part of it again": [made(one(A, 3.0), one(B, 5.0)), made(one(A, 3.0))],
    "drawn otherwise": [made(one(A, 3.0), one(B, 5.0)), made(one(A, 2.0), one(C, 4.0))],
    "for another study": [made(one(A, 3.0)), made(one(A, 3.0), study="another")],
    "joint and alone": [made(JOINT), made(one(A, 3.0))],
    "public": [made(one(A, 3.0), Block((B,), Identity(3)))],
    "withheld": [made(one(A, 3.0), Block((B,), Withheld(3)))],
}


@pytest.mark.parametrize("releases", RELEASES.values(), ids=RELEASES.keys())
def test_each_variable_has_what_the_ledger_says(releases):
    known = {name: loss for name, loss in by_the_ledger(*releases).items() if loss}
    told = accountant(*releases).to_frame()["epsilon"].to_dict()
    assert told == pytest.approx(known, rel=1e-12)


def test_of_a_plan_nobody_knows_the_draws():
    plan = Plan((one(A, 3.0),))
    assert accountant(plan, plan).gamma == pytest.approx(9, rel=1e-6)
    reports = Reports.from_frame(FRAME[["a"]], plan)
    assert accountant(reports, reports).gamma == pytest.approx(9, rel=1e-6)
    assert accountant(("north", plan), ("south", plan)).gamma == pytest.approx(9, rel=1e-6)


def test_draws_of_two_owners_add_unless_nobody_is_at_both():
    mine = made(one(A, 3.0), one(B, 5.0))
    theirs = made(one(A, 2.0), keys=Keys.for_experiments(2))
    assert accountant(mine, theirs).gamma == pytest.approx(30, rel=1e-6)
    apart = accountant(mine, theirs, different_people=True)
    assert apart.gamma == pytest.approx(15, rel=1e-6)
    assert apart.to_frame().loc["a", "gamma"] == pytest.approx(3, rel=1e-6)


def test_the_same_people_under_other_ids_were_drawn_anew():
    plan = one(A, 3.0)
    ids = FRAME.assign(id=[f"new {i}" for i in range(60)])
    again = accountant(made(plan), made(plan, frame=ids))
    assert again.gamma == pytest.approx(9, rel=1e-6)
    more = pd.concat([FRAME, ids])
    assert accountant(made(plan), made(plan, frame=more)).gamma == pytest.approx(3, rel=1e-6)


def test_parts_of_what_was_drawn_together_are_no_other_people():
    mine = made(one(A, 3.0), frame=FRAME.head(40))
    theirs = made(one(B, 5.0), keys=Keys.for_experiments(2, 1), frame=FRAME.tail(40))
    strata = join(mine, theirs, how="any")
    assert len(strata) == 3
    assert accountant(strata).epsilon == accountant(mine, theirs).epsilon
    assert accountant(strata).gamma == pytest.approx(15, rel=1e-6)


def test_of_a_study_plan_the_set_that_tells_most_counts():
    half = RESOLUTION // 2
    low, high = Symmetric.from_gamma(2, 3.0), Symmetric.from_gamma(3, 5.0)
    study = StudyPlan(
        (("north", (A, B)), ("south", (C,))),
        (
            StudySet(half, (StudyPart(0, (0,), low), StudyPart(1, (0,), low))),
            StudySet(half, (StudyPart(0, (1,), high),)),
        ),
    )
    parts = [
        made(study.block(owner), keys=Keys.for_experiments(seed, linkage_seed=0))
        for seed, owner in enumerate(("north", "south"))
    ]
    assert study.amplification.gamma == pytest.approx(9, rel=1e-6)
    for account in (accountant(*parts), accountant(join(*parts)), accountant(study)):
        assert account.epsilon == pytest.approx(study.amplification.epsilon, rel=1e-12)
    plans = {owner: Plan((study.block(owner),)) for owner in ("north", "south")}
    assert accountant(*plans.items()).epsilon == pytest.approx(study.amplification.epsilon)
    # One owner who draws twice may do so by two secrets: the coin is not one then.
    assert accountant(*plans.values()).gamma == pytest.approx(15, rel=1e-6)


def test_what_is_told_as_it_is_has_no_bound_and_is_named():
    account = accountant(made(one(A, 3.0), Block((B,), Identity(3))))
    assert account.public == ("b",)
    assert account.gamma == pytest.approx(3, rel=1e-6)
    assert account.to_frame().loc["b", ["epsilon", "posterior"]].tolist() == [math.inf, 1.0]
    assert "b unchanged" in repr(account)
    assert accountant(Plan((Block((B,), Identity(3)),))).epsilon == math.inf
    assert accountant(Plan((Block((B,), Withheld(3)),))).epsilon == 0
