"""Reports: what they tell of themselves, as frames and back."""

from __future__ import annotations

import dataclasses
import math
from typing import Literal

import pandas as pd
import pytest

import pramana as pm
from pramana.reporting.reports import Reports
from pramana_core.channels import Withheld
from pramana_core.domain import Domain
from pramana_core.errors import (
    DuplicateRecordId,
    EmptyTable,
    OptionError,
    PlanError,
    TableError,
    UnknownCategory,
)
from pramana_core.plan import Block, Plan
from pramana_core.privacy import Amplification, ShuffledReport, central_loss
from tests.pramana.reporting.plans import PLANS, A, reports_of

ALL = pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS.keys())


@ALL
def test_a_frame_of_reports_is_read_back_as_it_was(plan):
    reports = reports_of(plan)
    frame = reports.to_frame(pseudonyms=True)
    assert Reports.from_frame(frame, plan).digest == reports.digest
    shuffled = frame.sample(frac=1, random_state=2)
    assert Reports.from_frame(shuffled, plan).digest == reports.digest
    nameless = Reports.from_frame(reports.to_frame(), plan)
    assert nameless.pseudonyms is None
    assert all((nameless.codes[n] == reports.codes[n]).all() for n in plan.domain.names)


@pytest.mark.parametrize(
    ("name", "variable", "kept", "reported"),
    [
        ("identity", "a", 1.0, 1.0),
        ("symmetric", "b", 0.7, 1.0),
        ("dense", "a", 0.9, 1.0),
        ("grouped", "b", 1.0, 1.0),
        ("withheld", "a", math.nan, 0.0),
        ("one-hot", "b", 0.75, 1.0),
        ("cut and paste", "b", math.nan, 1.0),
        ("more reports than truths", "a", math.nan, 1.0),
        # A pair is kept with 9/14, else one of five others: 9/14 + 2/14 have the same a.
        ("sampled", "a", 11 / 14, 0.25),
        ("sampled", "c", 0.8, 0.25),
    ],
)
def test_what_is_kept_and_reported(name, variable, kept, reported):
    row = reports_of(PLANS[name]).privacy().loc[variable]
    assert row["kept"] == pytest.approx(kept, rel=1e-6, nan_ok=True)
    assert row["reported"] == reported


def test_what_is_told_as_it_is_is_no_bound():
    assert reports_of(PLANS["identity"]).epsilon == math.inf
    mixed = reports_of(PLANS["mixed"])
    assert mixed.amplification == Amplification.of(PLANS["mixed"].blocks[1].channel)
    assert repr(mixed).endswith("and a unchanged)")
    assert mixed.privacy().loc["a", "epsilon"] == math.inf
    nothing = Plan((Block((A,), Withheld(2)),))
    assert Reports.from_frame(pd.DataFrame(index=range(3), columns=["a"]), nothing).epsilon == 0


def test_the_central_bound_is_of_the_records_that_agree_in_what_is_unchanged():
    plan = pm.plan(pm.Domain.of(ill=["no", "yes"]), p=0.25)
    labels = ["no", "yes"] * 1_000
    alone = Reports.from_frame({"ill": labels}, plan)
    report = ShuffledReport(alone.amplification)
    assert alone.central_epsilon() == central_loss(report, 2_000).epsilon
    assert alone.central_epsilon(1e-12) > alone.central_epsilon()
    east = Plan((*plan.blocks, *Plan.unrandomized(pm.Domain.of(east=["no", "yes"])).blocks))
    beside = Reports.from_frame({"ill": labels, "east": ["no"] * 1_700 + ["yes"] * 300}, east)
    assert beside.central_epsilon() == central_loss(report, 300).epsilon
    with pytest.raises(OptionError):
        alone.central_epsilon(0.0)


def test_a_set_of_variables_that_the_plan_never_samples_is_refused():
    frame = reports_of(PLANS["sampled"]).to_frame()
    frame.loc[frame.index[0], ["a", "b", "c"]] = ["x", "1", "no"]
    with pytest.raises(TableError):
        Reports.from_frame(frame, PLANS["sampled"])


def test_cells_of_items_and_numbers_are_checked():
    frame = reports_of(PLANS["one-hot"]).to_frame()
    with pytest.raises(UnknownCategory):
        Reports.from_frame(frame.assign(**{"b=1": "yes"}), PLANS["one-hot"])
    with pytest.raises(UnknownCategory):
        Reports.from_frame({"a": [0, 1, 3]}, PLANS["more reports than truths"])


