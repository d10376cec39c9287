"""Alignment and jobs: which records may be joined, and what is learned from them."""

from __future__ import annotations

import json
import threading

import pytest

from miner_service.jobs.runner import learn_model
from pramana_core.domain import Domain
from pramana_core.errors import NotConverged
from pramana_core.plan import Plan

SPEC = {"structure": {"A": [], "C": ["A"]}}
JOBS = "/v1/studies/asia/jobs"


@pytest.fixture
def aligned(miner, release_a, release_c):
    """A study in which two owners have sealed the same 100 records."""
    miner.analyst = miner.study("asia")
    miner.north, miner.south = miner.owner("asia", "north"), miner.owner("asia", "south")
    miner.path_a = miner.north.publish("asia", release_a)
    miner.path_c = miner.south.publish("asia", release_c)
    return miner


def test_the_same_job_on_the_same_data_is_one_job(aligned, release_a, build, plan_a):
    first = aligned.analyst("POST", JOBS, json={"spec": SPEC})
    aligned.analyst.wait(first.headers["location"])
    again = aligned.analyst("POST", JOBS, json={"spec": SPEC})
    assert (first.status_code, again.status_code) == (202, 200)
    assert first.headers["location"] == again.headers["location"]
    assert first.json()["key"].startswith("job-")
    codes = {"A": [0] * 100, "B": [0] * 100}
    aligned.north.publish("asia", build(plan_a, range(100), codes, name="r2"))
    other = aligned.analyst("POST", JOBS, json={"spec": SPEC})
    assert other.status_code == 202
    assert other.headers["location"] != first.headers["location"]


def test_a_key_belongs_to_one_specification(aligned, assert_problem):
    first = aligned.analyst("POST", JOBS, json={"spec": SPEC, "key": "mine"})
    aligned.analyst.wait(first.headers["location"])
    again = aligned.analyst("POST", JOBS, json={"spec": SPEC, "key": "mine"})
    assert (again.status_code, again.json()["id"]) == (200, first.json()["id"])
    before = aligned.snapshot()
    other = {"structure": {"A": []}}
    answer = aligned.analyst("POST", JOBS, json={"spec": other, "key": "mine"})
    assert_problem(answer, 409, "conflict")
    assert aligned.snapshot() == before


@pytest.mark.slow
@pytest.mark.parametrize("records", ["identical", "common"])
def test_records_that_do_not_overlap_are_never_joined(
    miner, build, plan_c, release_a, assert_problem, records
):
    analyst = miner.study("asia")
    miner.owner("asia", "north").publish("asia", release_a)
    miner.owner("asia", "south").publish("asia", build(plan_c, range(500, 560), {"C": [0] * 60}))
    assert analyst.get("/v1/studies/asia/alignment")["state"] == "disjoint"
    before = miner.snapshot()
    answer = analyst("POST", JOBS, json={"spec": {**SPEC, "records": records}})
    assert_problem(answer, 409, "records-do-not-align")
    assert miner.snapshot() == before


def test_records_that_overlap_in_part_are_joined_only_when_asked(
    miner, build, plan_a, plan_c, assert_problem
):
    analyst = miner.study("asia")
    a = {"A": [i % 2 for i in range(100)], "B": [0] * 100}
    c = {"C": [i % 2 for i in range(40, 120)]}
    north = miner.owner("asia", "north")
    north.publish("asia", build(plan_a, range(100), a))
    miner.owner("asia", "south").publish("asia", build(plan_c, range(40, 120), c))
    alignment = analyst.get("/v1/studies/asia/alignment")
    assert alignment["state"] == "partial"
    assert (alignment["in_all"], alignment["in_any"]) == (60, 120)
    assert [o["not_everywhere"] for o in alignment["owners"]] == [40, 20]
    before = miner.snapshot()
    answer = analyst("POST", JOBS, json={"spec": SPEC})
    assert_problem(answer, 409, "records-do-not-align")
    # Moments say nothing of what is missing.
    for spec in (SPEC, {"kind": "bayes-net-structure"}):
        asked = {"spec": {**spec, "records": "any", "estimator": "moment"}}
        assert_problem(analyst("POST", JOBS, json=asked), 422, "option-invalid")
    assert miner.snapshot() == before
    model = analyst.learn("asia", {**SPEC, "records": "common"})
    assert model["records"] == 60
    # An owner that had published one person only would read that person's values off it.
    for address in (f"/v1/models/{model['id']}", f"/v1/models/{model['id']}/bif"):
        assert_problem(north("GET", address), 404, "not-found")
    links = {
        (p["value"], p["parents"]["A"]): p["estimate"]
        for p in model["parameters"]
        if p["node"] == "C"
    }
    assert links["yes", "yes"] == pytest.approx(1, abs=1e-12)
    assert links["yes", "no"] == pytest.approx(0, abs=1e-12)


