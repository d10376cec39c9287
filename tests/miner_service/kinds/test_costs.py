"""What jobs are predicted to take: honest words, what would fit, and what a machine learns."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter

from miner_service.kinds import JOB_KINDS, kind_of
from miner_service.kinds.base import (
    RATES,
    Cost,
    Reduction,
    Work,
    affordable_alternatives,
    correction,
    duration,
    size,
)
from miner_service.kinds.counting import Extent, RecordLayout
from miner_service.kinds.masked import TableExtent
from miner_service.settings import Limits
from miner_service.store.schema import JobRow
from pramana_core.channels import RESOLUTION, Choice, Sampled, Symmetric, most_accurate
from pramana_core.domain import Variable
from pramana_core.plan import Block, Plan
from pramana_core.wire.jobs import JobSpec
from pramana_core.wire.release_kinds import TableColumn
from tests.miner_service.conftest import assert_problem, build

SPEC: TypeAdapter[JobSpec] = TypeAdapter(JobSpec)


def variables(number, categories=2):
    labels = tuple(map(str, range(categories)))
    return [Variable(f"v{i}", labels) for i in range(number)]


def symmetric(number, categories=2):
    channel = Symmetric.from_gamma(categories, 9.0)
    return Plan(tuple(Block((v,), channel) for v in variables(number, categories)))


def withheld(number):
    """Each variable is withheld from two records in three."""
    channel = Sampled((2,), (Choice((0,), RESOLUTION // 3, most_accurate(2, 9.0)),))
    return Plan(tuple(Block((v,), channel) for v in variables(number)))


def cost(plan, records=10_000, **asked):
    spec = SPEC.validate_python(asked)
    kind, layout = kind_of(spec), RecordLayout((plan,))
    return kind.work(spec, Extent(kind.variables(spec, layout.domain), layout, records)).cost()


NAMES = [f"v{i}" for i in range(10)]

ASKED = [
    {"kind": "contingency-table", "variables": NAMES},
    {"kind": "contingency-table", "variables": NAMES, "estimator": "ml"},
    {"kind": "contingency-table", "variables": NAMES, "estimator": "log-linear"},
    {"kind": "contingency-table", "variables": NAMES, "estimator": "pooled"},
    {"kind": "bayes-net-structure"},
    {"kind": "bayes-net-structure", "score": {"name": "bic"}},
    {"kind": "association-rules", "minimum_support": 0.01},
    {"kind": "decision-tree", "target": "v0"},
    {"kind": "bayes-classifier", "target": "v0", "model": "tan"},
    {"kind": "linear-classifier", "target": "v0"},
    {"kind": "linear-classifier", "target": "v0", "loss": "perceptron"},
]


@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: "-".join(map(str, asked.values()))[:40])
def test_more_is_predicted_to_take_more_and_each_way_to_ask_for_less_less(asked):
    spec = SPEC.validate_python(asked)
    kind, layout = kind_of(spec), RecordLayout((symmetric(10),))
    extent = Extent(kind.variables(spec, layout.domain), layout, 10_000)
    whole = kind.work(spec, extent).cost()
    assert cost(symmetric(10), 10**9, **asked).seconds > whole.seconds
    ways = list(kind.less(spec, extent))
    assert ways
    for way in ways:
        least = way.make(way.least)
        own = extent._replace(variables=kind.variables(least, layout.domain))
        assert kind.work(least, own).cost().seconds < whole.seconds, way.told(1)


def test_regressions_and_parameters_cost_by_their_size():
    spec = SPEC.validate_python({"kind": "regression", "target": "a"})
    columns = tuple(TableColumn(name=n, role="masked", type="numeric") for n in "abcdef")
    work = JOB_KINDS[type(spec)].work
    small, large = (work(spec, TableExtent(columns, n, 1)).cost() for n in (10**4, 10**7))
    assert large.seconds > 100 * small.seconds
    chain = {"v0": [], "v1": ["v0"], "v2": ["v0", "v1"]}
    few = cost(symmetric(3), structure={"v0": []})
    assert cost(symmetric(3), structure=chain).seconds > few.seconds


def test_costs_are_known_by_units_and_their_rates():
    work = Work({"solved": 2.0}, 5.0) + Work({"solved": 1.0, "counted": 1.0}, 3.0)
    assert work.units == {"solved": 3.0, "counted": 1.0}
    assert work.held == 5.0
    assert work.times(2).units["solved"] == 6.0
    rates = dict.fromkeys(RATES, 0.0) | {"jobs": 1.0, "solved": 10.0}
    assert work.cost(rates).seconds == 31.0
    assert Cost(2.0, 3.0).corrected(5.0) == Cost(10.0, 3.0)


@pytest.mark.parametrize("fits", [0, 1, 2, 7, 8])
def test_what_fits_is_the_most_that_does(fits):
    way = Reduction(9, lambda n: n, lambda n: f"at most {n}")
    told = affordable_alternatives([way], lambda n: n <= fits)
    assert told == ([f"at most {fits}"] if fits else [])


def test_times_and_sizes_are_said_with_two_digits():
    assert duration(0.2) == "about 1 seconds"
    assert duration(94) == "about 94 seconds"
    assert duration(3_700) == "about 62 minutes"
    assert duration(12_345) == "about 3.4 hours"
    assert duration(10**7) == "about 120 days"
    assert size(3e9) == "2.8 GiB"
    assert size(300e6) == "290 MiB"


def test_a_machine_learns_how_it_differs_within_bounds():
    assert correction([3.0, 3.0]) == 1.0
    assert correction([1.0, 3.0, 40.0]) == 3.0
    assert correction([1e9] * 5) == 10.0
    assert correction([1e-9] * 5) == 0.1
    assert correction([0.0, float("nan"), 2.0, 2.0, 2.0]) == 2.0


def release(plan, records=50):
    codes = {v.name: [i % v.size for i in range(records)] for v in plan.domain}
    return build(plan, range(records), codes, per_part=records)


def opened(start, plan, **limits):
    miner = start(limits=Limits(**limits))
    analyst = miner.study("s")
    miner.owner("s", "north").publish("s", release(plan))
    return miner, analyst


@pytest.mark.slow
def test_a_table_of_withheld_reports_is_refused_with_what_would_fit(start):
    """Errors of 16,384 cells from 5 million reports would take the information of all of them."""
    _, analyst = opened(start, withheld(14))
    names = [f"v{i}" for i in range(14)]

    def ask(number):
        spec = {"kind": "contingency-table", "variables": names[:number], "estimator": "ml"}
        return analyst("POST", "/v1/studies/s/jobs", json={"spec": spec})

    refused = assert_problem(ask(14), 413, "limit-exceeded", "hours", "GiB of memory")
    told = refused.remedy
    assert told.startswith("What would fit: of these 14 variables at most ")
    most = int(told.rstrip(".").rsplit(" ", 1)[1])
    assert 8 <= most <= 12
    assert_problem(ask(most + 1), 413, "limit-exceeded")
    assert analyst("GET", "/v1/studies/s/jobs").json()["items"] == []


@pytest.mark.slow
def test_what_fits_is_taken_and_its_prediction_kept(start):
    miner, analyst = opened(start, symmetric(9), job_seconds=3)
    spec = {"kind": "bayes-net-structure", "draws": 10_000}
    refused = analyst("POST", "/v1/studies/s/jobs", json={"spec": spec})
    told = assert_problem(refused, 413, "limit-exceeded", "`draws` of at most").remedy
    most = int(
        told.partition("`draws` of at most ")[2].partition(";")[0].strip(".").replace(",", "")
    )
    fitting = {**spec, "draws": most}
    taken = analyst("POST", "/v1/studies/s/jobs", json={"spec": fitting})
    assert taken.status_code == 202, taken.text
    analyst("DELETE", taken.headers["location"])
    with miner.services.database.read() as session:
        row = session.query(JobRow).one()
    assert 0 < row.predicted_seconds <= 3
    assert row.predicted_bytes > 0
    assert row.predicted_factor == 1.0


@pytest.mark.slow
def test_later_predictions_follow_what_jobs_took(start):
    miner, analyst = opened(start, symmetric(3))
    for number in range(3):
        body = {"key": f"k{number}", "spec": {"kind": "decision-tree", "target": "v0"}}
        made = analyst("POST", "/v1/studies/s/jobs", json=body)
        assert analyst.wait(made.headers["location"])["state"] == "succeeded"
    with miner.services.database.write() as session:
        for row in session.query(JobRow):
            plain = row.predicted_seconds
            row.started = row.finished
            row.predicted_seconds, row.predicted_factor = plain * 2, 2.0
            # It took four times what the plans alone had said.
            row.finished = row.started.fromtimestamp(
                row.started.timestamp() + 4 * plain, row.started.tzinfo
            )
    body = {"key": "after", "spec": {"kind": "decision-tree", "target": "v0"}}
    assert analyst("POST", "/v1/studies/s/jobs", json=body).status_code == 202
    other = {"key": "other", "spec": {"kind": "contingency-table", "variables": ["v0"]}}
    assert analyst("POST", "/v1/studies/s/jobs", json=other).status_code == 202
    with miner.services.database.read() as session:
        rows = {row.key: row for row in session.query(JobRow)}
    assert rows["after"].predicted_factor == pytest.approx(4.0, rel=1e-3)
    assert rows["after"].predicted_seconds == pytest.approx(4 * plain, rel=1e-3)
    assert rows["other"].predicted_factor == 1.0
