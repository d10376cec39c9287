"""Joining owners' columns of the same people by their pseudonyms."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from pramana.owner.keys import Keys
from pramana.owner.randomizing import randomize
from pramana.reporting.estimating import estimate
from pramana.reporting.reports import Reports
from pramana.reporting.sources import join
from pramana_core.channels import RESOLUTION, Identity, Symmetric
from pramana_core.errors import OptionError, PlanError, RecordsDoNotAlign
from pramana_core.plan import Plan
from pramana_core.study_plan import StudyPart, StudyPlan, StudySet
from tests.pramana.reporting.plans import A, B, C, people, plan_of

OPEN = {v.name: plan_of(Identity(v.size), v) for v in (A, B, C)}
NOISY = {v.name: plan_of(Symmetric.from_probability(v.size, 0.2), v) for v in (A, B, C)}


def owner(plan: Plan, frame=None, *, seed=1, linkage=0, study="study") -> Reports:
    frame = people() if frame is None else frame
    keys = Keys.for_experiments(seed, linkage_seed=linkage)
    return randomize(frame, plan, keys, record_id="person", study=study)


def pairs_of(frame) -> Counter[tuple[str, str]]:
    return Counter(zip(frame["a"], frame["b"], strict=True))


def test_records_must_be_the_same_unless_those_in_common_are_asked_for():
    first, second = owner(OPEN["a"], people().head(40)), owner(OPEN["b"], people().tail(40))
    both = len(people().head(40).index.intersection(people().tail(40).index))
    with pytest.raises(RecordsDoNotAlign) as caught:
        join(first, second)
    assert f"{both} records in common, of {len(people())} in any" in str(caught.value)
    assert "how='common'" in str(caught.value)
    common = join(first, second, how="common")
    assert len(common) == both
    shared = people().head(40).loc[people().head(40).index.intersection(people().tail(40).index)]
    assert pairs_of(common.to_frame()) == pairs_of(shared)


@pytest.mark.slow
def test_all_records_come_as_the_sets_of_owners_that_have_them():
    first, second = owner(OPEN["a"], people().head(40)), owner(OPEN["b"], people().tail(40))
    strata = join(first, second, how="any")
    assert sum(len(one) for one in strata) == len(people())
    assert {one.plan.domain.names for one in strata} == {("a",), ("b",), ("a", "b")}
    table = estimate(strata, estimator="ml").table(["a", "b"])
    assert table["count"].sum() == pytest.approx(len(people()))


def test_what_cannot_be_joined_is_refused():
    mine = owner(OPEN["a"])
    with pytest.raises(PlanError):
        join(mine, owner(NOISY["a"]))
    with pytest.raises(PlanError):
        join(mine, owner(NOISY["a"]), how="any")
    with pytest.raises(OptionError):
        join(mine, owner(OPEN["b"], study="another"))
    with pytest.raises(OptionError):
        join(mine, Reports.from_frame(people()[["b"]], OPEN["b"]))
    with pytest.raises(OptionError):
        join(mine)


def study_parts(linkages=(0, 0)) -> tuple[StudyPlan, list[Reports]]:
    half = RESOLUTION // 2
    a, b, c = (Symmetric.from_gamma(v.size, 5.0) for v in (A, B, C))
    study = StudyPlan(
        (("north", (A, B)), ("south", (C,))),
        (
            StudySet(half, (StudyPart(0, (0,), a), StudyPart(1, (0,), c))),
            StudySet(half, (StudyPart(0, (1,), b),)),
        ),
    )
    return study, [
        owner(Plan((study.block(name),)), people(400), seed=seed, linkage=linkage)
        for seed, (name, linkage) in enumerate(zip(("north", "south"), linkages, strict=True))
    ]


def test_parts_of_one_study_plan_become_one_block():
    study, parts = study_parts()
    both = join(*parts)
    assert both.plan == study.together
    assert both.epsilon == pytest.approx(study.amplification.epsilon)
    frame = both.to_frame()
    assert (frame["a"].isna() == frame["c"].isna()).all()
    assert (frame["a"].isna() == frame["b"].notna()).all()
    assert Reports.from_frame(both.to_frame(pseudonyms=True), both.plan).digest == both.digest


def test_owners_who_did_not_follow_one_coin_are_found_out():
    _, (north, south) = study_parts()
    codes = {"c": np.where(south.codes["c"] == 2, 0, 2)}
    with pytest.raises(RecordsDoNotAlign):
        join(north, Reports(south.plan, codes, south.pseudonyms, None, south.study))
