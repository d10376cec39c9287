"""The plan for more records: its arithmetic, its prediction of a third size, and its page."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.bench.measuring import STORED, Result, read
from benchmarks.bench.scale import (
    HOUR,
    MINER,
    OWNER,
    PAGE,
    SIZES,
    Means,
    Model,
    ScaleRow,
    clients,
    fit,
    plan,
    step,
    written,
)
from pramana_core.errors import NotReady


def result(name, ours, unit="s"):
    return Result(name, "of a test", 1.0, ours, ours, unit, (1.0, 1.0), None, "processor", 1)


STAGES = ("publish", *OWNER, *MINER)
MADE = [
    *(
        result(f"{stage}, {n:,} records", 2.0 + 3e-6 * n)
        for stage in STAGES
        for n in (10**5, 10**6, 10**7)
    ),
    *(
        result(f"{what}, {n:,} records", 20 * n / 2**20, "MiB")
        for what in SIZES
        for n in (10**5, 10**6, 10**7)
    ),
    result("count 1,000,000 reports of single records, 10,000 a batch", 5.0),
]
"""What a bench would say of a machine whose stages all take 2 s, and 3 µs and 20 bytes a record."""


def test_the_constants_of_a_known_machine_come_back():
    model = Model.of(MADE)
    for stage in STAGES:
        assert model.seconds[stage].fixed == pytest.approx(2.0)
        assert model.seconds[stage].each == pytest.approx(3e-6)
    for what in SIZES:
        assert model.bytes[what](10**10) == pytest.approx(2e11)
    assert model.report == pytest.approx(5e-6)
    assert all(abs(one.error) < 1e-9 for one in model.predictions)


def test_a_stage_that_grows_faster_is_foretold_too_low_and_that_is_said():
    slower = [
        replace(one, ours=60.0) if one.name == "merge, 10,000,000 records" else one for one in MADE
    ]
    (merge,) = (one for one in Model.of(slower).predictions if one.stage == "merge")
    assert merge.error == pytest.approx(32.0 / 60.0 - 1.0)


def test_no_part_is_negative():
    assert fit({10: 3.0, 100: 2.0}) == ScaleRow(0.0, 0.02)
    assert fit({10: 1.0, 100: 20.0}) == ScaleRow(0.0, 0.2)
    assert fit({10: 2.0, 100: 11.0}) == ScaleRow(pytest.approx(1.0), pytest.approx(0.1))


def test_steps_take_as_few_machines_as_end_in_time():
    means = Means(hours=10.0, cores=4, price=2.0, busy=0.5)
    one = step("some", 50 * HOUR, means)  # 50 core-hours are 25 machine-hours
    assert (one.core_hours, one.machines) == (50.0, 3)
    assert one.hours == pytest.approx(25 / 3)
    assert one.cost == pytest.approx(50.0)


def test_a_step_that_is_one_process_takes_as_long_as_it_takes():
    one = step("some", 50 * HOUR, Means(hours=10.0, cores=4, price=2.0, busy=0.5), most=2)
    assert (one.machines, one.hours, one.cost) == (1, 50.0, 100.0)


def test_a_plan_is_the_sum_of_its_constants():
    model, means = Model.of(MADE), Means()
    for one in plan(model, 1e10, means):
        assert one.core_hours == pytest.approx((2.0 + 3e4) / HOUR)
    counted = clients(model, 1e6, means)[0]  # by one service: the seconds that passed
    assert counted.machines == 1
    assert counted.core_hours == counted.hours == pytest.approx(5.0 / HOUR)


@pytest.mark.parametrize("left_out", [-1, 0])
def test_what_was_not_measured_is_asked_for(left_out):
    some = [one for place, one in enumerate(MADE) if place != left_out % len(MADE)]
    with pytest.raises(NotReady, match="The bench has"):
        Model.of(some)


def test_the_stored_constants_foretell_the_third_size():
    """Bytes within a hundredth; an owner's command takes hardly more. The page says each error."""
    by_name = {one.stage: one for one in Model.of(read(STORED)).predictions}
    assert by_name["publish"].error > -0.25
    for what in SIZES:
        assert abs(by_name[what].error) < 0.01, what


def test_the_page_has_the_tables_of_the_stored_constants():
    page = PAGE.read_text(encoding="utf-8")
    assert written(page, Model.of(read(STORED))) == page