def test_a_variable_from_two_owners_is_a_conflict(aligned, build, plan_c, assert_problem):
    aligned.owner("asia", "west").publish("asia", build(plan_c, range(95, 130), {"C": [0] * 35}))
    before = aligned.snapshot()
    for records in ("common", "any"):
        answer = aligned.analyst("POST", JOBS, json={"spec": {**SPEC, "records": records}})
        assert_problem(answer, 409, "conflict")
    assert aligned.snapshot() == before
    assert (
        aligned.analyst.learn("asia", {"structure": {"A": []}, "records": "any"})["records"] == 100
    )


def test_a_removed_owners_release_is_no_longer_aligned(aligned, assert_problem):
    answer = aligned.analyst("DELETE", "/v1/studies/asia/owners/south")
    assert answer.status_code == 204
    assert aligned.analyst("DELETE", "/v1/studies/asia/owners/south").status_code == 204
    assert [o["owner"] for o in aligned.analyst.get("/v1/studies/asia/alignment")["owners"]] == [
        "north"
    ]
    assert len(aligned.analyst.get("/v1/studies/asia/releases")["items"]) == 2
    assert_problem(aligned.south("GET", "/v1/studies"), 401, "unauthenticated")
    answer = aligned.analyst("POST", JOBS, json={"spec": SPEC})
    assert_problem(answer, 409, "variables-missing")