def test_reports_are_frozen_and_whole():
    reports = reports_of(PLANS["symmetric"])
    with pytest.raises(dataclasses.FrozenInstanceError):
        reports.study = "another"
    codes, keys = reports.codes["b"], reports.pseudonyms
    plan = reports.plan
    with pytest.raises(PlanError):
        Reports(plan, {"a": codes})
    with pytest.raises(PlanError):
        Reports(plan, {"b": codes + 3})
    with pytest.raises(TableError):
        Reports(plan, {"b": codes[:-1]}, keys)
    with pytest.raises(TableError):
        Reports(plan, {"b": codes}, keys[::-1])
    with pytest.raises(EmptyTable):
        Reports(plan, {"b": codes[:0]})


EMPTY_AND_OTHER = Domain.of(job=["a", "(empty)", "(other)"], ill=["no", "yes"])


def test_a_table_that_is_not_randomized_has_empty_cells_and_others_in_their_categories():
    table = {"job": ["a", None, "b", "(empty)"], "ill": ["no", "yes", "no", "no"]}
    taken = Reports.from_frame(table, Plan.unrandomized(EMPTY_AND_OTHER))
    assert taken.codes["job"].tolist() == [0, 1, 2, 1]
    again = Reports.from_frame(taken.to_frame(), taken.plan)
    assert again.digest == taken.digest


@pytest.mark.parametrize("cell", [None, "b"])
def test_reports_of_a_randomized_variable_hold_its_labels_alone(cell):
    plan = pm.plan(EMPTY_AND_OTHER, p=0.1)
    with pytest.raises(UnknownCategory):
        Reports.from_frame({"job": ["a", cell], "ill": ["no", "yes"]}, plan)
    table = {"job": ["(empty)", "(other)"], "ill": ["no", "yes"]}
    assert Reports.from_frame(table, plan).codes["job"].tolist() == [1, 2]


@pytest.mark.parametrize("name", ["titanic", "berkeley"])
def test_true_values_passed_as_reports_are_warned_of(name: Literal["titanic", "berkeley"]):
    people = pm.example(name)
    plan = pm.plan(pm.domain(people, pm.observed_categories(people)), p=0.2)
    with pytest.warns(UserWarning, match="plan is unlikely to have randomized frame") as told:
        pm.estimate(people, plan)
    assert told[0].filename == __file__
    reports = pm.randomize(people, plan, pm.Keys.for_experiments(1), record_id="person")
    pm.estimate(reports.to_frame().sort_values(list(people.columns)), plan)


def test_pseudonyms_are_read_or_refused():
    frame = reports_of(PLANS["symmetric"]).to_frame(pseudonyms=True)
    with pytest.raises(DuplicateRecordId):
        Reports.from_frame(pd.concat([frame, frame.head(1)]), PLANS["symmetric"])
    with pytest.raises(TableError):
        Reports.from_frame(
            frame.set_axis(range(len(frame))).rename_axis("pseudonym"), PLANS["symmetric"]
        )
    with pytest.raises(OptionError):
        Reports.from_frame(frame.reset_index(drop=True), PLANS["symmetric"]).to_frame(
            pseudonyms=True
        )


def test_what_a_plan_withholds_cannot_be_reported():
    frame = reports_of(PLANS["withheld"]).to_frame().assign(a="x")
    with pytest.raises(TableError):
        Reports.from_frame(frame, PLANS["withheld"])


def test_joined_reports_have_the_bound_of_the_worst_later_plan(tmp_path):
    """The second owner may design its plan after the first reports were seen."""
    table = pd.DataFrame({name: [f"x{i % 32}" for i in range(2_000)] for name in "ab"})
    domain = pm.domain(table, pm.observed_categories(table))
    parts = [
        pm.randomize(
            table,
            pm.plan(domain.project([name]), gamma=4),
            pm.Keys.for_experiments(seed, linkage_seed=0),
            record_id=table.index,
        )
        for seed, name in enumerate("ab")
    ]
    both = pm.join(*parts)
    worst = central_loss(ShuffledReport.of_gamma(16.0), 2_000).epsilon
    assert both.central_epsilon() == pytest.approx(worst, rel=1e-6)
    both.save(tmp_path / "joined")
    assert Reports.load(tmp_path / "joined").central_epsilon() == both.central_epsilon()
    at_once = pm.randomize(
        table, pm.plan(domain, gamma=4), pm.Keys.for_experiments(1), record_id=table.index
    )
    assert at_once.central_epsilon() < 0.6 * worst
    at_once.save(tmp_path / "one")
    assert Reports.load(tmp_path / "one").central_epsilon() == at_once.central_epsilon()
