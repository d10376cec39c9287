"""Whole services over either database: a study from its opening to its dashboard, and two at once.

Two services on one PostgreSQL share a place of files, too; with SQLite two people ask one service.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
import pytest

from miner_service.intake import intake
from miner_service.settings import StorageSettings
from miner_service.store.releases import find_release
from miner_service.store.schema import JobRow, ModelRow
from pramana_core.channels import Symmetric
from pramana_core.domain import Variable
from pramana_core.plan import Block, Plan

STUDIES = "/v1/studies"
TABLE = {"kind": "contingency-table", "variables": ["A", "C"], "records": "identical"}


@pytest.fixture
def storage(place):
    """Where the rows of a miner are."""
    return StorageSettings(database=place if isinstance(place, str) else None)


@pytest.fixture
def one(start, storage):
    """A miner."""
    return start(storage=storage)


@pytest.fixture
def two(start, storage, one):
    """Two services on one database, whose admin is the second's; or twice the same."""
    return (one, start(storage=storage)) if storage.database else (one, one)


def at(miner, person):
    """Somebody, at another service."""
    return type(person)(miner.client, person.token)


def at_once(*calls):
    """Call all of them at the same time; return what each returns."""
    start = threading.Barrier(len(calls))

    def call(one):
        start.wait()
        return one()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(call, calls))


def randomized(build, name, gamma):
    plan = Plan((Block((Variable(name, ("no", "yes")),), Symmetric.from_gamma(2, gamma)),))
    return build(plan, range(20), {name: np.zeros(20, np.uint8)})


def test_a_study_from_its_opening_to_its_dashboard(one, release_a, release_c):
    analyst = one.study("asia")
    owners = {name: one.owner("asia", name) for name in ("north", "south")}
    owners["north"].publish("asia", release_a)
    path = owners["south"].publish("asia", release_c)
    assert analyst.get(f"{STUDIES}/asia/alignment")["state"] == "identical"
    made = analyst("POST", f"{STUDIES}/asia/jobs", json={"spec": TABLE})
    assert made.status_code == 202, made.text
    job = analyst.wait(made.headers["location"])
    assert job["state"] == "succeeded", job
    model = analyst.get(f"/v1/models/{job['model']}")
    # A is i % 2, C is i % 5 == 0, of a hundred records that nothing randomized.
    assert np.allclose([cell["count"] for cell in model["cells"]], [40, 10, 40, 10])
    again = analyst("POST", f"{STUDIES}/asia/jobs", json={"spec": TABLE})
    assert (again.status_code, again.json()["id"]) == (200, job["id"])
    (seen,) = owners["north"].get("/v1/dashboard")["studies"]
    assert [j["id"] for j in seen["jobs"]] == [job["id"]]
    assert [m["id"] for m in seen["models"]] == [job["model"]]
    assert [r["owner"] for r in seen["releases"]] == ["north"]
    page = analyst.get(f"{STUDIES}/asia/owners?limit=1")
    assert [o["name"] for o in page["items"]] == ["north"]
    page = analyst.get(f"{STUDIES}/asia/owners?limit=1&cursor={page['next']}")
    assert [o["name"] for o in page["items"]] == ["south"]
    assert owners["south"]("POST", f"{path}/withdraw").json()["state"] == "withdrawn"
    hidden = analyst("POST", f"{STUDIES}/asia/jobs", json={"spec": {**TABLE, "records": "common"}})
    assert hidden.status_code == 409


@pytest.mark.slow
def test_two_announcements_at_once_do_not_overdraw_a_budget(two, build, monkeypatch):
    """Either fits alone; both together would tell twice what the study allows.

    Who has been found to fit waits for the other to be found so, too: without one writer at a time
    they meet there, and both are let in.
    """
    first, second = two
    study = {"name": "asia", "max_epsilon_record": 1.5}
    assert second.admin("POST", STUDIES, json=study).status_code == 201
    north, south = (second.owner("asia", name) for name in ("north", "south"))
    meeting, require = threading.Barrier(2), intake.require_within_budget

    def require_and_wait(*arguments):
        require(*arguments)
        with suppress(threading.BrokenBarrierError):
            meeting.wait(0.25)

    monkeypatch.setattr(intake, "require_within_budget", require_and_wait)
    told = at_once(
        *(
            lambda person=person, name=name: person(
                "POST", f"{STUDIES}/asia/releases", json=randomized(build, name, np.e).body
            )
            for person, name in ((at(first, north), "n"), (at(second, south), "s"))
        )
    )
    assert sorted(answer.status_code for answer in told) == [201, 409]
    (refused,) = [answer.json() for answer in told if answer.status_code == 409]
    assert refused["code"] == "budget-exceeded"


@pytest.mark.slow
def test_a_release_is_sealed_once_by_whoever_is_asked(two, release_a):
    first, second = two
    second.study("asia")
    owner = second.owner("asia", "north")
    path = owner.send("asia", release_a)
    told = at_once(*(lambda m=m: at(m, owner)("POST", f"{path}/seal") for m in (first, second) * 2))
    assert [answer.status_code for answer in told] == [200] * 4
    assert len({answer.text for answer in told}) == 1
    with first.services.database.read() as session:
        row = find_release(session, told[0].json()["id"])
        assert row.sealing == 1
        second.services.verify([row])


@pytest.mark.slow
def test_a_release_sealed_and_withdrawn_at_once_ends_withdrawn(two, release_a):
    first, second = two
    second.study("asia")
    owner = second.owner("asia", "north")
    for turn in range(3):
        release_a.body["name"] = f"r{turn}"
        path = owner.send("asia", release_a)
        sealed, gone = at_once(
            lambda path=path: at(first, owner)("POST", f"{path}/seal"),
            lambda path=path: at(second, owner)("POST", f"{path}/withdraw"),
        )
        assert gone.json()["state"] == "withdrawn"
        assert sealed.status_code in (200, 409), sealed.text
        assert owner.get(path)["state"] == "withdrawn"
        assert list(first.data.rglob(f"*{path.rpartition('/')[2]}*")) == []


@pytest.mark.slow
def test_every_job_is_run_once_and_pages_go_on_at_another_service(two, release_a):
    first, second = two
    analyst = second.study("asia")
    second.owner("asia", "north").publish("asia", release_a)
    made = [
        at(miner, analyst)(
            "POST",
            f"{STUDIES}/asia/jobs",
            json={"key": f"k{number}", "spec": {**TABLE, "variables": ["A"]}},
        )
        for number, miner in enumerate(two * 3)
    ]
    jobs = [analyst.wait(answer.headers["location"]) for answer in made]
    assert [job["state"] for job in jobs] == ["succeeded"] * 6
    with first.services.database.read() as session:
        assert {row.attempt for row in session.query(JobRow)} == {1}
        assert session.query(ModelRow).count() == 6
    page = at(first, analyst).get(f"{STUDIES}/asia/jobs?limit=4")
    rest = at(second, analyst).get(f"{STUDIES}/asia/jobs?limit=4&cursor={page['next']}")
    assert [j["key"] for j in page["items"] + rest["items"]] == [f"k{n}" for n in range(6)]