class Held:
    """Work that waits after its first node until it is let go."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.go_on = threading.Event()

    def __call__(self, spec, prepared, services, on_node):
        on_node(1, 4)
        self.reached.set()
        self.go_on.wait()
        on_node(2, 4)
        return learn_model(spec, prepared, services, lambda *_: None)


@pytest.fixture
def held(start, release_a, release_c):
    """A study with a job in the middle of its work."""
    work = Held()
    miner = start(learn=work)
    miner.analyst = miner.study("asia")
    miner.north, miner.south = miner.owner("asia", "north"), miner.owner("asia", "south")
    miner.path_a = miner.north.publish("asia", release_a)
    miner.south.publish("asia", release_c)
    miner.job = miner.analyst("POST", JOBS, json={"spec": SPEC}).headers["location"]
    work.reached.wait()
    miner.work = work
    yield miner
    work.go_on.set()


def test_a_running_job_can_be_cancelled(held, assert_problem):
    answer = held.analyst("DELETE", held.job)
    assert (answer.status_code, answer.json()["state"]) == (200, "cancelled")
    held.work.go_on.set()
    # The next job runs when the cancelled one has come to its end.
    after = held.analyst("POST", JOBS, json={"spec": {"structure": {"A": []}}})
    held.analyst.wait(after.headers["location"])
    job = held.analyst.get(held.job)
    assert (job["state"], job["model"]) == ("cancelled", None)
    again = held.analyst("POST", JOBS, json={"spec": SPEC})
    assert (again.status_code, again.headers["location"]) == (202, held.job)
    assert held.analyst.wait(held.job)["state"] == "succeeded"
    done = held.analyst("DELETE", held.job)
    assert done.json()["state"] == "succeeded"


@pytest.mark.slow
@pytest.mark.parametrize("how", ["withdrawn", "taken out of use"])
def test_a_job_whose_release_goes_away_fails_and_says_so(held, how):
    if how == "withdrawn":
        held.north("POST", f"{held.path_a}/withdraw")
    else:
        held.analyst("DELETE", "/v1/studies/asia/owners/north")
    held.work.go_on.set()
    job = held.analyst.wait(held.job)
    assert (job["state"], job["model"]) == ("failed", None)
    assert job["problem"]["code"] == "conflict"
    assert how in job["problem"]["detail"]
    assert "Release r1 of north" in job["problem"]["detail"]


def test_a_job_that_fails_carries_the_problem_and_runs_again_on_the_releases_in_use(
    start, release_a
):
    """The key is that of the content; the release that had it before was withdrawn."""
    tries = []

    def fails_once(spec, prepared, services, on_node):
        tries.append(spec)
        if len(tries) == 1:
            raise NotConverged("No convergence after 5 steps.", remedy="Allow more.")
        return learn_model(spec, prepared, services, on_node)

    miner = start(learn=fails_once)
    analyst, north = miner.study("asia"), miner.owner("asia", "north")
    first = north.publish("asia", release_a)
    body = {"spec": {"structure": {"A": []}}}
    path = analyst("POST", JOBS, json=body).headers["location"]
    job = analyst.wait(path)
    assert (job["state"], job["problem"]["code"]) == ("failed", "not-converged")
    assert job["problem"]["remedy"] == "Allow more."
    release_a.body["name"] = "r2"
    second = north.publish("asia", release_a)
    assert north("POST", f"{first}/withdraw").status_code == 200
    again = analyst("POST", JOBS, json=body)
    assert (again.status_code, again.headers["location"]) == (202, path)
    job = analyst.wait(path)
    assert job["state"] == "succeeded", job
    used = analyst.get(f"/v1/models/{job['model']}")["releases"]
    assert list(used) == [second.rsplit("/", 1)[1]]


def test_an_unforeseen_failure_of_a_job_is_told_without_its_cause(start, release_a, caplog):
    def breaks(spec, prepared, services, on_node):
        raise ZeroDivisionError("a private number")

    miner = start(learn=breaks)
    analyst = miner.study("asia")
    miner.owner("asia", "north").publish("asia", release_a)
    job = analyst.wait(
        analyst("POST", JOBS, json={"spec": {"structure": {"A": []}}}).headers["location"]
    )
    assert job["problem"]["code"] == "internal"
    assert "private" not in json.dumps(job)


def test_columns_damaged_on_the_miners_disk_are_noticed(aligned):
    file = aligned.data / "columns" / f"{aligned.path_a.rsplit('/', 1)[1]}.arrow"
    body = bytearray(file.read_bytes())
    body[len(body) // 2] ^= 1
    file.write_bytes(bytes(body))
    path = aligned.analyst("POST", JOBS, json={"spec": SPEC}).headers["location"]
    job = aligned.analyst.wait(path)
    assert job["state"] == "failed"
    assert job["problem"]["code"] == "store-corrupt"


def test_owners_learn_only_of_what_kind_a_failure_was(start, build, plan_c):
    """What stopped a job may name another owner; an owner reads only of what kind it was."""

    def fails(spec, prepared, services, on_step):
        raise NotConverged("2 records of south differ.", where="south", remedy="Ask north.")

    miner = start(learn=fails)
    analyst = miner.study("asia")
    owners = {name: miner.owner("asia", name) for name in ("north", "south")}
    owners["north"].publish("asia", build(plan_c, range(50), {"C": [0] * 50}))
    plan = Plan.unrandomized(Domain.of(D=("no", "yes")))
    owners["south"].publish("asia", build(plan, range(50), {"D": [0] * 50}))
    spec = {"structure": {"C": []}}
    path = analyst("POST", JOBS, json={"spec": spec}).headers["location"]
    told = analyst.wait(path)["problem"]
    assert told["detail"] == "2 records of south differ."
    seen = {
        "job": owners["north"].get(path),
        "list": owners["north"].get(JOBS)["items"][0],
        "dashboard": owners["north"].get("/v1/dashboard")["studies"][0]["jobs"][0],
    }
    for place, job in seen.items():
        assert job["problem"]["code"] == "not-converged", place
        said = json.dumps(job["problem"])
        assert not any(word in said for word in ("south", "2 records", "north", "differ")), place
    for person in (analyst, miner.admin):
        assert person.get("/v1/dashboard")["studies"][0]["jobs"][0]["problem"] == told
        assert person.get(JOBS)["items"][0]["problem"] == told


@pytest.mark.slow
@pytest.mark.parametrize("records", ["common", "any"])
def test_owners_do_not_know_of_jobs_on_records_that_differ(miner, build, plan_c, records):
    """South has published one person: that such a job could run would tell if north knows it."""
    analyst = miner.study("asia")
    north, south = miner.owner("asia", "north"), miner.owner("asia", "south")
    north.publish("asia", build(plan_c, range(50), {"C": [0] * 50}))
    plan = Plan.unrandomized(Domain.of(D=("no", "yes")))
    south.publish("asia", build(plan, range(49, 50), {"D": [0]}))
    spec = {"structure": {"C": []}, "records": records}
    path = analyst("POST", JOBS, json={"spec": spec}).headers["location"]
    assert analyst.wait(path)["state"] == "succeeded"
    assert [job["spec"]["records"] for job in analyst.get(JOBS)["items"]] == [records]
    for owner in (north, south):
        assert owner.get(JOBS)["items"] == []
        assert owner.get("/v1/dashboard")["studies"][0]["jobs"] == []
        assert owner("GET", path).status_code == 404
